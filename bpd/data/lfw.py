"""Labelled Faces in the Wild, deep-funnelled: one photograph a person, split by the official lists of people."""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Self

import numpy as np

from bpd.config import RemoteFile
from bpd.data.fetch import data_folder, fetch
from bpd.data.lines import iterate_lines
from bpd.data.photographs import read_photograph
from bpd.errors import BpdError

PHOTOGRAPHS = "lfw-deepfunneled"
MANIFEST = "lfw-deepfunneled.manifest.txt"
PEOPLE = {"train": "peopleDevTrain.csv", "dev": "peopleDevTest.csv"}
SIZE = 250
# The middle of the aligned photograph, which frames a face as CelebA's crop does: left, upper, right, lower.
BOX = (61, 61, 189, 189)
_NAMED = 10
_LINE = re.compile(r"([^/\s]+)/\1_0001\.jpg ([0-9a-f]{64})")


class LabelledFaces:
    """The photographs in the local data folder, each verified against the manifest before it is used."""

    def __init__(self, folder: Path, sha256: dict[str, str], people: dict[str, list[str]]) -> None:
        self.folder = folder
        self._sha256 = sha256
        self._people = people

    @classmethod
    def open(cls, overrides: Mapping[str, RemoteFile], downloads: Path) -> Self:
        """Read the manifest and the lists of people; raise `BpdError` where one is missing or they contradict."""
        folder = data_folder() / PHOTOGRAPHS
        sha256 = _read_manifest(fetch(MANIFEST, overrides, downloads))
        people = {name: _read_people(fetch(file, overrides, downloads)) for name, file in PEOPLE.items()}
        both = set(people["train"]) & set(people["dev"])
        if both:
            raise BpdError(f"{', '.join(PEOPLE.values())}: both name {sorted(both)[0]}; the sets must share no person")
        missing = [person for names in people.values() for person in names if person not in sha256]
        if missing:
            told = ", ".join(name[:200] for name in missing[:_NAMED])
            raise BpdError(f"{MANIFEST} lists no photograph of {told} ({len(missing)} in all)")
        if not folder.is_dir():
            raise BpdError(
                f"{folder}: the photographs are not there. Unpack lfw-deepfunneled.tgz (MD5 "
                "68331da3eb755a505a502b5aacb3c201, https://vis-www.cs.umass.edu/lfw/lfw-deepfunneled.tgz) so that "
                f"{folder}/<person>/<person>_0001.jpg exist; the environment variable BPD_DATA_DIR names another folder"
            )
        return cls(folder, sha256, people)

    def count(self, name: str) -> int:
        """Return how many photographs the set has."""
        return len(self._people[name])

    def pictures(self, name: str, faults: list[str]) -> Iterator[tuple[str, np.ndarray]]:
        """Yield person and cropped picture uint8 [128, 128, 3], in the list's order; a fault is named in `faults`."""
        left, upper, right, lower = BOX
        for person in self._people[name]:
            path = self.folder / person / f"{person}_0001.jpg"
            try:
                content = path.read_bytes()
                found = hashlib.sha256(content).hexdigest()
                if found != self._sha256[person]:
                    raise BpdError(f"{path}: SHA-256 is {found}, but the manifest says {self._sha256[person]}")
                picture = read_photograph(content, str(path), SIZE, SIZE)
            except OSError as error:
                faults.append(f"{path}: {error.strerror}")
            except BpdError as error:
                faults.append(str(error))
            else:
                yield person, picture[upper:lower, left:right]


def _read_manifest(path: Path) -> dict[str, str]:
    sha256 = {}
    for number, line in enumerate(iterate_lines(path), start=1):
        match = _LINE.fullmatch(line.removesuffix("\r"))
        if not match or match.group(1) in (".", ".."):
            raise BpdError(f"{path}, line {number}: expected 'person/person_0001.jpg sha256', found {line[:200]!r}")
        if match.group(1) in sha256:
            raise BpdError(f"{path}, line {number}: {match.group(1)} stands there twice")
        sha256[match.group(1)] = match.group(2)
    return sha256


def _read_people(path: Path) -> list[str]:
    rows = csv.DictReader(iterate_lines(path), strict=True)
    names: dict[str, None] = {}
    try:
        if "name" not in (rows.fieldnames or ()):
            raise BpdError(f"{path}: expected a table with the column 'name'")
        for row in rows:
            name = row["name"]
            if not name:
                raise BpdError(f"{path}, line {rows.line_num}: names nobody")
            if name in names:
                raise BpdError(f"{path}, line {rows.line_num}: names a person twice: {name[:200]}")
            names[name] = None
    except csv.Error as error:
        raise BpdError(f"{path}, line {rows.line_num}: not a table of comma-separated values ({error})") from None
    if not names:
        raise BpdError(f"{path}: names nobody")
    return list(names)
