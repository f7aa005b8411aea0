"""The benchmark suite measures what it says: turns, ratios, proposals that are always right, targets met or missed."""

import json
import subprocess
import sys

import pytest
import torch

from bench import arms
from bench.__main__ import table
from bench.arms import Measured, measure, ratio
from bench.blockwise_costs import bare_passes
from bench.perfect_proposals import PerfectProposals
from bench.random_models import random_model, sentences
from bench.startup import rule_times
from bpd.decoding.blockwise import blockwise
from bpd.decoding.greedy import greedy
from tests.workflow.driver import ROOT, environment


def test_arms_take_turns_and_each_is_called_once_unmeasured(monkeypatch):
    clock = iter(range(100))
    monkeypatch.setattr(arms.time, "perf_counter", lambda: next(clock))
    called = []
    measured = measure({"a": lambda: called.append("a"), "b": lambda: called.append("b")}, rounds=3)
    assert called == ["a", "b", "a", "b", "b", "a", "a", "b"]
    assert measured["a"].seconds == measured["b"].seconds == (1, 1, 1)


def test_a_ratio_is_the_median_over_rounds():
    measured = {"slow": Measured((4.0, 90.0, 6.0)), "fast": Measured((2.0, 3.0, 2.0))}
    assert ratio(measured, "slow", "fast") == 3.0
    assert measured["slow"].as_json() == {"median": 6.0, "least": 4.0, "largest": 90.0, "rounds": 3}


@pytest.mark.parametrize("block_size", [1, 3, 8])
@pytest.mark.parametrize("rows", [1, 3])
def test_perfect_proposals_are_all_accepted_and_give_the_greedy_output(block_size, rows):
    model = random_model("mini", block_size)
    source, limits = sentences("mini", rows), [17, 9, 24][:rows]
    expected = [decoded.token_ids for decoded in greedy(model, source, limits)]
    decoded = blockwise(PerfectProposals(model, expected), source, limits)
    assert [one.token_ids for one in decoded] == expected
    for one, limit in zip(decoded, limits):
        full, rest = divmod(limit, block_size)
        assert one.block_sizes == [block_size] * full + [rest] * (rest > 0)


def test_a_wrong_proposal_is_rejected_for_all_that():
    model = random_model("mini", 4)
    source = sentences("mini", 1)
    (right,) = greedy(model, source, [12])
    wrong = list(right.token_ids)
    wrong[6] = (wrong[6] + 1) % 4000
    (decoded,) = blockwise(PerfectProposals(model, [wrong]), source, [12])
    assert decoded.token_ids == right.token_ids and len(decoded.block_sizes) > 3


def test_bare_passes_read_every_token_once(monkeypatch):
    model = random_model("mini", 4)
    read = []
    start = model.start

    def watched(source):
        decoder = start(source)
        advance = decoder.advance
        monkeypatch.setattr(decoder, "advance", lambda tokens: read.append(tokens.shape[1]) or advance(tokens))
        return decoder

    monkeypatch.setattr(model, "start", watched)
    bare_passes(model, sentences("mini", 1), list(range(5, 15)), 4)
    assert read == [1, 4, 4, 1]
    assert not torch.is_inference_mode_enabled()


def test_rule_times_are_those_of_the_records(tmp_path):
    (tmp_path / "benchmarks").mkdir()
    for name, seconds in (("train_base", 20.0), ("figures", 4.0), ("merge", 1.0)):
        (tmp_path / "benchmarks" / f"{name}.jsonl").write_text('{"s": 99}\n' + json.dumps({"s": seconds}) + "\n")
    rows = rule_times(tmp_path, {"train": 2.0, "figures": 3.0})
    assert [(row["rule"], row["seconds"], row["share_of_imports"]) for row in rows] == [
        ("train_base", 20.0, 0.1),
        ("figures", 4.0, 0.75),
        ("merge", 1.0, None),
    ]


def test_the_table_says_which_targets_were_met():
    rows = [
        {"k": 1, "speedup": 2.5, "speedup_target": 2.0, "iteration_cost": 1.2, "iteration_cost_target": 1.1},
        {"k": 2, "speedup": 1.5, "speedup_target": 2.0, "iteration_cost": 1.05, "iteration_cost_target": None},
    ]
    *_, first, second = table("costs", rows).splitlines()
    assert first == "| 1 | 2.5 (≥ 2: met) | 1.2 (≤ 1.1: missed) |"
    assert second == "| 2 | 1.5 (≥ 2: missed) | 1.05 |"


def test_a_part_runs_by_itself_and_is_written_with_its_environment(tmp_path):
    output = tmp_path / "made.json"
    command = [sys.executable, "-m", "bench", "--quick", "--only", "training_speed", "--output", output]
    said = subprocess.run(list(map(str, command)), cwd=ROOT, env=environment(), capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    made = json.loads(output.read_text(encoding="utf-8"))
    assert list(made["parts"]) == ["training_speed"] and made["environment"]["packages"]["torch"] == torch.__version__
    (row,) = made["parts"]["training_speed"]
    assert row["size"] == "mini" and row["frozen_over_base"] > 0
    assert "**training_speed**" in said.stdout
