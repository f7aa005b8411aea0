"""Photographs: strict reading, and area averages that are exact and truncated."""

from fractions import Fraction
from io import BytesIO
from math import floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from bpd.data.photographs import area_average, read_photograph
from bpd.errors import BpdError


def encoded(mode: str = "RGB", size: tuple[int, int] = (12, 8), kind: str = "JPEG") -> bytes:
    content = BytesIO()
    pixels = np.random.default_rng(0).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).convert(mode).save(content, format=kind)
    return content.getvalue()


def averaged(picture: np.ndarray, size: int) -> np.ndarray:
    """Return the definition, in fractions: each old pixel counts by the area of it that a new pixel covers."""
    height, width, channels = picture.shape
    made = np.zeros((size, size, channels), dtype=np.uint8)

    def cover(old: int, new: int, length: int) -> Fraction:
        low = max(Fraction(old), Fraction(new * length, size))
        return max(Fraction(0), min(Fraction(old + 1), Fraction((new + 1) * length, size)) - low)

    for y in range(size):
        for x in range(size):
            for channel in range(channels):
                total = sum(
                    cover(row, y, height) * cover(column, x, width) * int(picture[row, column, channel])
                    for row in range(height)
                    for column in range(width)
                )
                made[y, x, channel] = floor(total * size * size / (height * width))
    return made


def test_an_average_by_hand_is_cut_not_rounded():
    picture = np.array([[[1, 0, 255], [2, 0, 255]], [[2, 1, 255], [2, 2, 255]]], dtype=np.uint8)
    assert area_average(picture, 1).tolist() == [[[1, 0, 255]]]
    strip = np.array([[[0] * 3, [90] * 3, [30] * 3]] * 3, dtype=np.uint8)
    # 1.5 old pixels a new one: (0 + 45) / 1.5 and (45 + 30) / 1.5.
    assert area_average(strip, 2)[0, :, 0].tolist() == [30, 50]


@settings(max_examples=20)
@given(st.integers(3, 9), st.integers(3, 9), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_averages_are_those_of_the_definition(height, width, size, seed):
    picture = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    assert np.array_equal(area_average(picture, size), averaged(picture, size))


@pytest.mark.parametrize("side", [138, 128, 64, 101])
@pytest.mark.parametrize("size", [8, 32])
def test_a_plain_picture_keeps_its_colour(side, size):
    for value in (0, 1, 127, 254, 255):
        made = area_average(np.full((side, side, 3), value, dtype=np.uint8), size)
        assert made.shape == (size, size, 3) and (made == value).all()


def test_a_photograph_is_read_as_it_is():
    content = encoded()
    assert np.array_equal(read_photograph(content, "one.jpg", 12, 8), np.asarray(Image.open(BytesIO(content))))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (encoded("L"), "one.jpg: a greyscale picture"),
        (encoded("CMYK"), "one.jpg: a CMYK picture"),
        (encoded(size=(8, 12)), "one.jpg: 8×12 pixels instead of 12×8"),
        (encoded()[: len(encoded()) // 2], "one.jpg: a damaged JPEG picture"),
        (encoded(kind="PNG"), "one.jpg: no JPEG picture"),
        (b"<html>not here</html>", "one.jpg: no JPEG picture"),
        (b"", "one.jpg: no JPEG picture"),
    ],
    ids=["greyscale", "cmyk", "size", "truncated", "png", "web page", "empty"],
)
def test_a_faulty_photograph_is_refused_by_name(content, message):
    with pytest.raises(BpdError, match=message):
        read_photograph(content, "one.jpg", 12, 8)


@given(st.binary(max_size=400), st.booleans())
def test_foreign_bytes_are_refused_or_read_never_anything_else(content, like_a_jpeg):
    try:
        read_photograph((encoded()[:200] if like_a_jpeg else b"") + content, "x.jpg", 12, 8)
    except BpdError as error:
        assert "x.jpg" in str(error)
