"""A01: re-running a training rule wipes its own checkpoints.

Kind: recovery state kept where the workflow engine considers it disposable. Retries of a killed job, SIGTERM and a long
training are in tests/workflow/test_interruption.py, exact resume in tests/training/test_loop.py. Further cases: no rule
of any scale declares a place of checkpoints as its own, a run with other settings in between leaves them alone, and a
disk that is full when a checkpoint is due does not cost the one before.
"""

import json
import os
import re
import resource
import signal
import subprocess
import time

import pytest
import yaml

from bpd.commands.train import train
from bpd.training.loop import Trainer
from tests.field.driver import bpd_command, environment, refused
from tests.field.tiny_training import base_settings, checkpoints, config_with, prepare
from tests.workflow.driver import SNAKEFILE, snakemake, snakemake_command
from tests.workflow.driver import environment as workflow_environment

TARGET = "results/tiny/translation/base/provenance.json"
# Steps long enough to be killed between two checkpoints.
TRAINING = {"steps": 40, "checkpoint_every": 10, "evaluate_every": 40, "log_every": 1, "micro_batches": 16}


def test_a01_a_killed_workflow_goes_on_from_its_checkpoint_by_the_documented_command(tmp_path):
    prepare(tmp_path / "results/tiny/data/translation")
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(config_with(**TRAINING)))
    words = [TARGET, "--configfile", "tiny.yaml"]
    work = tmp_path / "results/tiny/checkpoints/translation/base"
    run = subprocess.Popen(
        snakemake_command(*words, snakefile=SNAKEFILE),
        cwd=tmp_path,
        env=workflow_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    while not checkpoints(work):
        assert run.poll() is None, run.stdout.read()
        time.sleep(0.02)
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate()
    kept = checkpoints(work)[-1]
    assert kept < 40 and not (tmp_path / TARGET).exists()
    # The documented command: snakemake --unlock && snakemake …
    assert snakemake("--configfile", "tiny.yaml", "--unlock", folder=tmp_path).returncode == 0
    again = snakemake(*words, folder=tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr
    log = (tmp_path / "results/tiny/logs/train_base.log").read_text(encoding="utf-8")
    assert f"resuming from step {kept} of 40" in log
    lines = (tmp_path / TARGET).with_name("training.jsonl").read_text(encoding="utf-8").splitlines()
    steps = [record["step"] for record in map(json.loads, lines) if record["event"] == "step"]
    assert steps == list(range(1, 41)) and not work.exists()


@pytest.mark.parametrize("scale", ["smoke", "paper"])
def test_a01_no_rule_declares_a_place_of_checkpoints_as_its_own(scale, tmp_path):
    result = snakemake("--dry-run", "--printshellcmds", "--config", f"scale={scale}", folder=tmp_path)
    said = result.stdout + result.stderr
    blocks = [block for block in re.split(r"\n(?:local)?rule ", said) if "bpd train" in block]
    places = {re.search(r"--work (\S+)", block).group(1) for block in blocks}
    assert len(places) == len(blocks) > 5, "each training has a place of its own"
    for line in said.splitlines():
        kind, _, names = line.strip().partition(": ")
        if kind not in ("input", "output", "log", "benchmark"):
            continue
        for name in names.split(", "):
            for place in places:
                assert not f"{name}/".startswith(f"{place}/"), f"{name} is declared, and in {place}"
                assert not f"{place}/".startswith(f"{name}/"), f"{name} is declared, and holds {place}"


class Killed(Exception):
    """Ends a training as a kill would."""


def train_until(step: int | None, settings, folder, monkeypatch) -> None:
    take_step = Trainer._take_step

    def dying_step(self, *arguments):
        if self.step == step:
            raise Killed
        return take_step(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_take_step", dying_step)
        train(settings, folder / "data", folder / "model", folder / "work", None, None)


def test_a01_a_run_with_other_settings_in_between_leaves_checkpoints_alone(tmp_path, monkeypatch, capsys):
    """Someone tries another learning rate, finishes that, and comes back."""
    prepare(tmp_path / "data")
    mine = base_settings()
    other = base_settings(schedule={"kind": "linear", "peak": 0.02, "warmup_steps": 4})
    with pytest.raises(Killed):
        train_until(11, mine, tmp_path, monkeypatch)
    assert checkpoints(tmp_path / "work") == [5, 10]
    train_until(None, other, tmp_path, monkeypatch)
    assert checkpoints(tmp_path / "work") == [5, 10]
    train_until(None, mine, tmp_path, monkeypatch)
    assert "resuming from step 10 of 12" in capsys.readouterr().out and not (tmp_path / "work").exists()


def test_a01_a_full_disk_costs_no_earlier_checkpoint(tmp_path, monkeypatch):
    data = prepare(tmp_path / "data")
    settings = base_settings()
    with pytest.raises(Killed):
        train_until(7, settings, tmp_path, monkeypatch)
    words = ["train", "--settings", settings.model_dump_json(), "--data", data]
    words += ["--work", tmp_path / "work", "--output", tmp_path / "model"]
    result = subprocess.run(
        bpd_command(*words),
        env=environment(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000)),
        capture_output=True,
        text=True,
    )
    refused(result, "checkpoint-00000010.pt: the checkpoint cannot be written", "Is the disk full")
    assert checkpoints(tmp_path / "work") == [5] and not list((tmp_path / "work").rglob("*.partial-*"))
    train_until(None, settings, tmp_path, monkeypatch)
    assert (tmp_path / "model" / "provenance.json").exists()
