"""`bpd time` on trained models of both kinds."""

import json
import shutil

import pytest

from bpd import grid, image_grid
from bpd.commands.time import time_model
from bpd.config import TimeSettings
from bpd.errors import BpdError
from bpd.evaluation.speedup import speedup, timed_batch_sizes
from bpd.evaluation.time_records import PARTS, read_time_records, require_complete
from tests.commands.test_cli import run


@pytest.fixture
def text_settings(tiny_config) -> TimeSettings:
    return grid.time_settings(tiny_config.translation)


def test_sentences_are_timed_by_both_protocols_and_in_batches(world, text_settings, tmp_path):
    time_model(text_settings, world.model("both_k3"), world.model("base"), world.data, tmp_path, threads=1)
    path = tmp_path / "test" / "exact.jsonl"
    records = read_time_records(path)
    assert {record.protocol for record in records} == {"recompute", "cached", "batches"}
    assert timed_batch_sizes(records) == [1, 2]
    decoded = world.records("both_k3", "test", "exact")
    # The cached protocol times the first three sentences to their ends: what decoding recorded of them.
    cached = [record for record in records if record.protocol == "cached" and record.repeat == 0]
    for arm, measure in (
        ("greedy", "tokens"),
        ("blockwise", "tokens"),
        ("blockwise", "iterations"),
        ("blockwise", "calls"),
    ):
        found = [getattr(record, measure) for record in sorted(cached, key=lambda one: one.batch) if record.arm == arm]
        wanted = [len(one["token_ids"]) if measure == "tokens" else one[measure] for one in decoded[:3]]
        assert found == wanted
    assert all(record.tokens <= 6 for record in records if record.protocol == "recompute")
    whole = speedup(records, "cached")
    blocks = [one["block_sizes"] for one in decoded[:3]]
    assert whole.mean_accepted_block_size == pytest.approx(sum(map(sum, blocks)) / sum(map(len, blocks)))
    meta = json.loads(path.with_suffix(".meta.json").read_text())
    assert (meta["model"], meta["block_size"], meta["threads"], meta["criterion"]) == ("both_k3", 3, 1, "exact")
    assert (meta["baseline"], meta["warm_up_batches"]) == ("greedy", {"greedy": 3, "blockwise": "all"})
    assert meta["synchronised"] == "before and after each measurement"
    assert set(meta["shares"]["seconds"]) == set(PARTS) and meta["shares"]["inputs"] == 3
    for name in ("device", "precision", "versions", "commit", "checkpoint_sha256", "base_checkpoint_sha256"):
        assert meta[name] is not None or name == "commit"


def test_images_are_timed_by_the_approximate_criterion(image_world, tiny_config, tmp_path):
    settings = image_grid.time_settings(tiny_config.super_resolution)
    model, base = image_world.model("fine_tuning_k3"), image_world.model("base")
    time_model(settings, model, base, image_world.data, tmp_path, threads=1)
    records = read_time_records(tmp_path / "dev" / "distance2.jsonl")
    assert {record.tokens for record in records if record.protocol == "cached"} == {8 * 8 * 3}
    assert {record.tokens for record in records if record.protocol == "recompute"} == {6}


def test_another_base_is_refused(world, image_world, text_settings, tmp_path):
    for base, message in ((world.model("teacher"), "not trained from this"), (image_world.model("base"), "translation"),
                          (world.model("regular_k3"), "timed on the base model")):  # fmt: skip
        with pytest.raises(BpdError, match=message):
            time_model(text_settings, world.model("both_k3"), base, world.data, tmp_path, threads=1)
    assert not list(tmp_path.iterdir())


def with_timing(settings, **parts):
    """Return `settings` with some keys of some parts of their timing changed."""
    timing = settings.timing
    changed = {name: getattr(timing, name).model_copy(update=values) for name, values in parts.items()}
    return settings.model_copy(update={"timing": timing.model_copy(update=changed)})


def test_of_more_inputs_than_there_are_all_are_timed_and_counted(world, text_settings, tmp_path):
    settings = with_timing(text_settings, cached={"inputs": 5000}, recompute={"inputs": None})
    time_model(settings, world.model("both_k3"), world.model("base"), world.data, tmp_path, threads=1)
    path = tmp_path / "test" / "exact.jsonl"
    timing = json.loads(path.with_suffix(".meta.json").read_text())["timing"]
    assert [timing[name]["inputs"] for name in ("recompute", "cached", "batches")] == [9, 9, 3]
    records = read_time_records(path)
    require_complete(path, records, timing)
    assert {record.batch for record in records if record.protocol == "cached"} == set(range(9))


def test_what_cannot_be_timed_is_refused_before_anything_is(world, text_settings, tmp_path, monkeypatch):
    monkeypatch.setattr("bpd.commands.time.time_decoding", pytest.fail)
    models = world.model("both_k3"), world.model("base"), world.data
    with pytest.raises(BpdError, match="asks for batches of 10, but the set has 9; lower it"):
        time_model(with_timing(text_settings, batches={"sizes": (1, 10), "inputs": None}), *models, tmp_path, threads=1)
    taken = tmp_path / "taken"
    taken.write_text("a file")
    with pytest.raises(BpdError, match=r"taken/test: cannot be written into: Not a directory; give another --output"):
        time_model(text_settings, *models, taken, threads=1)


def test_heads_are_measured_where_something_is_proposed(world, image_world):
    text = json.loads((world.model("both_k3") / "decode" / "dev" / "heads.json").read_text())
    tokens = sum(len(record["token_ids"]) for record in world.records("both_k3", "dev", "exact"))
    assert text["own_output"]["right"][0] == text["own_output"]["total"][0] == sum(text["own_output"]["runs"]) == tokens
    images = json.loads((image_world.model("fine_tuning_k3") / "decode" / "dev" / "heads.json").read_text())
    assert images["reference"]["total"] == [3 * (192 - place) for place in range(3)]
    assert not (image_world.model("regular_k1") / "decode" / "dev" / "heads.json").exists()
    assert not (world.model("both_k3") / "decode" / "test" / "heads.json").exists()


def test_from_the_command_line(world, tiny_config, tmp_path):
    settings = grid.time_settings(tiny_config.translation).model_dump_json()
    model = shutil.copytree(world.model("both_k3"), tmp_path / "both_k3")
    words = ["--model", model, "--base", world.model("base"), "--data", world.data, "--output", tmp_path / "time"]
    result = run("time", "--settings", settings, *words)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "time" / "test" / "exact.jsonl").stat().st_size > 0
    result = run("time", "--settings", settings, *words, "--threads", "0")
    assert result.returncode == 2 and "threads" in result.stderr
