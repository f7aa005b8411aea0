"""`bpd upscale`: an image model on one's own photograph."""

from __future__ import annotations

import time
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from bpd.atomic import write_bytes
from bpd.data.photographs import area_average
from bpd.errors import BpdError
from bpd.trained_image_model import TrainedImageModel


def upscale(folder: Path, photograph: Path, output: Path, *, criterion: str, block_size: int | None) -> str:
    """Write the enlarged middle of `photograph` to `output` as PNG; return what was done in words.

    The largest square in the middle is averaged to the model's input size first, unless it has that size already.
    """
    if output.suffix.lower() != ".png":
        raise BpdError(f"{output}: the image is written as PNG; give a name that ends in .png")
    if criterion == "greedy" and block_size is not None:
        raise BpdError("--block-size has no meaning with --criterion greedy")
    model = TrainedImageModel(folder)
    small = _middle(photograph, model.input_size)
    start = time.perf_counter()
    if criterion == "greedy":
        (made,) = model.greedy([small])
    else:
        (made,) = model.blockwise([small], criterion=criterion, block_size=block_size)
    seconds = time.perf_counter() - start
    content = BytesIO()
    Image.fromarray(made.image).save(content, format="PNG")
    write_bytes(output, content.getvalue())
    tokens, iterations = len(made.decoded.token_ids), made.decoded.iterations
    return (
        f"{output}: {tokens} tokens in {iterations} iterations, mean accepted block size {tokens / iterations:.2f}, "
        f"{seconds:.1f} s"
    )


def _middle(photograph: Path, size: int) -> np.ndarray:
    try:
        with Image.open(photograph) as opened:
            picture = np.asarray(ImageOps.exif_transpose(opened).convert("RGB"))
    except FileNotFoundError:
        raise BpdError(f"{photograph}: no such file") from None
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise BpdError(f"{photograph}: not a readable picture ({error})") from None
    height, width, _ = picture.shape
    side = min(height, width)
    if side < size:
        raise BpdError(f"{photograph}: {width}×{height} pixels, but the model reads {size}×{size}; give a larger one")
    top, left = (height - side) // 2, (width - side) // 2
    return area_average(picture[top : top + side, left : left + side], size)
