"""The linters that `make lint` runs."""

import subprocess
import sys

import pytest

from tests.workflow.driver import ROOT, environment


@pytest.mark.parametrize(
    "words",
    [
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
        ["snakefmt", "--check", "workflow"],
        ["snakemake", "--lint"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_the_linter_is_content(words):
    result = subprocess.run([sys.executable, "-m", *words], cwd=ROOT, env=environment(), capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
