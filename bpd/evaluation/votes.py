"""Votes of the preference study: CSV files from any number of raters, read strictly and merged."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from bpd.errors import BpdError
from bpd.evaluation.survey import SIDES, Study

HEADER = ("survey_id", "rater", "pair", "choice", "milliseconds", "time")
_LONGEST_NAME = 80


@dataclass(frozen=True)
class Vote:
    """One answer: `rater` saw `pair`, and chose the image on the side `choice`."""

    rater: str
    pair: str
    choice: str


@dataclass
class Votes:
    """All votes once each, in no particular order; `faults` are the lines left out, `repeated_lines` the copies."""

    votes: list[Vote] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    repeated_lines: int = 0


def read_votes(paths: Sequence[Path], study: Study) -> Votes:
    """Read and merge the files `paths`; a line that is malformed or of another study is told in `faults`.

    The same line twice, as when a file is handed in again, counts once. Two answers of one rater to one pair that
    differ are a fault: the later one is left out.
    """
    merged = Votes()
    known: dict[tuple[str, str], str] = {}
    counted: set[tuple[str, str]] = set()
    pairs = {pair.pair for pair in study.pairs}
    for path in paths:
        for number, row in _rows(path, merged.faults):
            problem = _problem(row, study.survey_id, pairs)
            if problem is None:
                rater, pair, choice = row[1:4]
                before = known.setdefault((rater, pair), choice)
                if before != choice:
                    problem = f"{rater} chose {before} for {pair} elsewhere, and {choice} here"
            if problem is not None:
                merged.faults.append(f"{path}, line {number}: {problem}")
            elif (rater, pair) in counted:
                merged.repeated_lines += 1
            else:
                counted.add((rater, pair))
                merged.votes.append(Vote(rater, pair, choice))
    return merged


def _rows(path: Path, faults: list[str]) -> list[tuple[int, list[str]]]:
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise BpdError(f"{path}: cannot read the votes: {error.strerror}") from None
    except UnicodeDecodeError:
        faults.append(f"{path}: not a text file in UTF-8")
        return []
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[tuple[int, list[str]]] = []
    try:
        for row in reader:
            if row:
                rows.append((reader.line_num, row))
    except csv.Error as error:
        faults.append(f"{path}, line {reader.line_num}: no CSV ({error})")
    if not rows or tuple(rows[0][1]) != HEADER:
        faults.append(f"{path}, line 1: expected the header {','.join(HEADER)}")
        return []
    return rows[1:]


def _problem(row: list[str], survey_id: str, pairs: set[str]) -> str | None:
    """Return what is wrong with a line of votes, or none."""
    if len(row) != len(HEADER):
        return f"{len(row)} fields instead of {len(HEADER)}"
    found_id, rater, pair, choice, milliseconds, time = row
    if found_id != survey_id:
        return f"a vote of survey {found_id!r}, but this is {survey_id}"
    if not rater.strip() or len(rater) > _LONGEST_NAME or not rater.isprintable():
        return f"{rater!r} is no name of a rater"
    if pair not in pairs:
        return f"the survey has no pair {pair!r}"
    if choice not in SIDES:
        return f"the choice is {choice!r}, not left or right"
    if not (milliseconds.isascii() and milliseconds.isdigit() and len(milliseconds) < 16):
        return f"{milliseconds!r} is no number of milliseconds"
    try:
        datetime.fromisoformat(time)
    except ValueError:
        return f"{time!r} is no time"
    return None
