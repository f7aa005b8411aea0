"""Timings as JSON lines: one line for each arm, batch and repeat."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from bpd.atomic import write_text
from bpd.errors import BpdError
from bpd.stored_json import parse_json

_MOST = 2**53
PROTOCOLS = ("recompute", "cached", "batches")
ARMS = ("greedy", "blockwise")
# What the time of an iteration is divided into.
PARTS = ("encode", "model_call", "cache", "verify", "predict", "host")


@dataclass(frozen=True)
class TimeRecord:
    """The wall-clock seconds of one arm for one batch in one repeat, and what it decoded.

    `protocol` says whether the whole prefix runs through the model at every step (`recompute`, the original code's) or
    each token once (`cached`, and `batches`, which compares batch sizes on inputs of its own). `batch` counts the
    batches of `batch_rows` inputs.
    """

    protocol: str
    batch_rows: int
    repeat: int
    batch: int
    arm: str
    tokens: int
    iterations: int
    calls: int
    seconds: float


def write_time_records(path: Path, records: Iterable[TimeRecord]) -> None:
    """Write `records` as JSON lines, all or nothing."""
    write_text(path, "".join(json.dumps(asdict(record)) + "\n" for record in records))


def read_time_records(path: Path) -> list[TimeRecord]:
    """Return the records in `path`; raise `BpdError` naming the first line that is not as it should be."""
    try:
        lines = Path(path).read_bytes().split(b"\n")
    except OSError as error:
        raise BpdError(f"{path}: cannot read the timings: {error.strerror}; run `bpd time` again") from None
    if lines.pop() != b"":
        raise BpdError(f"{path}: the last line has no end: the file is truncated; run `bpd time` again")
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            values = parse_json(line, finite=False)
        except ValueError:
            raise BpdError(f"{path}, line {number}: not a timing (no line of JSON); run `bpd time` again") from None
        try:
            records.append(_record(values))
        except ValueError as fault:
            raise BpdError(f"{path}, line {number}: not a timing ({fault}); run `bpd time` again") from None
    return records


def require_complete(path: Path, records: Sequence[TimeRecord], timing: Mapping[str, Any]) -> None:
    """Raise `BpdError` unless `records`, read from `path`, are exactly those of `timing`, as `bpd time` recorded it.

    `timing` has the number of `repeats` and, for each protocol, that of `inputs`; for batches also their `sizes`.
    """
    planned = set(_planned(path, timing))
    found = [(one.protocol, one.batch_rows, one.repeat, one.batch, one.arm) for one in records]
    missing = planned.difference(found)
    if missing:
        raise BpdError(
            f"{path}: incomplete: {len(planned) - len(missing)} of {len(planned)} timings; run `bpd time` again"
        )
    if len(found) > len(planned):
        raise BpdError(
            f"{path}: {len(found)} timings where {path.stem}.meta.json tells of {len(planned)}; run `bpd time` again"
        )


def _planned(path: Path, timing: Mapping[str, Any]) -> Iterator[tuple[str, int, int, int, str]]:
    for protocol in PROTOCOLS:
        inputs = timing[protocol]["inputs"]
        if inputs is None:
            raise BpdError(f"{path}: nothing says how many inputs were timed ({protocol}); run `bpd time` again")
        for batch_rows in timing[protocol].get("sizes", [1]):
            for repeat in range(timing["repeats"]):
                for batch in range(math.ceil(inputs / batch_rows)):
                    for arm in ARMS:
                        yield protocol, batch_rows, repeat, batch, arm


def _record(values: Any) -> TimeRecord:
    names = [field.name for field in fields(TimeRecord)]
    if not isinstance(values, dict) or sorted(values) != sorted(names):
        raise ValueError(f"expected an object with {', '.join(names)}")
    record = TimeRecord(**values)
    if record.protocol not in PROTOCOLS or record.arm not in ARMS:
        raise ValueError(f"protocol {str(record.protocol)[:100]!r}, arm {str(record.arm)[:100]!r}")
    least = {"batch_rows": 1, "repeat": 0, "batch": 0, "tokens": 1, "iterations": 1, "calls": 1}
    for name, lowest in least.items():
        value = getattr(record, name)
        if type(value) is not int or not lowest <= value < _MOST:
            raise ValueError(f"{name} is {repr(value)[:100]}")
    well = isinstance(record.seconds, int | float) and not isinstance(record.seconds, bool)
    if not (well and 1e-9 <= record.seconds < _MOST):
        raise ValueError(f"seconds is {repr(record.seconds)[:100]}")
    return record
