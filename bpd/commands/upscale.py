"""`bpd upscale`: an image model on one's own photograph."""

from __future__ import annotations

import time
import warnings
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError
from tqdm import tqdm

from bpd.atomic import write_bytes
from bpd.data.photographs import area_average
from bpd.data.raster import CHANNELS
from bpd.errors import BpdError
from bpd.trained_image_model import TrainedImageModel, Upscaled

# Pillow knows many more: PostScript among them, which it has another program run.
_FORMATS = ("JPEG", "PNG", "WEBP", "TIFF", "BMP", "GIF", "PPM")


def upscale(folder: Path, photograph: Path, output: Path, *, criterion: str, block_size: int | None) -> None:
    """Write the enlarged middle of `photograph` to `output` as PNG; print what was done in words.

    The largest square in the middle is averaged to the model's input size first, unless it has that size already.
    """
    if output.suffix.lower() != ".png":
        raise BpdError(f"{output}: the image is written as PNG; give a name that ends in .png")
    if criterion == "greedy" and block_size is not None:
        raise BpdError("--block-size has no meaning with --criterion greedy")
    model = TrainedImageModel(folder)
    picture = _read(photograph, model.input_size)
    height, width, _ = picture.shape
    side, small, large = min(height, width), model.input_size, model.output_size
    print(f"{photograph}: {width}×{height} pixels; took the middle {side}×{side}, averaged it to {small}×{small}")
    start = time.perf_counter()
    made = _made(model, _middle(picture, small), criterion, block_size)
    seconds = time.perf_counter() - start
    content = BytesIO()
    Image.fromarray(made.image).save(content, format="PNG")
    write_bytes(output, content.getvalue())
    tokens, iterations = len(made.decoded.token_ids), made.decoded.iterations
    print(
        f"{output}: {large}×{large} pixels; {tokens} tokens in {iterations} iterations in {seconds:.1f} s: "
        f"mean accepted block size {tokens / iterations:.2f}, {tokens / iterations:.2f}× fewer iterations than greedy "
        "decoding"
    )


def _made(model: TrainedImageModel, small: np.ndarray, criterion: str, block_size: int | None) -> Upscaled:
    if criterion == "greedy":
        (made,) = model.greedy([small])
        return made
    intensities = model.output_size**2 * CHANNELS
    with tqdm(total=intensities, desc="upscale", unit="token", disable=None, mininterval=0.5, leave=False) as bar:
        (made,) = model.blockwise([small], criterion=criterion, block_size=block_size, on_accepted=bar.update)
    return made


def _read(photograph: Path, size: int) -> np.ndarray:
    """Return the picture's pixels [height, width, 3], the right way up; refuse one smaller than `size`."""
    try:
        with warnings.catch_warnings(action="ignore"), Image.open(photograph, formats=_FORMATS) as opened:
            picture = np.asarray(ImageOps.exif_transpose(opened).convert("RGB"))
    except FileNotFoundError:
        raise BpdError(f"{photograph}: no such file") from None
    except UnidentifiedImageError:
        raise BpdError(f"{photograph}: no picture of a kind that is read here: {', '.join(_FORMATS)}") from None
    except Exception as error:
        # Pillow's readers fail at foreign bytes with exceptions of any kind.
        raise BpdError(f"{photograph}: not a readable picture ({type(error).__name__}: {str(error)[:200]})") from None
    height, width, _ = picture.shape
    if min(height, width) < size:
        raise BpdError(f"{photograph}: {width}×{height} pixels, but the model reads {size}×{size}; give a larger one")
    return picture


def _middle(picture: np.ndarray, size: int) -> np.ndarray:
    """Return the largest square in the middle of `picture`, averaged to [size, size, 3]."""
    height, width, _ = picture.shape
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    return area_average(picture[top : top + side, left : left + side], size)
