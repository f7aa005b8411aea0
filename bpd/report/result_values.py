"""Single values of the finished tables, ours or the published ones, looked up by cell."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from bpd.config.section import CRITERION
from bpd.errors import BpdError
from bpd.report.published import published
from bpd.report.table4 import BASE_SYSTEM, OURS
from bpd.report.table_files import require_written_together
from bpd.report.trace import accepted_sizes, read_trace

# A value's place: the table, the row's key and the column, such as ("table1", (4, "both"), "bleu").
Cell = tuple[str, tuple[Any, ...], str]

BLOCK = "mean_accepted_block_size"
_KEYS: dict[str, tuple[str, ...]] = {
    "table1": ("k", "setting"),
    "approximate": ("k", "criterion"),
    "table2": ("k", "setting"),
    "table3": ("k", "criterion"),
    "table4": ("k",),
    "figure4": ("task", "k", "protocol"),
}
# The columns that a row's key is read from.
_COLUMNS_OF_KEYS = _KEYS | {"table3": ("method_1",), "table4": ("system", "source", "k")}
_COLUMNS: dict[str, tuple[str, ...]] = {
    "table1": ("bleu", BLOCK),
    "approximate": ("bleu", BLOCK),
    "table2": (BLOCK,),
    "table3": ("preference_percent", "low", "high"),
    "table4": ("bleu", "speedup"),
    "figure4": (BLOCK, "speedup"),
}
# What only our tables have: beside a block size of images, the images' quality.
_OPTIONAL_COLUMNS = {"table2": ("psnr", "p1_lost_bits")}
_KNOWN: dict[str, dict[str, re.Pattern[str]]] = {
    "table1": {"setting": re.compile("base|regular|distillation|fine_tuning|both")},
    "approximate": {"criterion": re.compile(CRITERION)},
    "table2": {"setting": re.compile("base|regular|approximate|fine_tuning|both")},
    "table4": {"system": re.compile(r"Greedy, k = 1|Blockwise, k = \d+")},
    "figure4": {"task": re.compile("translation|super_resolution"), "protocol": re.compile("recompute|cached")},
}
_RANGES: dict[str, tuple[float, float]] = {
    # BLEU's own rounding puts a perfect score a little above 100.
    "bleu": (0.0, 100.0 + 1e-9),
    BLOCK: (1.0, math.inf),
    "preference_percent": (0.0, 100.0),
    "low": (0.0, 100.0),
    "high": (0.0, 100.0),
    "speedup": (0.0, math.inf),
    "psnr": (0.0, math.inf),
    # A head may gain bits too. No token takes more than 2^64 alternatives.
    "p1_lost_bits": (-64.0, 64.0),
}
TABLES = tuple(_KEYS)
_METHOD = re.compile(r"Fine tuning, (exact|approximate)(?: \(ε = \d+\))?, k = (\d+)")


class Values:
    """Values by cell, which remembers in `seen` the cells that were asked for, found or not."""

    def __init__(self, values: Mapping[Cell, float]) -> None:
        self._values = values
        self.seen: set[Cell] = set()

    def get(self, table: str, key: tuple[Any, ...], column: str) -> float | None:
        """Return a value, or none where it was not measured."""
        self.seen.add((table, key, column))
        return self._values.get((table, key, column))

    def again(self) -> Values:
        """Return the same values, none of them seen."""
        return Values(self._values)

    def block_sizes(self, table: str, task: str | None = None) -> list[int]:
        """Return the k above 1 of a table's rows that hold any value, smallest first; of `task` in Figure 4's."""
        place = _KEYS[table].index("k")
        found = {
            key[place]
            for name, key, _ in self._values
            if name == table and (task is None or key[0] == task) and isinstance(key[place], int)
        }
        return sorted(size for size in found if size > 1)


def measured_values(tables: Path, trace: Path) -> dict[Cell, float]:
    """Return our values from the CSV files in `tables` and the trace; cells that are blank have none.

    The trace counts only where it is of the paper's own sentence. Raises `BpdError` where a file is missing, or is not
    a table of the kind that its name says.
    """
    values: dict[Cell, float] = {}
    for table in TABLES:
        values |= _read(Path(tables) / f"{table}.csv", table)
    found = read_trace(trace)
    if found["source"] == published()["trace"]["sentence"]:
        values |= _trace_values(accepted_sizes(found))
    return values


def _trace_values(sizes: list[int]) -> dict[Cell, float]:
    steps: dict[Cell, float] = {("trace", (place,), "accepted"): size for place, size in enumerate(sizes, start=1)}
    return steps | {("trace", (), "steps"): len(sizes)}


def _read(path: Path, table: str) -> dict[Cell, float]:
    import pandas

    wanted = [*_COLUMNS_OF_KEYS[table], *_COLUMNS[table]]
    try:
        content = path.read_bytes()
        with warnings.catch_warnings(action="error", category=pandas.errors.ParserWarning):
            frame = pandas.read_csv(BytesIO(content), dtype=str, keep_default_na=False, index_col=False)
    except OSError as error:
        raise BpdError(f"{path}: cannot read the table: {error.strerror}; run `bpd tables` again") from None
    except (ValueError, pandas.errors.ParserWarning):
        raise BpdError(f"{path}: not a table of comma-separated values; run `bpd tables` again") from None
    if not content.endswith(b"\n"):
        raise BpdError(f"{path}: the last line has no end: the file is truncated; run `bpd tables` again")
    require_written_together(path)
    missing = [name for name in wanted if name not in frame.columns]
    if missing:
        raise BpdError(f"{path}: the table lacks the columns {', '.join(missing)}; run `bpd tables` again")
    values: dict[Cell, float] = {}
    lines: dict[tuple[Any, ...], int] = {}
    for number, row in enumerate(frame.to_dict("records"), start=2):
        try:
            if not all(isinstance(value, str) for value in row.values()):
                raise ValueError(f"fewer than {len(row)} fields")
            if table == "table4" and row["source"] != OURS:
                continue
            key = _key(table, row)
            if key in lines:
                raise ValueError(f"{_told(key)} stands in line {lines[key]} already")
            lines[key] = number
            for column in (*_COLUMNS[table], *_OPTIONAL_COLUMNS.get(table, ())):
                if row.get(column, "") != "":
                    values[table, key, column] = _number(row[column], column, key)
        except ValueError as fault:
            raise BpdError(f"{path}, line {number}: {fault}; run `bpd tables` again") from None
    return values


def _key(table: str, row: Mapping[str, str]) -> tuple[Any, ...]:
    if table == "table3":
        match = _METHOD.fullmatch(row["method_1"])
        if match is None:
            raise ValueError(f"unknown method {row['method_1'][:100]!r}")
        return (_block_size(match.group(2)), match.group(1))
    if table == "table4" and row["system"] == BASE_SYSTEM:
        return ("base",)
    for name, known in _KNOWN[table].items():
        if not known.fullmatch(row[name]):
            raise ValueError(f"unknown {name} {row[name][:100]!r}")
    return tuple(_block_size(row[name]) if name == "k" else row[name] for name in _KEYS[table])


def _block_size(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,3}", text):
        raise ValueError(f"k is {text[:100]!r}, which is no block size")
    return int(text)


def _number(text: str, column: str, key: tuple[Any, ...]) -> float:
    """Return the number in a cell; raise `ValueError` unless it is one that `column` can hold."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    least, most = _RANGES[column]
    if column == BLOCK:
        # The mean of blocks of at most k tokens, up to its rounding.
        most = next((part for part in key if isinstance(part, int)), most) + 1e-9
    if not (math.isfinite(number) and least <= number <= most):
        bounds = f"of at least {least:g}" if math.isinf(most) else f"from {least:g} to {most:g}"
        raise ValueError(f"{column} of {_told(key)} is {text[:100]!r}, not a number {bounds}")
    return number


def _told(key: tuple[Any, ...]) -> str:
    return ", ".join(f"k = {part}" if isinstance(part, int) else str(part) for part in key)


def published_values() -> dict[Cell, float]:
    """Return the paper's own numbers, cell by cell, as a scorecard reads ours."""
    paper = published()
    values: dict[Cell, float] = {("table1", (1, "base"), "bleu"): paper["table1"]["baseline_bleu"]}
    for table in ("table1", "approximate"):
        for key, (bleu, block) in _rows(paper[table]["rows"]):
            values[table, key, "bleu"], values[table, key, "mean_accepted_block_size"] = bleu, block
    for (k, column), (bleu, block) in _rows(paper["table1"]["rows"]):
        if column == "both":
            key = (k, "exact")
            values["approximate", key, "bleu"], values["approximate", key, "mean_accepted_block_size"] = bleu, block
    for key, block in _rows(paper["table2"]["rows"]):
        values["table2", key, "mean_accepted_block_size"] = block
    for criterion, row in paper["table3"]["rows"].items():
        for k, numbers in row.items():
            for column, number in zip(_COLUMNS["table3"], numbers):
                values["table3", (k, criterion), column] = number
    for k, (bleu, speedup) in paper["table4"]["ours"].items():
        values["table4", (k,), "bleu"], values["table4", (k,), "speedup"] = bleu, speedup
        block = values.get(("table1", (k, "both"), "mean_accepted_block_size"))
        if block is not None:
            values["figure4", ("translation", k, "recompute"), "speedup"] = speedup
            values["figure4", ("translation", k, "recompute"), "mean_accepted_block_size"] = block
    peak = paper["figure4"]["super_resolution"]
    key = ("super_resolution", peak["k"], "recompute")
    values["figure4", key, "speedup"] = peak["speedup"]
    values["figure4", key, "mean_accepted_block_size"] = peak["mean_accepted_block_size"]
    return values | _trace_values(paper["trace"]["accepted"])


def _rows(rows: Mapping[int, Mapping[str, Any]]) -> Iterable[tuple[tuple[int, str], Any]]:
    for k, columns in rows.items():
        for column, numbers in columns.items():
            yield (k, column), numbers
