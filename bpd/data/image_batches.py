"""Batches of images, without end and resumable.

Each epoch visits every image once, in an order that is a function of (images, seed, epoch).
"""

from __future__ import annotations

import numpy as np

from bpd.data.batch import Batch, BatchPosition
from bpd.data.image_set import ImageSet
from bpd.data.raster import to_tokens
from bpd.errors import BpdError


class ImageBatches:
    """An endless stream of batches of `images_per_batch` images, starting at `position`.

    The last batch of an epoch is smaller where the images do not divide evenly.
    """

    def __init__(
        self, images: ImageSet, images_per_batch: int, seed: int, position: BatchPosition = BatchPosition()
    ) -> None:
        if len(images) == 0:
            raise BpdError(f"{images.folder}: no images to make batches of")
        self.images = images
        self.images_per_batch = images_per_batch
        self.seed = seed
        self.position = position
        self._order = self._order_of(position.epoch)
        if position.index and position.index >= self.batches_per_epoch:
            raise BpdError(
                f"{images.folder}: cannot resume at batch {position.index} of epoch {position.epoch}, which has "
                f"{self.batches_per_epoch}: data or settings have changed since the position was saved"
            )

    @property
    def batches_per_epoch(self) -> int:
        """The number of batches in an epoch."""
        return -(-len(self.images) // self.images_per_batch)

    def next(self) -> Batch:
        """Return the next batch and move `position` past it."""
        first = self.position.index * self.images_per_batch
        indices = np.sort(self._order[first : first + self.images_per_batch])
        if self.position.index + 1 < self.batches_per_epoch:
            self.position = BatchPosition(self.position.epoch, self.position.index + 1)
        else:
            self.position = BatchPosition(self.position.epoch + 1, 0)
            self._order = self._order_of(self.position.epoch)
        source, target = (to_tokens(np.asarray(part[indices])) for part in (self.images.inputs, self.images.targets))
        return Batch(source, target, indices)

    def _order_of(self, epoch: int) -> np.ndarray:
        return np.random.default_rng([self.seed, epoch]).permutation(len(self.images))
