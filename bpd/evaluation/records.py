"""Decode records: one JSON line per input, from which every published figure is recomputed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from bpd.atomic import write_text
from bpd.errors import BpdError
from bpd.stored_json import parse_json

STOPS = ("end", "length", "empty")


@dataclass(frozen=True)
class DecodeRecord:
    """What decoding one input gave.

    `token_ids` include the end symbol where `stop` is `end`; `block_sizes` are the tokens accepted at each of the
    `iterations`; `calls` are model calls; `seconds` is the input's share of its batch's wall-clock time. A blank
    input has the stop `empty` and nothing else. For an image `text` is its name, and the tokens are its intensities.
    """

    index: int
    token_ids: list[int]
    block_sizes: list[int]
    iterations: int
    calls: int
    stop: str
    seconds: float
    text: str


_TOKENS = 2**31
_SECONDS = 1e9
_TYPES = {
    "index": int,
    "token_ids": list,
    "block_sizes": list,
    "iterations": int,
    "calls": int,
    "stop": str,
    "seconds": (int, float),
    "text": str,
}


def write_records(path: Path, records: Iterable[DecodeRecord]) -> None:
    """Write `records` as JSON lines, all or nothing."""
    write_text(path, "".join(json.dumps(asdict(record), ensure_ascii=False) + "\n" for record in records))


def read_records(path: Path) -> list[DecodeRecord]:
    """Return the records in `path`; raise `BpdError` naming the first line that is not as it should be."""
    try:
        lines = Path(path).read_bytes().split(b"\n")
    except OSError as error:
        raise BpdError(f"{path}: cannot read the decode records: {error.strerror}; decode again") from None
    if lines.pop() != b"":
        raise BpdError(f"{path}: the last line has no end: the file is truncated; decode again")
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            records.append(_record(parse_json(line), number - 1))
        except (ValueError, TypeError) as error:
            raise BpdError(f"{path}, line {number}: not a decode record ({error}); decode again") from None
    return records


def _record(values: Any, index: int) -> DecodeRecord:
    names = [field.name for field in fields(DecodeRecord)]
    if not isinstance(values, dict) or sorted(values) != sorted(names):
        raise ValueError(f"expected an object with {', '.join(names)}")
    for name, kind in _TYPES.items():
        if not isinstance(values[name], kind) or isinstance(values[name], bool):
            raise ValueError(f"{name} is {repr(values[name])[:100]}")
    record = DecodeRecord(**values)
    if not all(type(value) is int for value in record.token_ids + record.block_sizes):
        raise ValueError("token_ids and block_sizes must hold whole numbers")
    if not all(-_TOKENS < token < _TOKENS for token in record.token_ids):
        raise ValueError(f"token_ids must lie below {_TOKENS}")
    if not (record.iterations >= 0 and 0 <= record.calls < _TOKENS and 0 <= record.seconds < _SECONDS):
        raise ValueError(f"iterations, calls and seconds are {record.iterations}, {record.calls}, {record.seconds}")
    if record.index != index:
        raise ValueError(f"index is {record.index}, expected {index}")
    if record.stop not in STOPS:
        raise ValueError(f"stop is {record.stop[:100]!r}, expected one of {', '.join(STOPS)}")
    if record.stop == "empty" and record.token_ids:
        raise ValueError(f"stop is empty, but {len(record.token_ids)} tokens were accepted")
    if len(record.block_sizes) != record.iterations or any(size < 1 for size in record.block_sizes):
        raise ValueError(f"{record.iterations} iterations do not match {len(record.block_sizes)} block sizes")
    if sum(record.block_sizes) != len(record.token_ids):
        raise ValueError(f"{len(record.token_ids)} tokens do not match blocks of {sum(record.block_sizes)}")
    return record
