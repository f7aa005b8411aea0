"""Calling `bpd` as a person does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.workflow.driver import ROOT


def bpd_command(*words: object) -> list[str]:
    return [sys.executable, "-m", "bpd.cli", *map(str, words)]


def environment(**variables: object) -> dict[str, str]:
    given = {name: str(value) for name, value in variables.items()}
    return os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "NO_COLOR": "1", "BPD_DEVICE": "cpu"} | given


def bpd(*words: object, folder: Path | None = None, **variables: object) -> subprocess.CompletedProcess:
    """Run a command to its end and return what it said."""
    return subprocess.run(
        bpd_command(*words),
        cwd=folder,
        env=environment(**variables),
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


def start_bpd(*words: object, folder: Path | None = None) -> subprocess.Popen:
    """Start a command whose words, of both streams, go to a pipe."""
    return subprocess.Popen(
        bpd_command(*words),
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )


def refused(result: subprocess.CompletedProcess, *parts: object) -> None:
    """Require that a command ended with a message of its own that holds all of `parts`."""
    assert result.returncode == 1, result.stdout + result.stderr
    assert "Traceback" not in result.stderr and "bpd: " in result.stderr, result.stderr
    for part in parts:
        assert str(part) in result.stderr, result.stderr
