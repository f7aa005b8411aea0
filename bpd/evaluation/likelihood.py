"""Likelihood records: p₁'s bits per intensity for each image, one JSON line an image."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from bpd.atomic import write_text
from bpd.errors import BpdError
from bpd.stored_json import parse_json


@dataclass(frozen=True)
class LikelihoodRecord:
    """p₁'s mean −log₂ p of an image's intensities, with its own low-resolution input and with another image's."""

    index: int
    name: str
    bits_per_dimension: float
    bits_per_dimension_other_input: float


def write_likelihoods(path: Path, records: Iterable[LikelihoodRecord]) -> None:
    """Write `records` as JSON lines, all or nothing."""
    lines = (json.dumps(asdict(record), ensure_ascii=False, allow_nan=False) + "\n" for record in records)
    write_text(path, "".join(lines))


def read_likelihoods(path: Path) -> list[LikelihoodRecord]:
    """Return the records in `path`; raise `BpdError` naming the first line that is not as it should be."""
    try:
        lines = Path(path).read_bytes().split(b"\n")
    except OSError as error:
        raise BpdError(f"{path}: cannot read the likelihoods: {error.strerror}; decode again") from None
    if lines.pop() != b"":
        raise BpdError(f"{path}: the last line has no end: the file is truncated; decode again")
    names = {field.name for field in fields(LikelihoodRecord)}
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            values = parse_json(line)
            if not isinstance(values, dict) or set(values) != names:
                raise ValueError(f"expected an object with {', '.join(sorted(names))}")
            record = LikelihoodRecord(**values)
            if record.index != number - 1 or isinstance(record.index, bool) or not isinstance(record.name, str):
                raise ValueError(f"index is {repr(record.index)[:100]} and name {repr(record.name)[:100]}")
            for bits in (record.bits_per_dimension, record.bits_per_dimension_other_input):
                if isinstance(bits, bool) or not isinstance(bits, int | float) or not 0 <= bits < math.inf:
                    raise ValueError(f"{repr(bits)[:100]} is no number of bits")
        except (ValueError, TypeError) as error:
            raise BpdError(f"{path}, line {number}: not a likelihood record ({error}); decode again") from None
        records.append(record)
    return records
