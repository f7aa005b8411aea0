"""What is said about a file of records: the `.meta.json` beside it, bound to it by a checksum."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bpd.errors import BpdError
from bpd.evaluation.records import DecodeRecord, read_records
from bpd.fingerprints import file_sha256
from bpd.stored_json import read_json, require_keys

_WANTED = ("model", "set", "role", "criterion", "block_size", "checkpoint_sha256")
_TEXTS = ("model", "set", "role", "criterion", "checkpoint_sha256")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def fingerprint(records: Path) -> dict[str, Any]:
    """Return what binds a finished file of records to what is said about it: its SHA-256 and its number of lines."""
    with open(records, "rb") as stream:
        lines = sum(1 for _ in stream)
    return {"records_sha256": file_sha256(records), "records": lines}


def meta_path(records: Path) -> Path:
    """Return where it is said what the records in `records` are of."""
    return records.with_suffix(".meta.json")


def require_fingerprint(records: Path, meta: dict[str, Any], advice: str) -> None:
    """Raise `BpdError` where `records` are not those that `meta`, read from beside them, was written with."""
    if "records_sha256" not in meta:
        raise BpdError(f"{meta_path(records)}: does not say of which records it is; {advice}")
    try:
        found = fingerprint(records)
    except OSError as error:
        raise BpdError(f"{records}: cannot read the records: {error.strerror}; {advice}") from None
    if found != {name: meta.get(name) for name in found}:
        told = f"{meta.get('records')} of {str(meta['records_sha256'])[:12]}…"
        raise BpdError(
            f"{records}: {found['records']} lines of SHA-256 {found['records_sha256'][:12]}…, but "
            f"{meta_path(records).name} tells of {told}: changed since, or another model's; {advice}"
        )


def read_meta(records: Path, wanted: Sequence[str] = ()) -> dict[str, Any]:
    """Return what is said about the records in `records`; raise `BpdError` unless all of `wanted` is among it.

    Whether it was said of these very records, `require_fingerprint` tells.
    """
    path = meta_path(records)
    try:
        meta = require_keys(read_json(path), ())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)[:200]
        raise BpdError(
            f"{path}: missing or damaged, so nothing says what the records are of ({reason}); decode again"
        ) from None
    missing = [name for name in (*_WANTED, *wanted) if name not in meta]
    if missing:
        raise BpdError(f"{path}: lacks {', '.join(missing)}; decode again")
    faulty = [name for name in _TEXTS if not isinstance(meta[name], str)]
    faulty += [name for name in ("set", "role") if name not in faulty and not _NAME.fullmatch(meta[name])]
    if type(meta["block_size"]) is not int or meta["block_size"] < 1:
        faulty.append("block_size")
    if faulty:
        raise BpdError(f"{path}: {', '.join(f'{name} is {str(meta[name])[:100]!r}' for name in faulty)}; decode again")
    return meta


def read_decoding(records: Path) -> list[DecodeRecord]:
    """Return the records in `records`; raise `BpdError` unless they are those that their meta file was written with."""
    meta, found = read_meta(records), read_records(records)
    require_fingerprint(records, meta, "decode again")
    return found
