"""A trained image model to use on one's own pictures, from Python or the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bpd.data.raster import to_image, to_tokens
from bpd.decoding.acceptance import Acceptance
from bpd.decoding.batched import DecodeBatch, decode_rows
from bpd.decoding.blockwise import blockwise
from bpd.decoding.greedy import greedy
from bpd.decoding.results import Decoded
from bpd.device import prepare_device
from bpd.errors import BpdError
from bpd.models.model_folder import load_image_model


@dataclass(frozen=True)
class Upscaled:
    """An image [size, size, 3] uint8 made from a small one, and the decoding behind it."""

    image: np.ndarray
    decoded: Decoded

    def accepted_at(self) -> np.ndarray:
        """Return for each intensity [size, size, 3] how many tokens were accepted together with it."""
        sizes = self.decoded.block_sizes
        return np.repeat(sizes, sizes).reshape(self.image.shape)


class TrainedImageModel:
    """The image model in a folder that `bpd train` wrote."""

    def __init__(self, folder: str | Path, device: str | None = None) -> None:
        self.stored = load_image_model(Path(folder), prepare_device(device))
        self.model = self.stored.model

    @property
    def block_size(self) -> int:
        """k: how many intensities the model can propose at once; 1 without proposal heads."""
        return self.model.block_size

    @property
    def input_size(self) -> int:
        """Pixels a side of the images that the model reads."""
        return self.stored.settings.input_size

    @property
    def output_size(self) -> int:
        """Pixels a side of the images that the model writes."""
        return self.stored.settings.output_size

    def greedy(self, images: Sequence[np.ndarray], *, cached: bool = True, batch_rows: int = 64) -> list[Upscaled]:
        """Enlarge small images, each [input_size, input_size, 3] uint8, by greedy decoding of p₁."""
        return self._upscale(images, lambda rows, limits: greedy(self.model, rows, limits, cached=cached), batch_rows)

    def blockwise(
        self,
        images: Sequence[np.ndarray],
        *,
        criterion: str = "exact",
        block_size: int | None = None,
        cached: bool = True,
        batch_rows: int = 64,
        on_accepted: Callable[[int], None] | None = None,
    ) -> list[Upscaled]:
        """Enlarge small images, each [input_size, input_size, 3] uint8, by blockwise parallel decoding (section 3).

        `criterion` is `exact`, or an approximate one: `distance2`, … `block_size` may be below the model's k.
        `on_accepted` is told how many tokens of an image were accepted, each time. Raises `BpdError` for a criterion or
        a block size that is not possible, and for an image of another shape.
        """
        acceptance = Acceptance.parse(criterion)

        def decode(rows: list[list[int]], limits: list[int]) -> list[Decoded]:
            return blockwise(
                self.model,
                rows,
                limits,
                acceptance=acceptance,
                block_size=block_size,
                cached=cached,
                on_step=None if on_accepted is None else lambda step: on_accepted(step.accepted),
            )

        return self._upscale(images, decode, batch_rows)

    def _upscale(self, images: Sequence[np.ndarray], decode: DecodeBatch, batch_rows: int) -> list[Upscaled]:
        wanted = (self.input_size, self.input_size, 3)
        for number, image in enumerate(images, start=1):
            if image.shape != wanted or image.dtype != np.uint8:
                raise BpdError(f"image {number} is {image.dtype} {image.shape}; the model reads uint8 {wanted}")
        rows = [to_tokens(image[None])[0].tolist() for image in images]
        limits = [self.model.transformer.output_length] * len(rows)
        results = decode_rows(decode, rows, limits, batch_rows)
        return [Upscaled(to_image(timed.decoded.token_ids, self.output_size), timed.decoded) for timed in results]
