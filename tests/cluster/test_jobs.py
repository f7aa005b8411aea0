"""What jobs are given by a real Slurm, asked through the plugin with the real profile."""

import re

import pytest

from tests.cluster.driver import finish, start
from tests.cluster.profile import edited_profile
from tests.workflow.driver import ROOT

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("cluster")]

RULES = ROOT / "tests" / "cluster" / "Snakefile"


@pytest.mark.parametrize(
    ("cards", "lines"), [(2, ()), (1, ("gpu_model",)), (2, ("gres",))], ids=["plain", "model", "gres"]
)
def test_a_job_gets_its_cards_in_one_task_and_others_get_none(cards, lines, cluster, tmp_path):
    profile = edited_profile(tmp_path, "slurm-status-command", "slurm-no-account", *lines, cpus_per_gpu=3)
    config = profile / "config.yaml"
    # The model of the test cluster's cards.
    config.write_text(config.read_text(encoding="utf-8").replace("gpu_model=a100", "gpu_model=toy"), encoding="utf-8")
    said = finish(start("--config", f"cards={cards}", folder=tmp_path, profile=profile, snakefile=RULES))
    tasks, cores, given = (tmp_path / "train.txt").read_text(encoding="utf-8").split()
    assert (tasks, int(cores), len(given.split(","))) == ("1", 3 * cards, cards)
    assert (tmp_path / "prepare.txt").read_text(encoding="utf-8").split() == ["1", "1", "none"]
    assert len(re.findall("has been submitted with SLURM jobid", said)) == 3
