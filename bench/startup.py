"""How long a `bpd` command takes to start, and how much of each rule's time goes into importing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.arms import measure

MOST_SECONDS_OF_HELP = 0.5
MOST_SHARE_OF_IMPORTS = 0.5
# What each stage imports before it does anything: the module behind its command.
IMPORTS = {
    "train": "bpd.commands.train",
    "decode": "bpd.commands.decode",
    "time": "bpd.commands.time",
    "distill": "bpd.commands.distill",
    "score": "bpd.evaluation.score",
    "trace": "bpd.commands.trace",
    "tables": "bpd.commands.report",
    "figures": "bpd.commands.report",
    "scorecard": "bpd.commands.scorecard",
    "prepare": "bpd.data.prepare",
}


def startup(quick: bool) -> list[dict[str, Any]]:
    """Measure fresh processes: two kinds of help, and the imports of each kind of rule; a row for each."""
    python = [sys.executable, "-m", "bpd.cli"]
    arms = {"bpd --help": [*python, "--help"], "bpd train --help": [*python, "train", "--help"]}
    arms |= {f"import {name}": [sys.executable, "-c", f"import {module}"] for name, module in IMPORTS.items()}
    measured = measure({name: _runs(command) for name, command in arms.items()}, rounds=2 if quick else 5)
    return [
        {
            "command": name,
            "seconds": one.as_json(),
            "median_target": MOST_SECONDS_OF_HELP if name == "bpd --help" else None,
        }
        for name, one in measured.items()
    ]


def _runs(command: list[str]) -> Any:
    return lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def rule_times(results: Path, imports: dict[str, float]) -> list[dict[str, Any]]:
    """Return the time of each rule of a finished run in `results`, and the share of it that is importing.

    `imports` holds seconds by the kinds of IMPORTS. Times are the records that the jobs left, slowest first.
    """
    rows = []
    for path in sorted((results / "benchmarks").glob("*.jsonl")):
        seconds = float(json.loads(path.read_text(encoding="utf-8").splitlines()[-1])["s"])
        kind = path.stem.split("_")[0]
        rows.append(
            {
                "rule": path.stem,
                "seconds": seconds,
                "share_of_imports": imports[kind] / seconds if kind in imports and seconds else None,
                "share_of_imports_target": MOST_SHARE_OF_IMPORTS,
            }
        )
    return sorted(rows, key=lambda row: -row["seconds"])
