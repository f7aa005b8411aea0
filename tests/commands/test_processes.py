"""Several processes, as `bpd … --processes` starts them over gloo: the single process's results, and no hang."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from bpd import grid
from bpd.config import Config, TrainSettings, validate_section
from tests.commands.conftest import CONFIG, TRAINING

ROOT = Path(__file__).resolve().parents[2]
HEADS = {"block_size": 3, "first_head": "learned", "frozen": False, "base_dropout": True, "head_loss": "sampled"}


def settings_with(**training: object) -> TrainSettings:
    """Return settings of heads over a base, one of them drawn a step, in steps of four micro-batches."""
    translation = validate_section(Config, CONFIG, "tiny").translation
    values = grid.train_settings(translation, "base").model_dump(mode="json")
    schedule = {"kind": "linear", "peak": 0.002, "warmup_steps": 4}
    training = TRAINING | {"micro_batches": 4, "micro_batch_tokens": 100, "schedule": schedule} | training
    values |= {"model": "fine_tuning_k3", "heads": HEADS, "training": training}
    return validate_section(TrainSettings, values, "tiny")


def command(world, folder: Path, settings: TrainSettings, processes: int) -> list[str]:
    words = [sys.executable, "-m", "bpd.cli", "train", "--settings", settings.model_dump_json(), "--data", world.data]
    words += ["--base", world.model("base"), "--work", folder / "work", "--output", folder / "model"]
    return [*map(str, words), "--processes", str(processes)]


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "BPD_DEVICE": "cpu"}


def start(*arguments) -> subprocess.Popen:
    return subprocess.Popen(
        command(*arguments), env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def records(folder: Path, event: str) -> list[dict]:
    lines = (folder / "model" / "training.jsonl").read_text().splitlines()
    return [record for record in map(json.loads, lines) if record["event"] == event]


def wait_for_checkpoint(folder: Path, run: subprocess.Popen, after: int = 0) -> int:
    for _ in range(6000):
        found = [int(path.stem.split("-")[1]) for path in folder.glob("work/*/checkpoint-*.pt")]
        if max(found, default=0) > after:
            return max(found)
        assert run.poll() is None, run.stdout.read()
        time.sleep(0.02)
    raise AssertionError("no checkpoint within two minutes")


def workers_of(run: subprocess.Popen) -> list[psutil.Process]:
    """Return the processes that the launcher started, in the order of their ranks."""
    workers = [child for child in psutil.Process(run.pid).children() if "train" in child.cmdline()]
    return sorted(workers, key=lambda worker: int(worker.environ()["RANK"]))


def assert_same_curve(one: Path, other: Path, within: float) -> None:
    first, second = records(one, "step"), records(other, "step")
    assert [record["step"] for record in first] == [record["step"] for record in second]
    for record, twin in zip(first, second):
        assert record["loss"] == pytest.approx(twin["loss"], abs=within), record["step"]
        assert set(record["head_losses"]) == set(twin["head_losses"]), "another head was drawn"
    assert records(one, "evaluation")[-1]["dev_bleu"] == records(other, "evaluation")[-1]["dev_bleu"]


def test_two_and_four_processes_train_as_one_does(world, tmp_path):
    settings = settings_with(steps=50, log_every=1, evaluate_every=25)
    for processes in (1, 2, 4):
        run = start(world, tmp_path / str(processes), settings, processes)
        said, _ = run.communicate(timeout=300)
        assert run.returncode == 0, said
        provenance = json.loads((tmp_path / str(processes) / "model" / "provenance.json").read_text())
        assert provenance["processes"] == processes
    heads = {head for record in records(tmp_path / "1", "step") for head in record["head_losses"]}
    assert heads == {"1", "2", "3"}
    for processes in (2, 4):
        assert_same_curve(tmp_path / "1", tmp_path / str(processes), within=1e-5)
    assert not list(tmp_path.glob("*/work"))


def test_killed_stopped_and_resumed_on_another_number_of_processes_it_is_still_the_same_training(world, tmp_path):
    settings = settings_with(steps=150, log_every=5, checkpoint_every=10, evaluate_every=150)
    whole = start(world, tmp_path / "whole", settings, 1)
    parts = tmp_path / "parts"

    run = start(world, parts, settings, 2)
    wait_for_checkpoint(parts, run)
    killed = workers_of(run)[1]
    killed.kill()
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 1
    assert f"process 1 of 2 (number {killed.pid}) was killed by SIGKILL" in said, said
    assert "Traceback" not in said, said

    run = start(world, parts, settings, 4)
    resumed = wait_for_checkpoint(parts, run, after=wait_for_checkpoint(parts, run))
    workers = workers_of(run)
    run.send_signal(signal.SIGTERM)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == os.EX_TEMPFAIL, said
    assert re.search(r"resuming from step \d+ of 150", said) and "the same command goes on" in said, said
    assert not any(worker.is_running() for worker in workers)
    assert max(int(path.stem.split("-")[1]) for path in parts.glob("work/*/checkpoint-*.pt")) >= resumed

    run = start(world, parts, settings, 1)
    said, _ = run.communicate(timeout=120)
    assert run.returncode == 0, said
    assert "resuming from step" in said
    assert whole.communicate(timeout=120) and whole.returncode == 0
    assert_same_curve(tmp_path / "whole", parts, within=1e-4)


def test_workers_do_not_outlive_their_launcher(world, tmp_path):
    run = start(world, tmp_path, settings_with(steps=100_000, checkpoint_every=5), 2)
    wait_for_checkpoint(tmp_path, run)
    workers = workers_of(run)
    assert len(workers) == 2
    run.kill()
    _, alive = psutil.wait_procs(workers, timeout=60)
    assert not alive


def test_two_launchers_as_on_two_machines_make_one_training(world, tmp_path):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        endpoint = f"localhost:{free.getsockname()[1]}"
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "2"]
    launcher += ["--rdzv-backend", "c10d", "--rdzv-id", "one", "--rdzv-endpoint", endpoint]
    _, *words = command(world, tmp_path, settings_with(steps=10), 1)
    runs = [
        subprocess.Popen(
            [*launcher, *words], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for _ in range(2)
    ]
    for run in runs:
        said, _ = run.communicate(timeout=120)
        assert run.returncode == 0, said
    assert json.loads((tmp_path / "model" / "provenance.json").read_text())["processes"] == 4
    assert [record["step"] for record in records(tmp_path, "step")] == [4, 8, 10]


def test_more_processes_than_micro_batches_are_refused(world, tmp_path):
    run = start(world, tmp_path, settings_with(micro_batches=1), 2)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 1
    assert "a step has 1 micro-batches, too few to share between 2 processes" in said, said


def test_decoding_in_several_processes_leaves_the_records_of_one(world, tmp_path):
    model = world.model("both_k3")
    settings = grid.decode_settings(world.config.translation, "both_k3").model_dump_json()
    words = [sys.executable, "-m", "bpd.cli", "decode", "--settings", settings, "--model", model, "--data", world.data]
    words += ["--batch-rows", 5, "--output", tmp_path, "--processes", 3]
    run = subprocess.run([*map(str, words)], env=environment(), capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    made = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.json*"))
    expected = sorted(path.relative_to(model / "decode") for path in (model / "decode").rglob("*.json*"))
    assert made == [path for path in expected if not path.name.endswith(".score.json")]
    for path in made:
        if path.suffix == ".jsonl":
            assert without_seconds(tmp_path / path) == without_seconds(model / "decode" / path)
    (heads,) = [path for path in made if path.name == "heads.json"]
    one, other = (json.loads((folder / heads).read_text()) for folder in (tmp_path, model / "decode"))
    assert one["own_output"] == other["own_output"]


def without_seconds(path: Path) -> list[dict]:
    kept = [json.loads(line) for line in path.read_text().splitlines()]
    for record in kept:
        record.pop("seconds")
    return kept
