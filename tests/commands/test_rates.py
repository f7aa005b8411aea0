"""`bpd rates`: the speed of a run as its own records say it, and a plan from that."""

import json
import shutil
from statistics import harmonic_mean

import pytest

from bpd import grid, image_grid
from bpd.errors import BpdError
from bpd.planning.jobs import jobs_of
from bpd.planning.measured import measure
from bpd.planning.model_size import model_size
from bpd.planning.plan import make_plan
from bpd.planning.rates import read_assumed
from bpd.planning.work import Workload
from tests.report.example_timings import write_timings


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_rates_are_those_of_the_records(world):
    found = measure(world.root)
    rates = {(rate.model, rate.kind, rate.records.rpartition("decode/")[2]): rate for rate in found.rates}
    journal = world.model("base") / "training.jsonl"
    steps = [line["tokens_per_second"] for line in lines(journal) if line["event"] == "step"]
    base = rates["base", "train_base", str(journal)]
    size = model_size(grid.train_settings(world.config.translation, "base"), 300)
    assert base.per_second == pytest.approx(harmonic_mean(steps[1:]))
    assert (base.flops, base.parameters, base.task) == (size.training, size.parameters, "translation")
    provenance = json.loads((world.model("base") / "provenance.json").read_text())
    assert (base.device, base.precision) == (provenance["device"], "fp32")
    for criterion in ("exact", "top2", "minimum2"):
        records = world.records("both_k3", "dev", criterion)
        speed = sum(len(record["token_ids"]) for record in records) / sum(record["seconds"] for record in records)
        blockwise = rates["both_k3", "blockwise", f"dev/{criterion}.jsonl"]
        assert blockwise.per_second == pytest.approx(speed) and blockwise.at_once == 5
    assert rates["base", "beam", "test/beam2.jsonl"].flops == size.beam(2)
    kinds = {rate.kind for rate in found.rates}
    assert kinds == {"train_base", "train_frozen_heads", "train_fine_tuned_heads", "greedy", "blockwise", "beam"}


def test_preparation_has_counted_sentences_and_how_full_batches_are(world):
    counted = measure(world.root).text
    report = json.loads((world.data / "report.json").read_text())
    assert (counted.read, counted.pairs) == (150, report["counts"]["train"])
    assert counted.target_subwords * counted.pairs == pytest.approx(report["train_subwords"]["de"])
    assert 0.5 < counted.filled["600"] <= 1
    load = Workload(world.config, counted)
    base = next(job for job in jobs_of(world.config) if job.name == "train_base")
    assert load.training_tokens(base) == pytest.approx(120 * 600 * counted.filled["600"])


def test_a_plan_of_the_run_that_was_measured_is_measured_where_it_can_be(world):
    plan = make_plan(world.config, read_assumed(), measure(world.root))
    jobs = {job.name: job for job in plan.jobs}
    for name in ("train_base", "train_teacher", "train_both_k3", "train_regular_k3"):
        assert "measured" in jobs[name].seconds_by_basis, name
    # Frozen heads of another k, and beam search of another number of rows at once, are scaled.
    assert "scaled" in jobs["train_regular_k1"].seconds_by_basis
    assert "scaled" in jobs["distill_shard_0"].seconds_by_basis
    assert set(jobs["train_images_base"].seconds_by_basis) == {"assumed"}


def test_rates_of_images(image_world):
    found = measure(image_world.root)
    assert {rate.task for rate in found.rates} == {"super_resolution"} and found.text is None
    (rate,) = [rate for rate in found.rates if rate.kind == "train_frozen_heads" and rate.model == "regular_k3"]
    size = model_size(image_grid.train_settings(image_world.config.super_resolution, "regular_k3"))
    assert (rate.flops, rate.parameters) == (size.training, size.parameters)


def test_timings_are_rates_of_their_own(tmp_path, world):
    for model in ("base", "both_k3"):
        shutil.copytree(world.model(model), tmp_path / "translation" / model, ignore=shutil.ignore_patterns("decode"))
    write_timings(tmp_path, "translation", "both_k3", "test", "exact", speedups={"recompute": 2.0, "cached": 1.5})
    rates = {(rate.kind, rate.at_once): rate for rate in measure(tmp_path).rates if rate.kind.startswith("time")}
    assert set(rates) == {
        (f"time_{protocol}_{arm}", rows)
        for protocol, rows in (("recompute", 1), ("cached", 1), ("batches", 1), ("batches", 4))
        for arm in ("greedy", "blockwise")
    }
    greedy, blockwise = rates["time_recompute_greedy", 1], rates["time_recompute_blockwise", 1]
    assert blockwise.per_second / greedy.per_second == pytest.approx(2.0)
    assert greedy.flops < blockwise.flops


def test_what_is_unfinished_is_passed_over_and_nothing_at_all_refused(tmp_path, world):
    folder = tmp_path / "translation" / "base"
    shutil.copytree(world.model("base"), folder, ignore=shutil.ignore_patterns("decode"))
    assert [rate.kind for rate in measure(tmp_path).rates] == ["train_base"]
    (folder / "provenance.json").unlink()
    with pytest.raises(BpdError, match="no finished training, decoding or timing"):
        measure(tmp_path)


def test_a_damaged_journal_is_named(tmp_path, world):
    folder = tmp_path / "translation" / "base"
    shutil.copytree(world.model("base"), folder, ignore=shutil.ignore_patterns("decode"))
    (folder / "training.jsonl").write_text("{")
    with pytest.raises(BpdError, match=r"training\.jsonl: missing or damaged"):
        measure(tmp_path)


def test_the_record_of_a_preparation_is_a_rate(tmp_path, world):
    shutil.copytree(world.data, tmp_path / "data" / "translation")
    (tmp_path / "benchmarks").mkdir()
    record = {"s": 5.0, "cpu_time": 4.0, "max_rss": 100.0}
    (tmp_path / "benchmarks" / "prepare_text.jsonl").write_text(json.dumps(record) + "\n")
    found = measure(tmp_path)
    (rate,) = found.rates
    assert (rate.kind, rate.per_second, rate.at_once) == ("prepared_pairs", 30.0, 150)
    jobs = {job.name: job for job in make_plan(world.config, read_assumed(), found).jobs}
    assert jobs["prepare_text"].seconds_by_basis["measured"] == pytest.approx(5.0)
    more = world.config.translation.data.generated.model_copy(update={"train_pairs": 300})
    data = world.config.translation.data.model_copy(update={"generated": more})
    larger = world.config.model_copy(update={"translation": world.config.translation.model_copy(update={"data": data})})
    jobs = {job.name: job for job in make_plan(larger, read_assumed(), found).jobs}
    assert jobs["prepare_text"].seconds_by_basis["scaled"] == pytest.approx(10.0)
