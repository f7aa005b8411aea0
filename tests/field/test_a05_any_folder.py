"""A05: works only from the right folder, breaks on slow shared disks, stays locked after a kill.

Kind: hidden dependence on the working folder, disk latency and a clean shutdown. Which config a call from anywhere
means is in tests/workflow/test_plans.py, unlocking after a killed training in tests/workflow/test_interruption.py.
Further cases: folders with spaces and quotes in their names, for the checkout and for the run, and a profile folder
that has no profile in it.
"""

import os
import shutil
import signal
import subprocess
import time

import pytest
import yaml

from tests.field.tiny_training import config_with
from tests.workflow.driver import ROOT, SNAKEFILE, environment, planned_jobs, snakemake, snakemake_command

PROFILE = ROOT / "workflow" / "profiles" / "slurm"
REPORT = "results/tiny/data/translation/report.json"


def test_a05_an_empty_folder_plans_the_jobs_that_the_repository_root_plans(tmp_path):
    words = ["--dry-run", "--forceall", "--config", "scale=smoke", "--profile"]
    at_the_root = planned_jobs(snakemake(*words, "slurm", folder=ROOT, snakefile=None))
    elsewhere = planned_jobs(snakemake(*words, PROFILE, folder=tmp_path))
    assert at_the_root == elsewhere and len(elsewhere) > 30


@pytest.mark.parametrize("name", ["slurn", "workflow/profiles"])
def test_a05_a_profile_that_is_none_is_refused_by_name(name):
    result = snakemake("--dry-run", "--profile", name, folder=ROOT)
    said = result.stdout + result.stderr
    assert result.returncode != 0 and name in said and "Job stats" not in said


def test_a05_the_cluster_profile_waits_a_minute_or_more_for_files():
    assert yaml.safe_load((PROFILE / "config.yaml").read_text(encoding="utf-8"))["latency-wait"] >= 60


def test_a05_after_a_kill_unlocking_as_documented_is_enough_in_a_folder_of_any_name(tmp_path):
    """The checkout and the run lie in folders that a careless shell line would take for several words."""
    clone, folder = tmp_path / "the 'check' out", tmp_path / 'my "first" run & more'
    for name in ("bpd", "workflow", "config"):
        shutil.copytree(ROOT / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(ROOT / "environment.yml", clone / "environment.yml")
    folder.mkdir()
    snakefile = clone / "workflow" / "Snakefile"
    (folder / "tiny.yaml").write_text(yaml.safe_dump(config_with()))
    words = [REPORT, "--configfile", "tiny.yaml"]
    run = subprocess.Popen(
        snakemake_command(*words, snakefile=snakefile),
        cwd=folder,
        env=environment(clone),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    while not list(folder.glob(".snakemake/locks/*")):
        assert run.poll() is None, run.stdout.read()
        time.sleep(0.01)
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate()
    locked = snakemake(*words, folder=folder, snakefile=snakefile, clone=clone)
    assert locked.returncode != 0 and "--unlock" in locked.stdout + locked.stderr
    unlocked = snakemake("--configfile", "tiny.yaml", "--unlock", folder=folder, snakefile=snakefile, clone=clone)
    assert unlocked.returncode == 0, unlocked.stdout + unlocked.stderr
    again = snakemake(*words, folder=folder, snakefile=snakefile, clone=clone)
    assert again.returncode == 0 and (folder / REPORT).exists(), again.stdout + again.stderr


def test_a05_the_unlock_command_is_where_one_looks_for_it():
    for path in (SNAKEFILE, ROOT / "README.md"):
        assert "snakemake --unlock" in path.read_text(encoding="utf-8"), path
