"""What parts compute beside timing: growth, a run's records, memory of a stage, and steps that train."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from bench.memory_stages import STAGES
from bench.models import ROOT, RandomBatches, dimensions
from bench.options import Options
from bench.peak_memory import STAGES as MEASURED_STAGES
from bench.peers import CTranslate2Greedy, HuggingFaceGreedy, marian_ids, marian_model, missing_peer
from bench.resident_memory import peak_bytes
from bench.scaling import growth
from bench.training_peers import base_work, frozen_work
from bench.training_steps import frozen_heads, hugging_face_step, translation_step
from bench.workflow_time import MODULES, measure, module_of, recorded_seconds
from tests.bench.test_perfect_proposals import SHAPE


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0])
def test_growth_is_the_exponent(exponent):
    assert growth({size: 0.1 * size**exponent for size in (4, 16, 64)}) == pytest.approx(exponent, abs=1e-9)


def test_dimensions_are_those_of_the_configs():
    assert dimensions("mini").vocabulary_size == 4000
    assert dimensions("base").transformer.d_ff == 2048
    with pytest.raises(ValueError, match="small"):
        dimensions("huge")


def test_the_limit_of_frozen_training_counts_products():
    layers = SHAPE.transformer.model_copy(update=dict(d_model=2, d_ff=3, encoder_layers=1, decoder_layers=1))
    shape = replace(SHAPE, transformer=layers, vocabulary_size=5)
    # An encoder layer has 4·2² + 2·2·3 weights, a decoder layer 8·2² + 2·2·3, the projection 5·2.
    assert base_work(shape) == 3 * (28 + 44 + 10)
    # k = 2: hidden 2·6, an output 6·2.
    assert frozen_work(shape, 2, 1) == 72 + 2 * 12 + 3 * 12 + 2 * 10
    assert frozen_work(shape, 2, 2) == 72 + 2 * 12 + 3 * 24 + 2 * 20


@pytest.mark.parametrize(
    ("job", "module"),
    [
        ("train_both_k4", "bpd.commands.train"),
        ("train_images_base", "bpd.commands.train_images"),
        ("distill_shard_1", "bpd.commands.distill"),
        ("score_images", "bpd.evaluation.image_score"),
        ("score_translation", "bpd.evaluation.score"),
        ("something_new", None),
    ],
)
def test_jobs_are_known_by_their_names(job, module):
    assert module_of(job) == module


def test_the_modules_of_jobs_exist():
    code = "import importlib.util, sys\nfor name in sys.argv[1:]: assert importlib.util.find_spec(name), name"
    subprocess.run([sys.executable, "-c", code, *MODULES.values()], check=True)


def test_recorded_jobs_are_added_up(tmp_path):
    (tmp_path / "benchmarks").mkdir()
    for job, seconds in (("cost", 30.0), ("scorecard", 10.0)):
        record = {"s": seconds, "cpu_time": seconds, "max_rss": 50.0}
        (tmp_path / "benchmarks" / f"{job}.jsonl").write_text(json.dumps(record) + "\n")
    assert recorded_seconds(tmp_path) == {"cost": 30.0, "scorecard": 10.0}
    findings = measure(Options(torch.device("cpu"), tmp_path, quick=True))
    values = {one.name: one.ratio.value for one in findings.findings}
    assert values["commands.cost ÷ all jobs' time"] == 0.75
    assert 0 < values["importing ÷ all jobs' time"] < 1
    assert [one["job"] for one in findings.measurements[:2]] == ["cost", "scorecard"]


def test_the_largest_memory_grows_with_what_is_held():
    before = peak_bytes()
    held = torch.ones(64 * 2**20, dtype=torch.uint8)
    assert peak_bytes() >= before and peak_bytes() > held.numel()
    assert set(MEASURED_STAGES) < set(STAGES)


def test_a_command_s_memory_is_not_that_of_the_process_that_started_it(tmp_path):
    held = torch.ones(2**30, dtype=torch.uint8)
    command = [sys.executable, "-m", "bench.resident_memory", str(tmp_path / "peak.json"), "--help"]
    said = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    peak = json.loads((tmp_path / "peak.json").read_text())["peak_bytes"]
    assert "prepare" in said.stdout
    assert 2**20 < peak < held.numel() < peak_bytes()


@pytest.mark.parametrize("heads", [None, frozen_heads(4, "sampled"), frozen_heads(4, "mean")])
def test_a_step_trains(heads):
    step = translation_step(SHAPE, RandomBatches(2, 6, SHAPE.vocabulary_size), heads=heads)
    losses = [step()["loss"] for _ in range(2)]
    assert all(loss > 0 for loss in losses)


def test_the_peers_decode_and_train_as_much_as_we_do():
    problem = missing_peer("transformers", "ctranslate2")
    if problem is not None:
        pytest.skip(problem)
    # Nothing is fetched: neither models nor kernels.
    assert os.environ["HF_HUB_OFFLINE"] == "1" and os.environ["USE_HUB_KERNELS"] == "0"
    batches = RandomBatches(2, 6, SHAPE.vocabulary_size)
    rows = marian_ids(batches.batch.source.tolist(), SHAPE)
    model = marian_model(SHAPE, 16)
    decoded = HuggingFaceGreedy(model)(rows, 5)
    # Both start from the same weights, so that both decode the same.
    pieces = CTranslate2Greedy(model)(rows, 5)
    assert [[f"p{token}" for token in row] for row in decoded] == pieces and len(decoded[0]) == 5
    step = hugging_face_step(SHAPE, batches.batch)
    assert 0 < step() < 10
