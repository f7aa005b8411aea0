"""A Slurm cluster for the tests of this folder that are marked so.

- `start`, `stop`: the cluster of one node, for `make test-cluster` and by hand; `slurm.conf.template` is its config.
- `profile.py`: the Slurm profile, edited as a person would. `driver.py`: runs on the cluster, and its jobs.
- `test_requests.py` needs no cluster: a stand-in, `recorder.py`, hears what is asked of Slurm.
- `test_jobs.py`: what a job is given, with the three rules of `Snakefile`.
- `test_recovery.py`: jobs and runs that are killed. `test_whole_run.py`: the whole workflow against a local run.
- `kills.py`: no test but a tool, for many kills at random moments.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.driver import jobs
from tests.cluster.profile import edited_profile


@pytest.fixture(scope="session")
def cluster() -> None:
    """Skip, unless the test cluster was started for the tests."""
    if os.environ.get("BPD_TEST_CLUSTER") != "1":
        pytest.skip("needs a Slurm cluster of its own: make test-cluster")


@pytest.fixture
def profile(cluster: None, tmp_path: Path) -> Iterator[Path]:
    """The Slurm profile for a cluster without accounting; no job outlives its test."""
    yield edited_profile(tmp_path, "slurm-status-command", "slurm-no-account", gpu_per_training=2)
    if left := jobs(tmp_path):
        subprocess.run(["scancel", *left], check=True)
