"""What the workflow recorded of each job: Snakemake's benchmark files, one JSON line each."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from bpd.errors import BpdError

_MEGABYTE = 1024 * 1024
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
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    try:
        values = json.loads(text.splitlines()[-1])
        seconds, cpu, memory = (values[name] for name in ("s", "cpu_time", "max_rss"))
        known = "NA" not in (cpu, memory)
        return JobRecord(float(seconds), float(cpu) if known else None, _MEGABYTE * float(memory) if known else None)
    except (ValueError, IndexError, KeyError, TypeError) as error:
        raise BpdError(
            f"{path}: not a record of a job ({error}); delete it: the job then counts as without one"
        ) from None


def earlier_share(log: Path, journal: Path) -> float:
    """Return how long a training's earlier attempts took for the steps that were kept, as a share of its last attempt.

    The last attempt's log says from which step it went on, and the journal how fast each step was, whoever took it.
    0 where it was not resumed, or where that cannot be told.
    """
    try:
        said = _RESUMED.findall(Path(log).read_text(encoding="utf-8", errors="replace"))
        lines = [json.loads(line) for line in Path(journal).read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError):
        return 0.0
    if not said:
        return 0.0
    first = int(said[-1][0])
    paces = [(line["step"], 1 / line["tokens_per_second"]) for line in lines if line.get("event") == "step"]
    last = sum(pace for step, pace in paces if step > first)
    return sum(pace for step, pace in paces if step <= first) / last if last else 0.0
