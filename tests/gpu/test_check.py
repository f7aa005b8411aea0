"""The script for machines with a card: dry-run on the CPU, and run in short where there is a card."""

import importlib.util
import json
from pathlib import Path

import pytest
import torch

spec = importlib.util.spec_from_file_location("gpu_check", Path(__file__).with_name("check.py"))
check = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_every_step_passes_in_short(device, tmp_path, monkeypatch):
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA card")
    monkeypatch.setenv("BPD_DEVICE", device)
    output = tmp_path / "check.json"
    status = check.main(["--device", device, "--quick", "--output", str(output), "--without-benchmark"])
    report = json.loads(output.read_text(encoding="utf-8"))
    assert status == 0 and report["passed"], report
    assert list(report["steps"]) == ["parity", "image_parity", "train_and_decode"]
    assert [one["block_size"] for one in report["steps"]["parity"]["results"]] == [1, 4, 8]
    assert [one["precision"] for one in report["steps"]["train_and_decode"]["results"]] == ["fp32", "bf16"]


def test_a_step_that_fails_is_told_and_the_next_is_taken(tmp_path):
    output = tmp_path / "check.json"
    one = check.Check(torch.device("cpu"), output, quick=True)
    one.take("broken", lambda: 1 / 0)
    one.take("whole", lambda: {"passed": True})
    report = json.loads(output.read_text(encoding="utf-8"))
    assert report["steps"]["broken"]["failure"].startswith("ZeroDivisionError") and not report["passed"]
    assert report["steps"]["whole"]["passed"]


def test_a_difference_counts_unless_it_is_a_tie():
    model = check.varied(check.dimensions("mini"), 1, torch.device("cpu"))
    source = check.sentences(1, 5, 4000)
    (plain,) = check.greedy(check.WithoutEnd(model), source, [4])
    other = check.Decoded([plain.token_ids[0], (plain.token_ids[1] + 1) % 4000], [1, 1], 2, "length")
    assert check.beyond_ties(model, source, [plain], [plain]) == 0
    assert check.beyond_ties(model, source, [plain], [other]) == 1
