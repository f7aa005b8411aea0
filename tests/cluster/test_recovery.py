"""Kills on a cluster: a cancelled job, a job over its time, and a run whose driver is gone; each goes on."""

import os
import signal
import subprocess
import time

import psutil
import pytest

from tests.cluster.driver import finish, jobs, start, wait_until_gone
from tests.workflow.driver import SNAKEFILE, snakemake
from tests.workflow.test_interruption import TARGET, resumed_step, wait_for_checkpoint, write_config

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("cluster")]


@pytest.fixture
def words(tmp_path) -> list[str]:
    write_config(tmp_path)
    return [TARGET, "--configfile", "tiny.yaml"]


def test_a_cancelled_training_is_sent_again_and_goes_on(words, profile, tmp_path):
    run = start(*words, folder=tmp_path, profile=profile)
    wait_for_checkpoint(tmp_path, run)
    cancelled = jobs(tmp_path, "running")
    subprocess.run(["scancel", *cancelled], check=True)
    said = finish(run)
    assert "SLURM status is: 'CANCELLED'" in said and len(cancelled) == 1
    assert resumed_step(tmp_path) >= 20 and (tmp_path / TARGET).exists()


def test_a_training_over_its_time_limit_is_sent_again_and_goes_on(words, profile, tmp_path):
    limit = "train_base:runtime=1 if attempt == 1 else 60"
    run = start(*words, "--set-resources", limit, folder=tmp_path, profile=profile)
    wait_for_checkpoint(tmp_path, run)
    # However fast the machine, it is not done within its minute.
    for process in psutil.process_iter(["cmdline", "cwd"]):
        if process.info["cwd"] == str(tmp_path) and {"train", "--work"} <= set(process.info["cmdline"] or ()):
            process.send_signal(signal.SIGSTOP)
    assert "SLURM status is: 'TIMEOUT'" in finish(run)
    assert resumed_step(tmp_path) >= 20 and (tmp_path / TARGET).exists()


def test_a_run_whose_driver_was_killed_goes_on_once_its_jobs_are_cancelled(words, profile, tmp_path):
    run = start(*words, folder=tmp_path, profile=profile)
    wait_for_checkpoint(tmp_path, run)
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate()
    orphans = jobs(tmp_path)
    time.sleep(1)
    assert orphans and jobs(tmp_path) == orphans, "its jobs run on without a driver"
    subprocess.run(["scancel", *orphans], check=True)
    wait_until_gone(tmp_path)
    assert not (tmp_path / TARGET).exists()
    unlocked = snakemake("--configfile", "tiny.yaml", "--unlock", folder=tmp_path, snakefile=SNAKEFILE)
    assert unlocked.returncode == 0, unlocked.stdout + unlocked.stderr
    finish(start(*words, folder=tmp_path, profile=profile))
    assert resumed_step(tmp_path) >= 20 and (tmp_path / TARGET).exists()
