"""Atomic files: a final name never stands on a half-written file."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def temporary_beside(final: Path) -> Path:
    """Return a name beside `final` that no other process uses, on this machine or another with the same file system."""
    return final.with_name(f".{final.name}.partial-{socket.gethostname()}-{os.getpid()}")


@contextmanager
def atomic_path(final: Path) -> Iterator[Path]:
    """Yield a temporary path beside `final`; rename it to `final` if the block ends well, else delete it."""
    final = Path(final)
    final.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_beside(final)
    try:
        yield temporary
        with open(temporary, "rb+") as stream:
            os.fsync(stream.fileno())
        os.replace(temporary, final)
    finally:
        temporary.unlink(missing_ok=True)


def write_bytes(final: Path, content: bytes) -> None:
    """Write `content` to `final`, all or nothing."""
    with atomic_path(final) as temporary:
        temporary.write_bytes(content)


def write_text(final: Path, text: str) -> None:
    """Write `text` to `final` as UTF-8 with its line ends as they are, all or nothing."""
    write_bytes(final, text.encode("utf-8"))


def write_json(final: Path, value: Any) -> None:
    """Write `value` to `final` as indented JSON with a final newline, all or nothing."""
    write_text(final, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
