"""Calling snakemake as a person does, and reading what it plans."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SNAKEFILE = ROOT / "workflow" / "Snakefile"


def snakemake_command(*words: object, snakefile: Path | None = None) -> list[str]:
    chosen = [] if snakefile is None else ["--snakefile", str(snakefile)]
    return [sys.executable, "-m", "snakemake", *chosen, "--cores", "2", *map(str, words)]


def environment(clone: Path = ROOT) -> dict[str, str]:
    """Return the environment of a run of the checkout `clone`."""
    return os.environ | {"PYTHONPATH": str(clone), "OMP_NUM_THREADS": "1"}


def snakemake(
    *words: object, folder: Path, snakefile: Path | None = SNAKEFILE, clone: Path = ROOT
) -> subprocess.CompletedProcess:
    """Run snakemake in `folder` and return what it said."""
    command = snakemake_command(*words, snakefile=snakefile)
    return subprocess.run(command, cwd=folder, env=environment(clone), capture_output=True, text=True)


def planned_jobs(result: subprocess.CompletedProcess) -> dict[str, int]:
    """Return the number of jobs by rule of a dry run, `all` left out."""
    said = result.stdout + result.stderr
    assert result.returncode == 0, said
    if "Nothing to be done" in said:
        return {}
    table = said[said.index("Job stats:") :]
    table = table[: table.index("total")]
    counts = {name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", table, flags=re.MULTILINE)}
    assert counts, said
    counts.pop("all", None)
    return counts
