"""The plan: every job of a config, how much each has to do, and what more cards and real measurements change."""

import json
import math
import re
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from bpd import grid, image_grid
from bpd.commands.plan import plan, plan_text
from bpd.config import Config, load_config, validate_section
from bpd.errors import BpdError
from bpd.models.model_folder import build_model
from bpd.planning.jobs import STAGES, jobs_of
from bpd.planning.model_size import model_size
from bpd.planning.plan import make_plan
from bpd.planning.rates import Measured, MeasuredRate, RateBook, read_assumed, read_measured
from bpd.planning.schedule import Task, critical_path, wall_seconds
from bpd.planning.work import Work, Workload
from tests.commands.conftest import CONFIG

ROOT = Path(__file__).resolve().parents[1]
ASSUMED = read_assumed()
PAPER = load_config(ROOT / "config" / "paper.yaml")
TINY = validate_section(Config, CONFIG, "tiny")


def job_of(config: Config, name: str):
    return next(job for job in jobs_of(config) if job.name == name)


def works(config: Config, name: str) -> list[tuple[str, float]]:
    return [(work.kind, work.amount) for work in Workload(config).of(job_of(config, name))]


def measured_rate(**changed) -> MeasuredRate:
    values = {
        "task": "translation",
        "kind": "train_base",
        "model": "base",
        "per_second": 1000.0,
        "flops": 2e6,
        "at_once": 1,
        "parameters": 10,
        "device": "cuda: Testing",
        "precision": "bf16",
        "threads": 1,
        "records": "training.jsonl",
    }
    return MeasuredRate(**(values | changed))


def test_the_paper_scale_has_the_trainings_of_tables_1_and_2():
    jobs = jobs_of(PAPER)
    trained = [(job.task, job.model) for job in jobs if job.trains]
    assert trained.count(("translation", "base")) == trained.count(("translation", "teacher")) == 1
    assert trained.count(("super_resolution", "base")) == 1
    heads = [job for job in jobs if job.stage == "heads"]
    assert sum(job.task == "translation" for job in heads) == 22
    assert sum(job.task == "super_resolution" for job in heads) == 11
    assert sum(job.rule == "distill_shard" for job in jobs) == 64


def test_each_job_comes_after_those_that_it_needs_and_has_a_stage():
    for config in (TINY, PAPER, PAPER.model_copy(update={"seeds": (1, 2)})):
        seen = set()
        for job in jobs_of(config):
            assert set(job.needs) <= seen and job.name not in seen and job.stage in STAGES
            seen.add(job.name)


def test_seeds_multiply_trainings_and_decodings_and_nothing_else():
    once, thrice = jobs_of(PAPER), jobs_of(PAPER.model_copy(update={"seeds": (1, 2, 3)}))
    for stage in STAGES:
        count = sum(job.stage == stage for job in once)
        factor = 3 if stage in ("base", "distillation", "heads", "decode", "score") else 1
        assert sum(job.stage == stage for job in thrice) == factor * count
    plans = [make_plan(config, ASSUMED) for config in (PAPER, PAPER.model_copy(update={"seeds": (1, 2, 3)}))]
    hours = [{stage.stage: stage.gpu_hours for stage in plan.stages()} for plan in plans]
    for stage in ("base", "distillation", "heads", "decode"):
        assert hours[1][stage] == pytest.approx(3 * hours[0][stage])
    assert hours[1]["time"] == hours[0]["time"]


def test_a_tiny_configs_work_counted_by_hand():
    # 120 steps of 600 tokens, evaluated once on 8 sentences of 12 subwords and an end symbol.
    assert works(TINY, "train_base") == [("train_base", 120 * 600), ("greedy", 8 * 13)]
    # 12 steps, evaluated at 6 and 12.
    assert works(TINY, "train_both_k3") == [("train_fine_tuned_heads", 12 * 600), ("blockwise", 2 * 8 * 13)]
    assert works(TINY, "train_regular_k1") == [("train_frozen_heads", 12 * 600), ("greedy", 2 * 8 * 13)]
    # 20 steps of two images of 8·8·3 intensities, evaluated at 3, 6 … 18 and at the end on two images.
    assert works(TINY, "train_images_base") == [("train_base", 20 * 2 * 192), ("greedy", 7 * 2 * 192)]
    # Half of 150 sentences each.
    assert works(TINY, "distill_shard_1") == [("beam", 75 * 13)]
    # Dev: exact, top2, minimum2, and greedy to compare; test: exact and greedy.
    dev, test = ("blockwise", 12 * 13), ("blockwise", 9 * 13)
    assert works(TINY, "decode_both_k3") == [dev, dev, dev, ("greedy", 12 * 13), test, ("greedy", 9 * 13)]
    assert works(TINY, "decode_base") == [
        ("greedy", 12 * 13), ("beam", 12 * 13), ("greedy", 9 * 13), ("beam", 9 * 13),
    ]  # fmt: skip
    image = 3 * 192
    assert works(TINY, "decode_images_regular_k3") == [("blockwise", image), ("blockwise", image), ("greedy", image)]
    assert works(TINY, "decode_images_regular_k1") == [("greedy", image)]
    # Two inputs of 6 tokens: three repeats and a warm-up in either arm.
    timed = works(TINY, "time_both_k3")
    assert timed[:2] == [("time_recompute_greedy", 8 * 6), ("time_recompute_blockwise", 8 * 6)]
    # Three inputs of 13 tokens; where the time goes is measured in two rounds more.
    assert timed[2:4] == [("time_cached_greedy", 12 * 13), ("time_cached_blockwise", (12 + 6) * 13)]
    assert len(timed) == 2 * 4
    assert works(TINY, "prepare_text") == [("prepared_pairs", 150)]
    assert works(TINY, "prepare_images") == [("prepared_images", 14)]
    # Base: exact and beam on two sets; regular_k1 and regular_k3: exact; both_k3: three on dev, one on test.
    assert works(TINY, "score_translation") == [("scored_sentences", 12 * (2 + 1 + 1 + 3) + 9 * (2 + 1 + 1 + 1))]
    assert works(TINY, "score_images") == [("scored_images", 3 * (1 + 1 + 2 + 2))]
    assert works(TINY, "tables") == []


def test_the_papers_published_sizes():
    load = Workload(PAPER)
    assert (load.text.sentences, load.images.train, load.images.dev) == (
        {"dev": 3000, "test": 3003}, 162_770, 19_867,
    )  # fmt: skip
    base = job_of(PAPER, "train_base")
    assert load.training_tokens(base) == 1_000_000 * 8 * 4096
    assert load.training_tokens(job_of(PAPER, "train_images_base")) == 1_000_000 * 8 * 2 * 3072
    assert load.training_tokens(job_of(PAPER, "train_images_regular_k10")) == 250_000 * 8 * 2 * 3072


@pytest.mark.parametrize("scale", ["smoke", "mini"])
def test_parameters_are_those_of_the_models(scale):
    config = load_config(ROOT / "config" / f"{scale}.yaml")
    vocabulary = config.translation.data.vocabulary.size
    for module, part, names in (
        (grid, config.translation, ["base", "regular_k1", "both_k4"]),
        (image_grid, config.super_resolution, ["base", "regular_k4", "fine_tuning_k4"]),
    ):
        for name in names:
            asked = module.train_settings(part, name)
            model, size = build_model(asked, vocabulary), model_size(asked, vocabulary)
            assert size.parameters == sum(parameter.numel() for parameter in model.parameters())
            if asked.heads is not None and asked.heads.frozen:
                assert size.trained_parameters == sum(parameter.numel() for parameter in model.heads.parameters())


def test_operations_follow_from_what_is_trained():
    vocabulary = PAPER.translation.data.vocabulary.size
    sizes = {
        name: model_size(grid.train_settings(PAPER.translation, name), vocabulary)
        for name in ("base", "regular_k4", "fine_tuning_k4")
    }
    base = sizes["base"]
    # Six operations for each weight that a pair of tokens meets, the projection's included.
    assert base.training == 6 * (base.source + base.target + 32_000 * 512)
    assert sizes["regular_k4"].training < base.training < sizes["fine_tuning_k4"].training
    assert base.greedy < sizes["regular_k4"].greedy < sizes["regular_k4"].blockwise


def test_an_identity_head_alone_over_a_frozen_base_trains_nothing():
    values = deepcopy(CONFIG)
    values["translation"]["heads"]["first_head"] = "identity"
    config = validate_section(Config, values, "tiny")
    assert works(config, "train_regular_k1") == [("train_frozen_heads", 0), ("greedy", 0)]
    assert works(config, "train_regular_k3")[0] == ("train_frozen_heads", 12 * 600)
    make_plan(config, ASSUMED)


def test_an_assumed_rate_is_what_the_data_file_says():
    values = yaml.safe_load((ROOT / "bpd" / "planning" / "assumed_rates.yaml").read_text(encoding="utf-8"))
    sustained = values["peak"]["bf16"] * values["sustained_share"]["bf16"]
    work = Work("train_base", "token", 1e9, flops=4e8, at_once=4096, layers=12, precision="bf16")
    assert RateBook(ASSUMED).estimate("translation", work).seconds == pytest.approx(1e9 * 4e8 / sustained)
    tiny = Work("train_base", "token", 4096 * 10, flops=1.0, at_once=4096, layers=12, precision="bf16")
    assert ASSUMED.seconds(tiny) == pytest.approx(10 * 12 * values["seconds_per_layer"]["training"])


def test_a_measured_rate_goes_before_an_assumed_one_and_is_scaled_by_operations():
    book = RateBook(ASSUMED, (measured_rate(), measured_rate(flops=8e6, per_second=300.0)))
    same = Work("train_base", "token", 5000.0, flops=2e6, at_once=4096)
    exact = book.estimate("translation", same)
    assert (exact.seconds, exact.basis) == (pytest.approx(5.0), "measured")
    larger = book.estimate("translation", Work("train_base", "token", 3000.0, flops=16e6, at_once=4096))
    assert (larger.seconds, larger.basis) == (pytest.approx(3000 / 150), "scaled")
    for task, kind in (("super_resolution", "train_base"), ("translation", "train_frozen_heads")):
        other = Work(kind, "token", 5000.0, flops=2e6, at_once=4096, layers=1)
        assert book.estimate(task, other).basis == "assumed"


def test_several_runs_of_one_model_are_averaged_and_cards_go_before_cpus():
    work = Work("train_base", "token", 3000.0, flops=2e6)
    both = RateBook(ASSUMED, (measured_rate(per_second=500.0), measured_rate(per_second=1500.0)))
    assert both.estimate("translation", work).seconds == pytest.approx((3000 / 500 + 3000 / 1500) / 2)
    mixed = RateBook(ASSUMED, (measured_rate(), measured_rate(device="cpu: Testing", per_second=1.0)))
    assert mixed.estimate("translation", work).seconds == pytest.approx(3.0)


def test_a_plan_of_measured_rates_says_so_and_names_the_device():
    size = model_size(grid.train_settings(TINY.translation, "base"), 300)
    rate = measured_rate(flops=size.training, per_second=10.0, device="cpu: Testing", precision="fp32")
    plan = make_plan(TINY, ASSUMED, Measured(results="results/x", text=None, rates=(rate,)))
    jobs = {job.name: job for job in plan.jobs}
    assert jobs["train_base"].seconds_by_basis["measured"] == pytest.approx(120 * 600 / 10)
    assert jobs["train_images_base"].seconds_by_basis.get("measured") is None
    notes = " ".join(plan.notes)
    assert "results/x" in notes and "cpu: Testing" in notes and "hours of that CPU" in notes
    stages = {stage.stage: stage.bases for stage in plan.stages()}
    assert stages["base"] == ("measured", "assumed") and stages["report"] == ("assumed",)


@given(
    st.lists(
        st.tuples(st.floats(0.1, 50), st.integers(0, 2), st.lists(st.integers(0, 30), max_size=3)),
        min_size=1,
        max_size=12,
    ),
    st.integers(2, 6),
)
@settings(derandomize=True, max_examples=80, deadline=None)
def test_more_cards_never_take_longer_and_no_schedule_beats_its_bounds(made, cards):
    tasks = [
        Task(str(place), seconds, held, tuple({str(need % place) for need in needs} if place else ()))
        for place, (seconds, held, needs) in enumerate(made)
    ]
    wall = [wall_seconds(tasks, count) for count in (cards, 2 * cards)]
    assert wall[1] <= wall[0]
    longest = sum(task.seconds for task in tasks if task.name in critical_path(tasks))
    busy = sum(task.seconds * task.cards for task in tasks)
    assert wall[0] >= max(longest, busy / cards) - 1e-6
    assert wall[0] <= sum(task.seconds for task in tasks) + 1e-6


def test_a_schedule_counted_by_hand():
    tasks = [
        Task("data", 1.0, 0, ()),
        Task("base", 10.0, 1, ("data",)),
        Task("teacher", 4.0, 1, ("data",)),
        Task("heads", 6.0, 1, ("base",)),
        Task("both", 3.0, 1, ("base", "teacher")),
    ]
    assert wall_seconds(tasks, 1) == 1 + 10 + 4 + 6 + 3
    assert wall_seconds(tasks, 2) == wall_seconds(tasks, 8) == 1 + 10 + 6
    assert critical_path(tasks) == ["data", "base", "heads"]


def test_twice_the_gpus_never_take_longer_and_cost_the_same():
    plans = [make_plan(PAPER, ASSUMED, gpus=gpus) for gpus in (1, 2, 4, 8, 16)]
    wall = [plan.wall_hours for plan in plans]
    assert wall == sorted(wall, reverse=True) and len({plan.gpu_hours for plan in plans}) == 1
    assert all(plan.wall_hours >= plan.critical_path_hours - 1e-9 for plan in plans)
    assert plans[0].wall_hours >= plans[0].gpu_hours


def test_several_gpus_a_training_shorten_the_critical_path_and_cost_more():
    alone, shared = (make_plan(PAPER, ASSUMED, gpus=8, gpus_per_training=count) for count in (1, 8))
    assert shared.critical_path_hours < alone.critical_path_hours
    assert shared.gpu_hours > alone.gpu_hours
    assert {job.cards for job in shared.jobs} == {0, 1, 8}
    # Three cards cannot share eight micro-batches evenly, and nobody shares one.
    assert {job.cards for job in make_plan(PAPER, ASSUMED, gpus=8, gpus_per_training=3).jobs} == {0, 1, 2}
    assert {job.cards for job in make_plan(TINY, ASSUMED, gpus=8, gpus_per_training=8).jobs} == {0, 1}


@pytest.mark.parametrize(
    ("gpus", "per_training", "message"),
    [(0, 1, "at least one"), (8, 0, "at least one"), (4, 8, "more than --gpus 4")],
)
def test_impossible_numbers_of_cards_are_refused(gpus, per_training, message):
    with pytest.raises(BpdError, match=message):
        make_plan(PAPER, ASSUMED, gpus=gpus, gpus_per_training=per_training)


def test_disk_holds_the_downloads_the_models_and_two_checkpoints_and_one_being_written():
    plan = make_plan(PAPER, ASSUMED, gpus=1)
    jobs = {job.name: job for job in plan.jobs}
    assert jobs["prepare_text"].kept_bytes > 657632379 + 918311367 + 80418416
    assert jobs["prepare_images"].kept_bytes > 1443490838 + (162_770 + 19_867) * (8 * 8 + 32 * 32) * 3
    both = model_size(grid.train_settings(PAPER.translation, "both_k10"), 32_000)
    assert jobs["train_both_k10"].kept_bytes >= 4 * both.parameters
    assert plan.temporary_bytes == 3 * 3 * 4 * both.parameters
    assert make_plan(PAPER, ASSUMED, gpus=8).temporary_bytes > 4 * plan.temporary_bytes


def test_faulty_measurements_are_refused_by_name(tmp_path):
    path = tmp_path / "measured.json"
    with pytest.raises(BpdError, match="cannot read the measured rates"):
        read_measured(path)
    path.write_text("{")
    with pytest.raises(BpdError, match="not a JSON file"):
        read_measured(path)
    values = Measured(results="x", text=None, rates=(measured_rate(),)).model_dump(mode="json")
    path.write_text(json.dumps(values))
    assert read_measured(path).rates == (measured_rate(),)
    values["rates"][0] |= {"per_second": 0, "colour": "red"}
    path.write_text(json.dumps(values))
    with pytest.raises(BpdError, match=r"(?s)rates\.0\.per_second.*rates\.0\.colour: unknown key"):
        read_measured(path)


def run(*words) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "bpd.cli", *map(str, words)], capture_output=True, text=True, cwd=ROOT)


def test_the_command_prints_a_table_with_what_is_assumed():
    said = run("plan", "--config", "config/paper.yaml", "--gpus", "16")
    assert said.returncode == 0, said.stderr
    text = " ".join(said.stdout.split())
    for part in ("Plan of the paper scale on 16 GPU(s)", "Train heads", "GPU-hours", "assumed", "Wall time about"):
        assert part in text
    assert "Nobody measured these here" in text and "measured," not in text


def test_the_commands_json_is_the_plan():
    said = run("plan", "--config", "config/smoke.yaml", "--gpus", "2", "--json")
    told = json.loads(said.stdout)
    plan = make_plan(load_config(ROOT / "config" / "smoke.yaml"), ASSUMED, gpus=2)
    assert told == json.loads(json.dumps(plan.as_json()))
    assert told["totals"]["jobs"] == len(told["jobs"]) == sum(sum(s["jobs"].values()) for s in told["stages"])
    assert math.isclose(sum(stage["gpu_hours"] for stage in told["stages"]), told["totals"]["gpu_hours"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["plan", "--config", "nowhere.yaml"], "cannot read the configuration"),
        (["plan", "--config", "config/smoke.yaml", "--measured", "nowhere.json"], "cannot read the measured rates"),
        (["plan", "--config", "config/smoke.yaml", "--gpus-per-training", "16"], "is more than --gpus 8"),
        (["rates", "nowhere", "--output", "measured.json"], "no finished training"),
    ],
)
def test_problems_are_told_without_a_traceback(words, message):
    said = run(*words)
    assert said.returncode == 1 and message in said.stderr and "Traceback" not in said.stderr
    assert not (ROOT / "measured.json").exists()


def test_help_explains_every_option():
    shown = run("plan", "--help").stdout
    assert all(option in shown for option in ("--config", "--gpus", "--gpus-per-training", "--measured", "--json"))


def test_the_readme_shows_the_paper_scale_as_the_command_does():
    said = [line.strip() for line in plan_text(plan(ROOT / "config" / "paper.yaml", 8, 1, None), 400).splitlines()]
    shown = (ROOT / "README.md").read_text(encoding="utf-8")
    table = [line for line in said if line.startswith("|")]
    assert len(table) == len(STAGES) + 3
    assert "\n".join(table) in shown
    (hours,) = [re.search(r"about (\d+) hours", line).group(1) for line in said if line.startswith("Wall time")]
    assert f"about {hours} hours of wall time on 8 GPUs" in shown
