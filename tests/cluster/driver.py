"""Calling snakemake on the test cluster, and asking Slurm about its jobs."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from tests.cluster.profile import QUICK
from tests.workflow.driver import SNAKEFILE, environment, snakemake_command


def start(*words: object, folder: Path, profile: Path, snakefile: Path = SNAKEFILE) -> subprocess.Popen:
    """Start snakemake in `folder`, in a process group of its own, its words going to a pipe."""
    return subprocess.Popen(
        snakemake_command(*words, "--profile", profile, *QUICK, snakefile=snakefile),
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def finish(run: subprocess.Popen) -> str:
    """Wait for a run to end well and return what it said."""
    said, _ = run.communicate()
    assert run.returncode == 0, said
    return said


def jobs(folder: Path, state: str = "pending,running,completing") -> list[str]:
    """Return the numbers of the jobs in these states that were sent from `folder`, in the order they came."""
    command = ["squeue", "--noheader", "--format=%i %Z", f"--states={state}"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = dict(line.split(" ", 1) for line in said.splitlines())
    return sorted((number for number, place in found.items() if Path(place) == folder), key=int)


def wait_until_gone(folder: Path) -> None:
    """Wait until no job that was sent from `folder` is left."""
    for _ in range(600):
        if not jobs(folder):
            return
        time.sleep(0.2)
    raise AssertionError(f"jobs {jobs(folder)} of {folder} are still there after two minutes")
