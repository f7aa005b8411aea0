"""JSON that another program or a person may have changed: read whole, or refused for a reason that can be told."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DEEPEST = 50
_LONE_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def parse_json(text: str | bytes, *, finite: bool = True) -> Any:
    """Return the value that `text` holds, UTF-8 if it is bytes.

    Raises `ValueError` for all that is not JSON, and for what cannot be handled further: nesting deeper than 50, text
    that is not Unicode, and, where `finite`, numbers that are not finite.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    hooks = {"parse_constant": _refused, "parse_float": _finite} if finite else {}
    try:
        value = json.loads(text, **hooks)
    except RecursionError:
        raise ValueError(_too_deep()) from None
    if text.count("[") + text.count("{") > DEEPEST and _deeper_than(value, DEEPEST):
        raise ValueError(_too_deep())
    if _LONE_SURROGATE.search(text):
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def read_json(path: Path, *, finite: bool = True) -> Any:
    """Return the value in a JSON file; raise `OSError` where it cannot be read, `ValueError` as `parse_json` does."""
    return parse_json(Path(path).read_bytes(), finite=finite)


def require_keys(values: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return `values`; raise `ValueError` unless it is an object in which all of `names` are."""
    if not isinstance(values, dict):
        raise ValueError("no object")
    missing = [name for name in names if name not in values]
    if missing:
        raise ValueError(f"lacks {', '.join(missing)}")
    return values


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        _refused(digits)
    return number


def _refused(name: str) -> float:
    raise ValueError(f"{name[:40]} is no finite number")


def _too_deep() -> str:
    return f"nested more than {DEEPEST} deep"


def _deeper_than(value: Any, most: int) -> bool:
    """Return whether lists and objects stand within each other more than `most` deep."""
    level = [value]
    for _ in range(most + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return any(isinstance(inner, dict | list) for inner in level) or bool(level)
