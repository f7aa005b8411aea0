"""Folders that are written as a whole: nothing half-written ever has a final name."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bpd.atomic import temporary_beside
from bpd.errors import BpdError


@contextmanager
def atomic_folder(final: Path, last: str) -> Iterator[Path]:
    """Yield an empty temporary folder beside `final`; move its entries into place if the block ends well.

    Entries of the same names in an existing `final` are replaced, others are left alone. The file called `last`
    tells a finished folder from an unfinished one: it disappears first and appears last.
    """
    final = Path(os.path.abspath(final))
    if final.exists() and not final.is_dir():
        raise BpdError(f"{final}: a file stands where a folder is to be written; move it away")
    final.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_beside(final)
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        yield temporary
        _flush(temporary)
        _move_into_place(temporary, final, last)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _move_into_place(temporary: Path, final: Path, last: str) -> None:
    if not final.exists():
        os.rename(temporary, final)
        return
    (final / last).unlink(missing_ok=True)
    for entry in sorted(temporary.iterdir(), key=lambda entry: entry.name == last):
        target = final / entry.name
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        os.replace(entry, target)


def _flush(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            with open(path, "rb") as stream:
                os.fsync(stream.fileno())
