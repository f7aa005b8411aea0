"""What the workflow recorded of each job: Snakemake's benchmark files, one JSON line each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bpd.errors import BpdError
from bpd.stored_json import parse_json, require_keys

_MEGABYTE = 1024 * 1024
# Snakemake rounds to a hundredth of a microsecond at most: no job takes no time at all.
_SHORTEST = 1e-6
_MOST = 1e12
_RESUMED = re.compile(r"resuming from step (\d+) of (\d+)")


@dataclass(frozen=True)
class JobRecord:
    """One job's last attempt: wall-clock seconds, CPU seconds and largest resident memory in bytes.

    The last two are none for a job that ended before it was looked at. CPU time and memory are those of the whole
    process tree, sampled twice a second at first and soon twice a minute: the end of a long job is missed.
    """

    seconds: float
    cpu_seconds: float | None
    peak_bytes: float | None


def read_job_record(path: Path) -> JobRecord | None:
    """Return the record in `path`, none where there is none; raise `BpdError` where it is damaged."""
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        return None
    try:
        values = require_keys(parse_json(content.splitlines()[-1]), ("s", "cpu_time", "max_rss"))
        seconds, cpu, memory = (values[name] for name in ("s", "cpu_time", "max_rss"))
        known = "NA" not in (cpu, memory)
        return JobRecord(
            _amount(seconds, _SHORTEST), _amount(cpu) if known else None, _MEGABYTE * _amount(memory) if known else None
        )
    except (ValueError, IndexError, TypeError, OverflowError) as error:
        raise BpdError(
            f"{path}: not a record of a job ({error}); delete it: the job then counts as without one"
        ) from None


def _amount(value: Any, least: float = 0.0) -> float:
    """Return a number that Snakemake wrote; raise `ValueError` unless it is one that a job can take."""
    number = float(value)
    if isinstance(value, bool) or not 0 <= number < _MOST:
        raise ValueError(f"{str(value)[:100]!r} is no amount")
    return max(number, least)


def earlier_share(log: Path, journal: Path) -> float:
    """Return how long a training's earlier attempts took for the steps that were kept, as a share of its last attempt.

    The last attempt's log says from which step it went on, and the journal how fast each step was, whoever took it.
    0 where it was not resumed, or where that cannot be told.
    """
    try:
        said = _RESUMED.findall(Path(log).read_text(encoding="utf-8", errors="replace"))
        lines = [parse_json(line) for line in Path(journal).read_bytes().splitlines()]
        steps = [line for line in lines if isinstance(line, dict) and line.get("event") == "step"]
        first = int(said[-1][0]) if said else None
        paces = [(line["step"], 1 / line["tokens_per_second"]) for line in steps]
        if not all(pace > 0 and type(step) is int for step, pace in paces):
            return 0.0
    except (OSError, ValueError, KeyError, TypeError, ArithmeticError):
        return 0.0
    if first is None:
        return 0.0
    last = sum(pace for step, pace in paces if step > first)
    return sum(pace for step, pace in paces if step <= first) / last if last else 0.0
