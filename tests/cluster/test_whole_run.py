"""The whole workflow on a cluster: the same tables as on this machine, job by job through Slurm."""

import re

import pytest
import yaml

from tests.cluster.driver import finish, start
from tests.workflow.conftest import tiny_config
from tests.workflow.driver import planned_jobs, snakemake

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("cluster")]

# Times are no one's twice, so that what is made of them is left out.
TABLES = ("table1.csv", "approximate.csv", "table2.csv", "table3.csv", "trace.md")


def test_the_tables_are_those_of_a_local_run(profile, tmp_path):
    values = tiny_config()
    values["translation"]["heads"]["settings"] = ["both"]
    values["super_resolution"]["heads"]["settings"] = ["regular"]
    made = {}
    for place in ("here", "cluster"):
        folder = tmp_path / place
        folder.mkdir()
        (folder / "tiny.yaml").write_text(yaml.safe_dump(values))
    words = ("--configfile", "tiny.yaml")
    planned = sum(planned_jobs(snakemake(*words, "--dry-run", folder=tmp_path / "cluster")).values())
    said = finish(start(*words, folder=tmp_path / "cluster", profile=profile))
    assert len(re.findall("has been submitted with SLURM jobid", said)) == planned
    local = snakemake(*words, folder=tmp_path / "here")
    assert local.returncode == 0, local.stdout + local.stderr
    for place in ("here", "cluster"):
        tables = tmp_path / place / "results" / "tiny" / "tables"
        made[place] = {name: (tables / name).read_text(encoding="utf-8") for name in TABLES}
    assert made["cluster"] == made["here"]
    again = snakemake(*words, "--profile", profile, "--dry-run", folder=tmp_path / "cluster")
    assert planned_jobs(again) == {}
