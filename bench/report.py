"""What a run of the suite wrote, as Markdown: for the terminal, and for the page of the results that are kept.

    python -m bench.report

writes bench/results/README.md anew from the JSON files beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.models import ROOT
from bpd.atomic import write_text

SCHEMA = 1
TITLES = ("measured", "median", "least", "largest", "limit", "target", "verdict")
FOLDER = ROOT / "bench" / "results"
_OPENING = """# Measured speed and memory

Each section is one run of `make bench`, written by `python -m bench.report` from the JSON file that it names. Ratios of
two arms are medians over turns that the arms took in one process, with the least and the largest; how each is measured
stands in the file `bench/<part>.py`. A limit is what the ratio could be at best there. Missed targets are said to be.
"""


def read_report(path: Path) -> dict[str, Any]:
    """Return what a run of the suite wrote; raise `ValueError` where it is of another schema."""
    report = json.loads(path.read_text(encoding="utf-8"))
    if report.get("schema") != SCHEMA:
        raise ValueError(f"{path}: schema {report.get('schema')}, expected {SCHEMA}")
    return report


def part_table(part: str, found: dict[str, Any]) -> str:
    """Return what one part found as a Markdown table, followed by what was skipped and how it failed."""
    rows = [TITLES]
    for one in found["ratios"]:
        numbers = [_shown(one[name]) for name in ("value", "low", "high", "limit")]
        rows.append((one["name"], *numbers, target_of(one), one["verdict"] or ""))
    widths = [max(map(len, column)) for column in zip(*rows)]
    # Names to the left, numbers to the right.
    lines = ["| " + " | ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) + " |" for row in rows]
    lines.insert(1, "| " + " | ".join(["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]) + " |")
    notes = [f"- skipped: {line}" for line in found["skipped"]]
    notes += [] if found["failure"] is None else [f"- failed: {found['failure']}"]
    blocks = [[f"**{part}**, {found['seconds']:.0f} s"], lines if found["ratios"] else [], notes]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def page(reports: Iterable[Path]) -> str:
    """Return the page of all `reports`, the newest first."""
    read = sorted(((read_report(path), path.name) for path in reports), key=lambda one: one[0]["started"], reverse=True)
    return "\n".join([_OPENING, *(_section(report, name) for report, name in read)])


def _section(report: dict[str, Any], name: str) -> str:
    about = report["environment"]
    versions = {name: version for name, version in (about["versions"] | about["peers"]).items() if version}
    changed = ", changed" if about["dirty"] else ""
    threads = f"{about['threads']} thread{'s' * (about['threads'] != 1)}"
    machine = (
        f"{about['processor']}, {about['cores']} logical cores, {about['cpu_capability']}, {about['memory_gib']} GiB"
    )
    told = [
        f"## {report['started'][:10]}, {about['device']}\n",
        f"[{name}]({name}): commit {about['commit'][:12]}{changed}; {machine}; {threads}, {about['precision']}; load "
        f"before it {about['load']}. {', '.join(f'{name} {version}' for name, version in versions.items())}.\n",
    ]
    return "\n".join([*told, *(part_table(part, found) for part, found in report["parts"].items())])


def target_of(ratio: dict[str, Any]) -> str:
    """Return a ratio's target in words, empty without one."""
    bounds = [f"≥ {ratio['at_least']:g}"] if ratio["at_least"] is not None else []
    bounds += [f"≤ {ratio['at_most']:g}"] if ratio["at_most"] is not None else []
    return " and ".join(bounds)


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def kept(folder: Path = FOLDER) -> list[Path]:
    """Return the reports of a folder that are kept: all but the last run's own."""
    return sorted(path for path in folder.glob("*.json") if path.name != "latest.json")


if __name__ == "__main__":
    write_text(FOLDER / "README.md", page(kept()))
