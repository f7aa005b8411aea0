"""What decoding says about its records: the `.meta.json` beside each file of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bpd.errors import BpdError

_WANTED = ("model", "set", "role", "criterion", "block_size", "checkpoint_sha256")


def read_meta(records: Path, wanted: Sequence[str]) -> dict[str, Any]:
    """Return what is said about the records in `records`; raise `BpdError` unless all of `wanted` is among it."""
    path = records.with_suffix(".meta.json")
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
        missing = [name for name in (*_WANTED, *wanted) if name not in meta]
    except (OSError, ValueError, TypeError):
        raise BpdError(f"{path}: missing or damaged, so nothing says what the records are of; decode again") from None
    if missing:
        raise BpdError(f"{path}: lacks {', '.join(missing)}; decode again")
    return meta
