"""Image → sequence → image is the identity, in the paper's order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpd.data.raster import to_image, to_tokens
from bpd.errors import BpdError


def test_tokens_come_row_by_row_red_green_blue():
    image = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    image[1, 0] = [200, 201, 202]
    assert to_tokens(image).tolist() == [0, 1, 2, 3, 4, 5, 200, 201, 202, 9, 10, 11]


@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_there_and_back_is_the_identity(size, seed):
    images = np.random.default_rng(seed).integers(0, 256, (2, size, size, 3), dtype=np.uint8)
    tokens = to_tokens(images)
    assert tokens.shape == (2, size * size * 3) and tokens.dtype == np.int64
    for image, row in zip(images, tokens, strict=True):
        assert np.array_equal(to_image(row.tolist(), size), image)


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([0] * 11, "11 tokens make no image of 2×2 pixels, which has 12"),
        ([0] * 13, "13 tokens"),
        ([0] * 5 + [256] + [0] * 6, "token 5 is 256"),
        ([-1] + [0] * 11, "token 0 is -1"),
    ],
)
def test_what_is_no_image_is_refused(tokens, message):
    with pytest.raises(BpdError, match=message):
        to_image(tokens, 2)


def test_other_than_bytes_of_three_channels_is_refused():
    for images in (np.zeros((2, 2, 3)), np.zeros((2, 2, 4), dtype=np.uint8), np.zeros((2, 3), dtype=np.uint8)):
        with pytest.raises(BpdError, match="expected intensities uint8"):
            to_tokens(images)
