"""Photographs: read strictly, cropped, and averaged to smaller sizes."""

from __future__ import annotations

from functools import cache
from io import BytesIO

import numpy as np
from PIL import Image, UnidentifiedImageError

from bpd.errors import BpdError


def read_photograph(content: bytes, name: str, width: int, height: int) -> np.ndarray:
    """Return the colour JPEG `content` as uint8 [height, width, 3].

    Raises `BpdError` that names the photograph where it is damaged, of another size, or not in red, green and blue: a
    greyscale or CMYK file has gone through other hands than the published ones.
    """
    try:
        with Image.open(BytesIO(content), formats=["JPEG"]) as opened:
            if opened.mode != "RGB":
                kind = {"L": "greyscale", "CMYK": "CMYK"}.get(opened.mode, opened.mode)
                raise BpdError(f"{name}: a {kind} picture, not one in red, green and blue")
            if opened.size != (width, height):
                raise BpdError(f"{name}: {opened.width}×{opened.height} pixels instead of {width}×{height}")
            return np.asarray(opened)
    except UnidentifiedImageError:
        raise BpdError(f"{name}: no JPEG picture") from None
    except BpdError:
        raise
    except Exception as error:
        # Pillow's readers fail at foreign bytes with exceptions of any kind.
        raise BpdError(f"{name}: a damaged JPEG picture ({str(error)[:200] or type(error).__name__})") from None


def area_average(picture: np.ndarray, size: int) -> np.ndarray:
    """Return `picture` uint8 [height, width, 3] averaged to uint8 [size, size, 3], truncated to whole numbers.

    Each new pixel is the mean over the area that it covers, parts of pixels counting by their part, and is then cut to
    the whole number below, as in the original (section 7.2's 8×8 and 32×32). The sums are exact: all are whole numbers
    below 2⁵³.
    """
    height, width, _ = picture.shape
    rows, columns = _overlaps(height, size), _overlaps(width, size)
    sums = np.einsum("yh,hwc->ywc", rows, picture.astype(np.float64), optimize=True)
    sums = np.einsum("xw,ywc->yxc", columns, sums, optimize=True)
    return (sums.astype(np.int64) // (height * width)).astype(np.uint8)


@cache
def _overlaps(length: int, size: int) -> np.ndarray:
    """Return how far each new pixel covers each old one, float64 [size, length], in units of 1/size of an old one."""
    old, new = np.arange(length), np.arange(size)[:, None]
    ends = np.minimum((old + 1) * size, (new + 1) * length)
    starts = np.maximum(old * size, new * length)
    return np.clip(ends - starts, 0, None).astype(np.float64)
