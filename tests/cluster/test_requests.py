"""What the real rules with the real profile ask of Slurm, as a recording stand-in for its commands hears it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cluster.profile import PROFILE, QUICK, edited_profile
from tests.workflow.driver import ROOT, SNAKEFILE, environment, snakemake_command

pytestmark = pytest.mark.xdist_group("requests")

RECORDER = Path(__file__).with_name("recorder.py")
COMMANDS = ("sbatch", "srun", "sacct", "squeue", "scancel", "sinfo", "scontrol", "sacctmgr", "sshare")
JOBS = ("prepare_images", "train_regular_k4", "decode_both_k4", "time_both_k4")
# A training with four micro-batches a step can use four cards, two or one.
CONFIG = "translation={heads: {frozen: {training: {micro_batches: 4}}}}"


@dataclass(frozen=True)
class Request:
    """The words of one call of sbatch or srun."""

    words: list[str]

    def options(self, pattern: str) -> list[str]:
        return [word for word in self.words if re.match(pattern, word)]

    @property
    def cards(self) -> list[str]:
        return self.options("--gpu|--gres|-G")

    @property
    def tasks(self) -> int:
        """The number of tasks that Slurm makes of this: one, unless told otherwise in any of its ways."""
        said = self.options("-n|--ntasks|--tasks")
        assert said in ([], ["--ntasks=1"], ["-n1"]), said
        return 1

    @property
    def cores(self) -> list[str]:
        return self.options("-c$|--cpus-per")

    def value(self, option: str) -> str:
        return self.words[self.words.index(option) + 1]


@dataclass(frozen=True)
class Asked:
    """The requests of a run, by rule, and where its stand-ins lie."""

    jobs: dict[str, Request]
    folder: Path
    environment: dict[str, str]

    def step(self, rule: str) -> Request:
        """Run a job's own words, as its node would, and return how it asks for its step."""
        (line,) = [word for word in self.jobs[rule].words if word.startswith("--wrap=")]
        result = subprocess.run(
            ["/bin/sh", "-c", line.removeprefix("--wrap=")],
            cwd=self.folder,
            env=self.environment | {"SLURM_JOB_ID": "1"},
            capture_output=True,
            text=True,
        )
        steps = [words for name, words in recorded(self.environment) if name == "srun"]
        # The step fails, as nothing is computed: it must not be tried again here, where time is running out already.
        assert len(steps) == 1, result.stdout + result.stderr
        return Request(steps[0])


def recorded(variables: dict[str, str]) -> list[tuple[str, list[str]]]:
    path = Path(variables["BPD_TEST_RECORD"])
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [(call["name"], call["words"]) for call in map(json.loads, lines)]


def inputs_of(folder: Path) -> None:
    """Make empty files of what the jobs read, so that all of them can be sent at once."""
    root = folder / "results" / "smoke"
    for path in ("report.json", "vocabulary.model", "train/manifest.json"):
        (root / "data" / "translation" / path).parent.mkdir(parents=True, exist_ok=True)
        (root / "data" / "translation" / path).touch()
    for model in ("base", "both_k4"):
        (root / "translation" / model).mkdir(parents=True)
        for name in ("model.safetensors", "config.yaml", "provenance.json", "training.jsonl", "vocabulary.model"):
            (root / "translation" / model / name).touch()


def ask(folder: Path, profile: Path) -> Asked:
    """Send the jobs with `profile`, and return what was asked for them."""
    stand_ins, work = folder / "bin", folder / "work"
    stand_ins.mkdir()
    for name in COMMANDS:
        (stand_ins / name).write_text(f"#!{sys.executable}\n{RECORDER.read_text(encoding='utf-8')}")
        (stand_ins / name).chmod(0o755)
    work.mkdir()
    inputs_of(work)
    path = os.pathsep.join([str(stand_ins), os.environ["PATH"]])
    variables = environment() | {"PATH": path, "BPD_TEST_RECORD": str(folder / "record.jsonl")}
    words = [*JOBS, "--profile", profile, "--config", "scale=smoke", CONFIG, *QUICK]
    run = subprocess.Popen(
        snakemake_command(*words, snakefile=SNAKEFILE),
        cwd=work,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        while len(calls := [words for name, words in recorded(variables) if name == "sbatch"]) < len(JOBS):
            assert run.poll() is None, run.stdout.read()
            time.sleep(0.1)
    finally:
        run.kill()
        run.communicate()
    return Asked(
        {word_after(call, "--comment").removeprefix("rule_"): Request(call) for call in calls}, work, variables
    )


def word_after(words: list[str], option: str) -> str:
    return words[words.index(option) + 1]


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> Asked:
    """The profile as it is."""
    return ask(tmp_path_factory.mktemp("plain"), PROFILE)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory) -> Asked:
    """Two cards a training, of one model."""
    folder = tmp_path_factory.mktemp("pairs")
    return ask(folder, edited_profile(folder, "gpu_model", gpu_per_training=2, cpus_per_gpu=3))


@pytest.fixture(scope="module")
def particular(tmp_path_factory) -> Asked:
    """A cluster that wants everything said, and cards asked for as --gres."""
    folder = tmp_path_factory.mktemp("particular")
    keys = (
        "slurm_account",
        "slurm_partition",
        "cpu_partition",
        "gres",
        "longest_runtime",
        "constraint",
        "qos",
        "slurm_extra",
    )
    return ask(folder, edited_profile(folder, *keys, "slurm-status-command", "slurm-no-account"))


def test_every_job_is_one_task(plain, pairs, particular):
    for asked in (plain, pairs, particular):
        assert set(asked.jobs) == set(JOBS) and all(request.tasks == 1 for request in asked.jobs.values())


def test_cards_are_asked_for_once_and_on_one_node(plain):
    assert plain.jobs["train_regular_k4"].cards == ["--gpus=4"]
    assert plain.jobs["decode_both_k4"].cards == plain.jobs["time_both_k4"].cards == ["--gpus=1"]
    for rule in ("train_regular_k4", "decode_both_k4", "time_both_k4"):
        assert plain.jobs[rule].options("--nodes|-N") == ["--nodes=1"]


def test_who_needs_no_card_asks_for_none(plain, pairs, particular):
    for asked in (plain, pairs, particular):
        assert asked.jobs["prepare_images"].cards == []


def test_cores_and_memory_grow_with_the_cards_whatever_the_submitting_machine_has(plain, pairs):
    assert plain.jobs["train_regular_k4"].cores == ["--cpus-per-task=16"]
    assert plain.jobs["train_regular_k4"].value("--mem") == "64000"
    assert plain.jobs["decode_both_k4"].cores == ["--cpus-per-task=4"]
    assert plain.jobs["prepare_images"].cores == ["--cpus-per-task=1"]
    assert pairs.jobs["train_regular_k4"].cores == ["--cpus-per-task=6"]


def test_a_timing_has_a_node_to_itself_and_nothing_else_has(plain, particular):
    for asked in (plain, particular):
        alone = {rule for rule, request in asked.jobs.items() if request.options("--exclusive")}
        assert alone == {"time_both_k4"}
    assert plain.jobs["time_both_k4"].cores == ["--cpus-per-task=1"]


def test_two_cards_of_one_model(pairs):
    assert pairs.jobs["train_regular_k4"].cards == ["--gpus=a100:2"]
    assert pairs.jobs["decode_both_k4"].cards == ["--gpus=a100:1"]


def test_cards_as_generic_resources_on_one_line(particular):
    assert particular.jobs["train_regular_k4"].cards == ["--gres=gpu:4"]
    assert particular.jobs["decode_both_k4"].cards == particular.jobs["time_both_k4"].cards == ["--gres=gpu:1"]


def test_each_commented_line_reaches_slurm_as_it_is_written(particular):
    for rule, request in particular.jobs.items():
        partition = "cpu" if rule == "prepare_images" else "gpu"
        assert (request.value("-A"), request.value("-p"), request.value("-C")) == ("my_project", partition, "nvlink")
        assert "--qos=normal" in request.words and "--mail-type=FAIL" in request.words
        assert int(request.value("-t")) <= 1440, rule
    assert particular.jobs["train_regular_k4"].value("-t") == "1440"
    assert particular.jobs["prepare_images"].value("-t") == "240"


def test_without_a_limit_the_rules_own_minutes_stand_and_slurm_alone_starts_a_job_again(plain):
    assert plain.jobs["train_regular_k4"].value("-t") == "2880"
    for request in plain.jobs.values():
        assert request.options("--(no-)?requeue") == ["--requeue"] and not request.options("-A|-p|-C|--qos")


@pytest.mark.parametrize("name", ["pairs", "particular"])
def test_the_step_inside_a_job_takes_the_same_resources(name, request):
    asked = request.getfixturevalue(name)
    step = asked.step("train_regular_k4")
    assert step.tasks == 1 and step.options("--nodes") == ["--nodes=1"]
    # Without a word about cards, a step has all those of its job.
    assert (step.cards, step.cores) == {
        "pairs": (["--gpus=2"], ["--cpus-per-task=6"]),
        "particular": ([], ["--cpus-per-task=16"]),
    }[name]
    inner = shlex.join(step.words)
    assert "--configfile" in inner and "config/smoke.yaml" in inner


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("gpu_per_training=none", "gpu_per_training is 'none', but must be a whole number"),
        ("gpu_per_training=0", "gpu_per_training is '0', but must be a whole number"),
        ("gres=gpu:2", "must name the cards alone"),
        ("gres=gpu gpu_model=a100", "instead of gres and gpu_model"),
    ],
)
def test_nonsense_in_a_profile_is_refused_before_any_job(lines, message, tmp_path):
    words = ["--dry-run", "--jobs", "2", "--default-resources", *lines.split()]
    result = subprocess.run(
        snakemake_command(*words, snakefile=SNAKEFILE), cwd=tmp_path, env=environment(), capture_output=True, text=True
    )
    assert result.returncode != 0 and message in result.stdout + result.stderr


def test_the_link_beside_the_readme_leads_to_the_profile():
    link = ROOT / "slurm"
    assert link.is_symlink() and not Path(os.readlink(link)).is_absolute()
    assert link.resolve() == PROFILE


@pytest.mark.parametrize(("config", "cards"), [("smoke", 1), ("mini", 1), ("paper", 4)])
def test_no_more_cards_share_the_images_than_have_a_batch_to_decode(config, cards, tmp_path):
    words = ["decode_images_base", "--dry-run", "--default-resources", "gpu_per_decoding=4"]
    result = subprocess.run(
        snakemake_command(*words, "--config", f"scale={config}", snakefile=SNAKEFILE),
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
    )
    said = result.stdout + result.stderr
    assert result.returncode == 0, said
    (asked,) = re.findall(r"rule decode_images_base:.*?resources: .*?\bgpu=(\d+), processes=(\d+)", said, re.DOTALL)
    assert asked == (str(cards), str(cards))


@pytest.mark.parametrize(("words", "attempts"), [((), 2), (("--retries", "3"), 4), (("--retries", "0"), 2)])
def test_a_training_is_tried_as_often_as_the_profile_says_and_at_least_twice(words, attempts, tmp_path):
    snakefile = tmp_path / "Snakefile"
    snakefile.write_text(
        f'include: "{ROOT}/workflow/rules/cluster.smk"\n'
        'rule train:\n    output: "never"\n    retries: RETRIES\n    shell: "echo tried >> tries; false"\n'
    )
    result = subprocess.run(
        snakemake_command(*words, snakefile=snakefile), cwd=tmp_path, env=environment(), capture_output=True, text=True
    )
    assert result.returncode != 0
    assert (tmp_path / "tries").read_text(encoding="utf-8").count("tried") == attempts, result.stderr
