"""Images as sequences: raster scan, red, green and blue of each pixel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bpd.errors import BpdError

CHANNELS = 3


def to_tokens(images: np.ndarray) -> np.ndarray:
    """Return `images` uint8 [*, height, width, 3] as tokens int64 [*, height·width·3]."""
    if images.dtype != np.uint8 or images.ndim < 3 or images.shape[-1] != CHANNELS:
        raise BpdError(f"expected intensities uint8 [*, height, width, 3], not {images.dtype} {list(images.shape)}")
    return images.reshape(*images.shape[:-3], -1).astype(np.int64)


def to_image(token_ids: Sequence[int], size: int) -> np.ndarray:
    """Return tokens as an image uint8 [size, size, 3]; raise `BpdError` unless they are exactly one."""
    wanted = size * size * CHANNELS
    if len(token_ids) != wanted:
        raise BpdError(f"{len(token_ids)} tokens make no image of {size}×{size} pixels, which has {wanted}")
    values = np.asarray(token_ids, dtype=np.int64)
    if values.min() < 0 or values.max() > 255:
        place = int(np.flatnonzero((values < 0) | (values > 255))[0])
        raise BpdError(f"token {place} is {values[place]}, but intensities lie in 0…255")
    return values.astype(np.uint8).reshape(size, size, CHANNELS)
