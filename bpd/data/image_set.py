"""Prepared images on disk: memory-mapped arrays, so that hundreds of thousands of images cost no memory.

A folder holds `inputs.npy` (uint8 [images, s, s, 3]), `targets.npy` (uint8 [images, S, S, 3]) and `manifest.json`, with
the name of each image.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from bpd.atomic import write_json
from bpd.data.folder import atomic_folder
from bpd.errors import BpdError
from bpd.fingerprints import file_sha256, value_sha256
from bpd.stored_json import read_json

MANIFEST, INPUTS, TARGETS = "manifest.json", "inputs.npy", "targets.npy"


class ImageSet:
    """Small and large images, read from a folder; made by `open`."""

    def __init__(self, folder: Path, inputs: np.ndarray, targets: np.ndarray, stored: dict[str, Any]) -> None:
        self.folder = folder
        self.inputs = inputs
        self.targets = targets
        self.names: list[str] = stored["names"]
        self.input_size: int = stored["input_size"]
        self.output_size: int = stored["output_size"]
        self.manifest: dict[str, Any] = stored["manifest"]
        self.sha256: str = value_sha256({"files": stored["files"], "names": self.names})

    @staticmethod
    def write(
        folder: Path,
        images: Iterable[tuple[str, np.ndarray, np.ndarray]],
        input_size: int,
        output_size: int,
        manifest: dict[str, Any],
    ) -> None:
        """Write `images` (name, input, target) as they come, all or nothing, with a JSON-like `manifest` of theirs.

        Raises `BpdError` for an image of another size or type, and for a name that comes twice.
        """
        with atomic_folder(folder, last=MANIFEST) as temporary:
            names: list[str] = []
            sizes = {INPUTS: input_size, TARGETS: output_size}
            streams = {name: open(temporary / name, "wb") for name in sizes}  # noqa: SIM115 (closed below)
            try:
                for name, size in sizes.items():
                    _write_header(streams[name], 0, size)
                for title, small, large in images:
                    names.append(title)
                    for name, image in ((INPUTS, small), (TARGETS, large)):
                        size = sizes[name]
                        if image.dtype != np.uint8 or image.shape != (size, size, 3):
                            raise BpdError(f"{title}: {image.dtype} {list(image.shape)} is no image of {size}×{size}")
                        streams[name].write(image.tobytes())
                # NumPy leaves room in its header for the length to grow, so that it can be rewritten in place.
                for name, stream in streams.items():
                    stream.seek(0)
                    _write_header(stream, len(names), sizes[name])
            finally:
                for stream in streams.values():
                    stream.close()
            if len(set(names)) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise BpdError(f"{folder}: two images are called {twice}")
            stored = {
                "images": len(names),
                "input_size": input_size,
                "output_size": output_size,
                "files": {name: file_sha256(temporary / name) for name in sizes},
                "manifest": manifest,
                "names": names,
            }
            write_json(temporary / MANIFEST, stored)

    @classmethod
    def open(cls, folder: Path) -> ImageSet:
        """Open a folder that `write` made; raise `BpdError` where a file is missing or not what was written."""
        folder = Path(folder)
        try:
            stored = read_json(folder / MANIFEST)
            arrays = {}
            for name, size in ((INPUTS, stored["input_size"]), (TARGETS, stored["output_size"])):
                if file_sha256(folder / name) != stored["files"][name]:
                    raise BpdError(f"{folder / name}: changed since it was written; prepare the images again")
                # An empty array cannot be memory-mapped: there is nothing behind its header.
                arrays[name] = np.load(folder / name, mmap_mode="r" if stored["images"] else None)
                if arrays[name].shape != (len(stored["names"]), size, size, 3) or arrays[name].dtype != np.uint8:
                    raise ValueError(f"{name} is {arrays[name].dtype} {list(arrays[name].shape)}")
            if not isinstance(stored["manifest"], dict):
                raise ValueError("its manifest is no object")
        except OSError as error:
            raise BpdError(
                f"{folder}: no finished folder of images ({error.strerror}: {error.filename}); run `bpd prepare images`"
            ) from None
        except (ValueError, KeyError, TypeError) as error:
            raise BpdError(f"{folder}: damaged folder of images ({error}); prepare the images again") from None
        return cls(folder, arrays[INPUTS], arrays[TARGETS], stored)

    def __len__(self) -> int:
        return len(self.names)


def _write_header(stream: BinaryIO, images: int, size: int) -> None:
    header = {"descr": "|u1", "fortran_order": False, "shape": (images, size, size, 3)}
    np.lib.format.write_array_header_1_0(stream, header)
