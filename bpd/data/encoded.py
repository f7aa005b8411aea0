"""Encoded sentence pairs on disk: flat arrays of subword ids, memory-mapped, so that millions of pairs cost no memory.

A folder holds `source.npy` and `target.npy` (uint16 [subwords], all sentences end to end), `source_offsets.npy` and
`target_offsets.npy` (int64 [pairs + 1], where each begins) and `manifest.json`. Ids are stored without begin and end.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np

from bpd.atomic import write_json
from bpd.data.folder import atomic_folder
from bpd.errors import BpdError
from bpd.fingerprints import file_sha256, value_sha256

MANIFEST = "manifest.json"
SIDES = ("source", "target")
_FILES = tuple(f"{side}{part}.npy" for side in SIDES for part in ("", "_offsets"))
_LARGEST_ID = 65535


class EncodedPairs:
    """Sentence pairs as subword ids, read from a folder; made by `open`."""

    def __init__(self, folder: Path, arrays: dict[str, np.ndarray], stored: dict[str, Any]) -> None:
        self.folder = folder
        self.manifest: dict[str, Any] = stored["manifest"]
        self.sha256: str = value_sha256(stored["files"])
        self._arrays = arrays
        self.source_lengths: np.ndarray = np.diff(arrays["source_offsets"])
        self.target_lengths: np.ndarray = np.diff(arrays["target_offsets"])

    @staticmethod
    def write(
        folder: Path,
        sources: Iterable[Sequence[int]],
        targets: Iterable[Sequence[int]],
        manifest: dict[str, Any],
    ) -> None:
        """Write pairs to `folder`, all or nothing, with a JSON-like `manifest` that says where they come from.

        Raises `BpdError` if there are more sources than targets or the reverse, or an id is not in 0…65535.
        """
        with atomic_folder(folder, last=MANIFEST) as temporary, EncodedPairsWriter(temporary, manifest) as writer:
            for source, target in zip_longest(sources, targets):
                if source is None or target is None:
                    raise BpdError(f"{folder}: unequal numbers of encoded sources and targets")
                writer.add([source], [target])

    @classmethod
    def open(cls, folder: Path) -> EncodedPairs:
        """Open a folder that `write` made; raise `BpdError` where a file is missing or not what was written."""
        folder = Path(folder)
        try:
            stored = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
            for name in _FILES:
                if file_sha256(folder / name) != stored["files"][name]:
                    raise BpdError(f"{folder / name}: changed since it was written; make the folder again")
            arrays = {name.removesuffix(".npy"): _map_array(folder / name) for name in _FILES}
            counts = [len(arrays[f"{side}_offsets"]) - 1 for side in SIDES]
            if counts != [stored["pairs"]] * 2 or not isinstance(stored["manifest"], dict):
                raise ValueError(f"{counts[0]} sources and {counts[1]} targets")
        except OSError as error:
            raise BpdError(
                f"{folder}: no finished folder of encoded pairs ({error.strerror}: {error.filename})"
            ) from None
        except (ValueError, KeyError, TypeError) as error:
            raise BpdError(f"{folder}: damaged folder of encoded pairs ({error}); make it again") from None
        return cls(folder, arrays, stored)

    def __len__(self) -> int:
        return len(self.source_lengths)

    def source(self, index: int) -> np.ndarray:
        """Return the subword ids of source sentence `index`: uint16 [subwords]."""
        return self._sentence("source", index)

    def target(self, index: int) -> np.ndarray:
        """Return the subword ids of target sentence `index`: uint16 [subwords]."""
        return self._sentence("target", index)

    def _sentence(self, side: str, index: int) -> np.ndarray:
        offsets = self._arrays[f"{side}_offsets"]
        return self._arrays[side][offsets[index] : offsets[index + 1]]


class EncodedPairsWriter:
    """Writes encoded pairs chunk by chunk into an existing folder; the manifest is written at the end of the block."""

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder = Path(folder)
        self.manifest = manifest
        self._offsets = {side: array("q", [0]) for side in SIDES}
        self._streams: dict[str, BinaryIO] = {}

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        for side in SIDES:
            self._streams[side] = open(self.folder / f"{side}.npy", "wb")
            _write_header(self._streams[side], 0)
        return self

    def add(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> None:
        """Append equally many encoded sources and targets."""
        if len(sources) != len(targets):
            raise BpdError(f"{self.folder}: {len(sources)} encoded sources but {len(targets)} targets")
        for side, sentences in zip(SIDES, (sources, targets)):
            ids = np.concatenate([np.asarray(sentence, dtype=np.int64) for sentence in sentences] or [[]])
            if ids.size and not (ids.min() >= 0 and ids.max() <= _LARGEST_ID):
                raise BpdError(f"{self.folder}: a subword id is not in 0…{_LARGEST_ID}: {ids.min()} to {ids.max()}")
            self._streams[side].write(ids.astype("<u2").tobytes())
            offsets = self._offsets[side]
            for sentence in sentences:
                offsets.append(offsets[-1] + len(sentence))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            for stream in self._streams.values():
                stream.close()

    def _finish(self) -> None:
        for side, stream in self._streams.items():
            # NumPy leaves room in its header for the length to grow, so that it can be rewritten in place.
            stream.seek(0)
            _write_header(stream, self._offsets[side][-1])
            stream.close()
            np.save(self.folder / f"{side}_offsets.npy", np.frombuffer(self._offsets[side], dtype="<i8"))
        stored = {
            "pairs": len(self._offsets["source"]) - 1,
            "subwords": {side: self._offsets[side][-1] for side in SIDES},
            "files": {name: file_sha256(self.folder / name) for name in _FILES},
            "manifest": self.manifest,
        }
        write_json(self.folder / MANIFEST, stored)


def _write_header(stream: BinaryIO, length: int) -> None:
    np.lib.format.write_array_header_1_0(stream, {"descr": "<u2", "fortran_order": False, "shape": (length,)})


def _map_array(path: Path) -> np.ndarray:
    # An empty array cannot be memory-mapped: there is nothing behind its header.
    return np.load(path, mmap_mode="r") if path.stat().st_size > 128 else np.load(path)
