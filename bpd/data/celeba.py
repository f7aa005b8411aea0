"""CelebA: aligned photographs of faces, read from their archive, with the official split."""

from __future__ import annotations

import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Self

import numpy as np

from bpd.config import RemoteFile
from bpd.data.fetch import fetch
from bpd.data.lines import iterate_lines
from bpd.data.photographs import read_photograph
from bpd.errors import BpdError

ARCHIVE, PARTITION = "img_align_celeba.zip", "list_eval_partition.txt"
WIDTH, HEIGHT = 178, 218
# The original code's crop: 40 rows at top and bottom, 20 columns left and right.
ROWS, COLUMNS = slice(40, HEIGHT - 40), slice(20, WIDTH - 20)
SETS = {"train": "0", "dev": "1"}
_MOST_BYTES = 1 << 22
# What Python's reader of archives fails with, the last ones at headers that no program would write.
_DAMAGES = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError, OSError, ValueError,
    struct.error, LookupError, ArithmeticError, TypeError,
)  # fmt: skip
_LINE = re.compile(r"(\S+\.jpg)\s+([012])\s*")


class CelebA:
    """The archive, whose members are read one by one and never unpacked, and the set that each photograph is in."""

    def __init__(self, archive: Path, members: dict[str, zipfile.ZipInfo], sets: dict[str, str]) -> None:
        self.archive = archive
        self._members = members
        self._sets = sets

    @classmethod
    def open(cls, overrides: Mapping[str, RemoteFile], downloads: Path) -> Self:
        """Find archive and list; raise `BpdError` where one is missing or damaged, or a photograph is not listed."""
        sets = _read_partition(fetch(PARTITION, overrides, downloads))
        archive = fetch(ARCHIVE, overrides, downloads)
        members = _list_photographs(archive)
        extra = sorted(members.keys() - sets.keys())
        if extra:
            words = f"{archive} holds photographs that {PARTITION} does not list"
            raise BpdError(f"{words}: {', '.join(extra[:20])} ({len(extra)} in all)")
        return cls(archive, members, sets)

    def count(self, name: str) -> int:
        """Return how many photographs the set has."""
        return sum(which == SETS[name] for which in self._sets.values())

    def pictures(self, name: str, faults: list[str]) -> Iterator[tuple[str, np.ndarray]]:
        """Yield file name and cropped picture uint8 [138, 138, 3], in the list's order; faults are named."""
        with zipfile.ZipFile(self.archive) as archive:
            for photograph, which in self._sets.items():
                if which != SETS[name]:
                    continue
                if photograph not in self._members:
                    faults.append(f"{photograph}: listed in {PARTITION}, but not in {self.archive}")
                    continue
                try:
                    member = self._members[photograph]
                    if member.file_size > _MOST_BYTES:
                        raise BpdError(f"{photograph}: {member.file_size} bytes are more than such a picture has")
                    content = archive.read(member)
                    picture = read_photograph(content, photograph, WIDTH, HEIGHT)
                except _DAMAGES as error:
                    faults.append(f"{photograph}: cannot be read from the archive ({error})")
                except BpdError as error:
                    faults.append(str(error))
                else:
                    yield photograph, picture[ROWS, COLUMNS]


def _read_partition(path: Path) -> dict[str, str]:
    sets: dict[str, str] = {}
    for number, line in enumerate(iterate_lines(path), start=1):
        match = _LINE.fullmatch(line)
        if not match:
            raise BpdError(f"{path}, line {number}: expected a file name and 0, 1 or 2, found {line[:200]!r}")
        if match.group(1) in sets:
            raise BpdError(f"{path}, line {number}: {match.group(1)} stands there twice")
        sets[match.group(1)] = match.group(2)
    return sets


def _list_photographs(path: Path) -> dict[str, zipfile.ZipInfo]:
    """Return the archive's JPEG members by their base names; where they lie inside it does not matter."""
    members: dict[str, zipfile.ZipInfo] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                name = PurePosixPath(member.filename).name
                if member.is_dir() or not name.endswith(".jpg") or "__MACOSX" in member.filename:
                    continue
                if name in members:
                    raise BpdError(f"{path}: holds two photographs called {name}")
                members[name] = member
    except _DAMAGES as error:
        raise BpdError(f"{path}: no whole zip archive ({error}); delete it and fetch it again") from None
    return members
