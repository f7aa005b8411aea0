"""How near an image is to its target: PSNR and SSIM, and the enlargements that need no model, to compare with."""

from __future__ import annotations

import math

import numpy as np
from PIL import Image

_WINDOW = 7


def psnr(output: np.ndarray, target: np.ndarray) -> float:
    """Return the peak signal-to-noise ratio in dB of two images uint8 [height, width, 3].

    Of identical images it would be infinite; they count as if a single intensity were off by one.
    """
    squared = np.square(output.astype(np.int64) - target.astype(np.int64)).sum()
    return 10 * math.log10(255**2 * output.size / max(1, int(squared)))


def ssim(output: np.ndarray, target: np.ndarray) -> float:
    """Return scikit-image's structural similarity of two images uint8 [height, width, 3], the mean over channels.

    The window is uniform, 7 pixels a side, or the largest odd number that a smaller image has room for.
    """
    from skimage.metrics import structural_similarity

    side = min(*output.shape[:2], _WINDOW)
    window = side - (side % 2 == 0)
    return float(structural_similarity(output, target, win_size=window, data_range=255, channel_axis=-1))


def nearest(small: np.ndarray, size: int) -> np.ndarray:
    """Return `small` uint8 [s, s, 3] enlarged to uint8 [size, size, 3] by repeating its pixels."""
    return np.asarray(Image.fromarray(small).resize((size, size), Image.Resampling.NEAREST))


def bicubic(small: np.ndarray, size: int) -> np.ndarray:
    """Return `small` uint8 [s, s, 3] enlarged to uint8 [size, size, 3] by Pillow's bicubic interpolation."""
    return np.asarray(Image.fromarray(small).resize((size, size), Image.Resampling.BICUBIC))
