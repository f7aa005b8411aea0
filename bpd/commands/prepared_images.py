"""A prepared folder of images, as commands see it: its sets, and what a model must have been made for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from bpd.data.image_set import ImageSet
from bpd.data.raster import to_tokens
from bpd.errors import BpdError
from bpd.models.model_folder import StoredModel


class PreparedImages:
    """The folder that `bpd prepare images` writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        path = self.folder / "report.json"
        try:
            self.report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise BpdError(f"{path}: missing or damaged; run `bpd prepare images` again") from None

    def images(self, name: str) -> ImageSet:
        """Return the set called `name`: `train` or `dev`."""
        images = ImageSet.open(self.folder / name)
        if len(images) == 0:
            raise BpdError(f"{images.folder}: the set holds no images")
        return images


def input_tokens(images: ImageSet, count: int) -> list[list[int]]:
    """Return the intensities of the first `count` small images, a row each."""
    return to_tokens(np.asarray(images.inputs[:count])).tolist()


def require_sizes_of(stored: StoredModel, images: ImageSet) -> None:
    """Raise `BpdError` unless `stored` was made for images of these sizes."""
    wanted, found = (stored.settings.input_size, stored.settings.output_size), (images.input_size, images.output_size)
    if wanted != found:
        raise BpdError(
            f"{stored.folder}: the model turns {wanted[0]} pixels a side into {wanted[1]}, "
            f"but {images.folder} holds {found[0]} and {found[1]}"
        )
