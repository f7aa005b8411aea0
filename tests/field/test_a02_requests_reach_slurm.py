"""A02: requests for cards, tasks and cores get lost or mangled on the way to Slurm.

Kind: a request is changed by the layers between rule and scheduler. What each line of the profile asks for, nonsense in
it, and the step inside a job are in tests/cluster/test_requests.py; on a real Slurm, tests/cluster/test_jobs.py. Here a
job's own words are run as its node would run them, to the training inside. Further cases: cards changed on the command
line reach the workers, and memory and time changed there reach Slurm, each once and in its units.
"""

import json
import os
import subprocess
import sys
import time

import pytest
import yaml

from tests.cluster.profile import QUICK, edited_profile
from tests.cluster.test_requests import COMMANDS, RECORDER, Request, recorded, word_after
from tests.field.tiny_training import config_with, prepare
from tests.workflow.driver import SNAKEFILE, environment, snakemake_command

# A step that two cards, or four, could share.
TRAINING = {"steps": 6, "evaluate_every": 6, "micro_batches": 4}
# Runs what it is given, as Slurm's does for each task of a step.
SRUN = """
import os
first = next(place for place, word in enumerate(words) if place and not word.startswith("-") and "python" in word)
os.execv(words[first], words[first:])
"""


class Cluster:
    """A folder to run in, and stand-ins for Slurm's commands of which srun runs its words."""

    def __init__(self, folder, *alive: str, **numbers: int) -> None:
        self.folder, stand_ins = folder / "run", folder / "bin"
        self.folder.mkdir()
        stand_ins.mkdir()
        recorder = f"#!{sys.executable}\n{RECORDER.read_text(encoding='utf-8')}"
        for name in COMMANDS:
            text = recorder.replace("    sys.exit(1)", SRUN.replace("\n", "\n    ")) if name == "srun" else recorder
            (stand_ins / name).write_text(text, encoding="utf-8")
            (stand_ins / name).chmod(0o755)
        path = os.pathsep.join([str(stand_ins), os.environ["PATH"]])
        record = folder / "record.jsonl"
        self.variables = environment() | {"PATH": path, "BPD_TEST_RECORD": str(record), "BPD_DEVICE": "cpu"}
        self.profile = edited_profile(folder, "slurm-status-command", "slurm-no-account", *alive, **numbers)
        (self.folder / "tiny.yaml").write_text(yaml.safe_dump(config_with(**TRAINING)))

    def send(self, *words: str, jobs: int = 1) -> dict[str, Request]:
        """Start a run of these words and stop it when it has sent `jobs`; return them by rule."""
        before = len(self._sent())
        run = subprocess.Popen(
            snakemake_command(
                *words, "--configfile", "tiny.yaml", "--profile", self.profile, *QUICK, snakefile=SNAKEFILE
            ),
            cwd=self.folder,
            env=self.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            while len(self._sent()) < before + jobs:
                assert run.poll() is None, run.stdout.read()
                time.sleep(0.1)
        finally:
            run.kill()
            run.communicate()
        sent = self._sent()[before:]
        return {word_after(call, "--comment").removeprefix("rule_"): Request(call) for call in sent}

    def _sent(self) -> list[list[str]]:
        return [words for name, words in recorded(self.variables) if name == "sbatch"]

    def run_job(self, job: Request) -> subprocess.CompletedProcess:
        """Run a job's own words to their end, as its node would."""
        (line,) = [word for word in job.words if word.startswith("--wrap=")]
        return subprocess.run(
            ["/bin/sh", "-c", line.removeprefix("--wrap=")],
            cwd=self.folder,
            env=self.variables | {"SLURM_JOB_ID": "1"},
            capture_output=True,
            text=True,
        )

    @property
    def workers(self) -> int:
        """How many processes made the base model."""
        path = self.folder / "results/tiny/translation/base/provenance.json"
        return json.loads(path.read_text(encoding="utf-8"))["processes"]


@pytest.mark.parametrize("line", ["gpu_model", "gres"])
def test_a02_a_job_with_two_cards_starts_two_workers(line, tmp_path):
    cluster = Cluster(tmp_path, line, gpu_per_training=2, cpus_per_gpu=3)
    prepare(cluster.folder / "results/tiny/data/translation")
    job = cluster.send("train_base")["train_base"]
    assert job.cards == {"gpu_model": ["--gpus=a100:2"], "gres": ["--gres=gpu:2"]}[line]
    assert job.tasks == 1 and job.cores == ["--cpus-per-task=6"]
    result = cluster.run_job(job)
    assert result.returncode == 0, result.stdout + result.stderr
    assert cluster.workers == 2


def test_a02_text_is_prepared_without_a_card_beside_a_training_and_a_decoding_with_theirs(tmp_path):
    cluster = Cluster(tmp_path, gpu_per_training=2)
    images = cluster.folder / "results/tiny/data/super_resolution"
    base = cluster.folder / "results/tiny/super_resolution/base"
    for path in (images / "report.json", images / "train/manifest.json", images / "dev/manifest.json"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    base.mkdir(parents=True)
    for name in ("model.safetensors", "config.yaml", "provenance.json", "training.jsonl"):
        (base / name).touch()
    sent = cluster.send("prepare_text", "train_images_regular_k3", "decode_images_base", jobs=3)
    assert {rule: request.cards for rule, request in sent.items()} == {
        "prepare_text": [],
        "train_images_regular_k3": ["--gpus=1"],
        "decode_images_base": ["--gpus=1"],
    }
    assert all(request.tasks == 1 for request in sent.values())


def test_a02_cards_changed_on_the_command_line_change_the_workers(tmp_path):
    cluster = Cluster(tmp_path, gpu_per_training=4)
    prepare(cluster.folder / "results/tiny/data/translation")
    job = cluster.send("train_base", "--set-resources", "train_base:gpu=2")["train_base"]
    assert job.cards == ["--gpus=2"]
    result = cluster.run_job(job)
    assert result.returncode == 0, result.stdout + result.stderr
    assert cluster.workers == 2


def test_a02_memory_and_time_changed_on_the_command_line_reach_slurm_once(tmp_path):
    cluster = Cluster(tmp_path)
    prepare(cluster.folder / "results/tiny/data/translation")
    changed = ["--set-resources", "train_base:mem_mb=3000", "train_base:runtime='2h'"]
    job = cluster.send("train_base", *changed)["train_base"]
    assert job.options("--mem") == ["--mem"] and job.value("--mem") == "3000"
    limits = job.options("-t|--time")
    assert limits == ["-t"] and job.value("-t") == "120"
