"""Kills: a training that dies is taken up by its retry, a whole run that dies by the same command."""

import os
import signal
import subprocess
import time
from pathlib import Path

import psutil
import yaml

from tests.commands.conftest import TRAINING
from tests.workflow.conftest import tiny_config
from tests.workflow.driver import SNAKEFILE, environment, snakemake, snakemake_command

TARGET = "results/tiny/translation/base/provenance.json"
STEPS = 600


def write_config(folder: Path) -> None:
    """Write a config whose base model takes long enough to be interrupted."""
    values = tiny_config()
    values["translation"]["base"]["training"] = TRAINING | {
        "steps": STEPS,
        "checkpoint_every": 20,
        "evaluate_every": 600,
    }
    (folder / "tiny.yaml").write_text(yaml.safe_dump(values))


def start(folder: Path) -> subprocess.Popen:
    write_config(folder)
    command = snakemake_command(TARGET, "--configfile", "tiny.yaml", snakefile=SNAKEFILE)
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def wait_for_checkpoint(folder: Path, run: subprocess.Popen) -> None:
    for _ in range(12_000):
        if list(folder.glob("results/tiny/checkpoints/translation/base/*/checkpoint-*.pt")):
            return
        assert run.poll() is None, run.stdout.read()
        time.sleep(0.05)
    raise AssertionError("no checkpoint within ten minutes")


def resumed_step(folder: Path) -> int:
    log = (folder / "results/tiny/logs/train_base.log").read_text(encoding="utf-8")
    assert "resuming from step" in log, log
    return int(log.split("resuming from step ")[1].split()[0])


def test_a_killed_training_is_resumed_by_its_retry(tmp_path):
    run = start(tmp_path)
    wait_for_checkpoint(tmp_path, run)
    trainings = [child for child in psutil.Process(run.pid).children(recursive=True) if "train" in child.cmdline()]
    for training in trainings:
        training.kill()
    assert trainings and run.wait(timeout=300) == 0, run.stdout.read()
    assert resumed_step(tmp_path) >= 20
    assert (tmp_path / TARGET).exists() and not (tmp_path / "results/tiny/checkpoints/translation/base").exists()


def test_a_run_killed_with_its_driver_goes_on_after_unlocking(tmp_path):
    run = start(tmp_path)
    wait_for_checkpoint(tmp_path, run)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    assert not (tmp_path / TARGET).exists()
    assert snakemake("--configfile", "tiny.yaml", "--unlock", folder=tmp_path).returncode == 0
    again = snakemake(TARGET, "--configfile", "tiny.yaml", folder=tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr
    assert resumed_step(tmp_path) >= 20
    steps = (tmp_path / "results/tiny/translation/base/training.jsonl").read_text(encoding="utf-8").splitlines()
    assert len([line for line in steps if '"event": "step"' in line]) == STEPS // TRAINING["log_every"]


def test_a_run_ended_by_sigterm_has_saved_its_training_and_goes_on_without_unlocking(tmp_path):
    """As at a time limit: every process of the job gets the signal."""
    run = start(tmp_path)
    wait_for_checkpoint(tmp_path, run)
    os.killpg(run.pid, signal.SIGTERM)
    said, _ = run.communicate(timeout=300)
    assert run.returncode != 0 and not (tmp_path / TARGET).exists()
    log = (tmp_path / "results/tiny/logs/train_base.log").read_text(encoding="utf-8")
    assert "stopped by SIGTERM and saved at step" in log, said + log
    saved = int(log.split("saved at step ")[1].split()[0])
    again = snakemake(TARGET, "--configfile", "tiny.yaml", folder=tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr
    assert resumed_step(tmp_path) == saved
