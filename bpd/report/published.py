"""The published numbers, read from `published.yaml` beside this file."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

PAPER = "Stern et al. (2018)"


@cache
def published() -> dict[str, Any]:
    """Return all published numbers by table or figure."""
    return yaml.safe_load(files("bpd.report").joinpath("published.yaml").read_text(encoding="utf-8"))


def table1_cell(block_size: int, setting: str) -> tuple[float, float] | None:
    """Return published BLEU and mean accepted block size of Table 1, or none where the paper has a dash."""
    return _pair("table1", block_size, setting)


def approximate_cell(block_size: int, criterion: str) -> tuple[float, float] | None:
    """Return published BLEU and mean accepted block size of section 7.1, or none where the paper gives no numbers.

    For `exact`, that is Table 1's column "Both".
    """
    return _pair("table1", block_size, "both") if criterion == "exact" else _pair("approximate", block_size, criterion)


def missing_note(table: str, block_sizes: Iterable[int]) -> list[str]:
    """Return a line on the k for which the paper's `table` has numbers, but which are none of `block_sizes`."""
    missing = [str(block_size) for block_size in published()[table]["rows"] if block_size not in set(block_sizes)]
    return [f"The paper also has k = {', '.join(missing)}, which this scale does not run."] if missing else []


def _pair(table: str, block_size: int, column: str) -> tuple[float, float] | None:
    pair = published()[table]["rows"].get(block_size, {}).get(column)
    return None if pair is None else (pair[0], pair[1])
