import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from bpd.evaluation.image_quality import bicubic, nearest, psnr, ssim

IMAGES = arrays.arrays(np.uint8, st.sampled_from([(4, 4, 3), (8, 8, 3)]))


def grey(value, size=8):
    return np.full((size, size, 3), value, dtype=np.uint8)


@pytest.mark.parametrize(
    ("output", "target", "expected"),
    [
        (grey(100), grey(110), 20 * math.log10(255 / 10)),
        (grey(0), grey(255), 0.0),
        (grey(0), grey(1), 20 * math.log10(255)),
    ],
)
def test_psnr_by_hand(output, target, expected):
    assert psnr(output, target) == pytest.approx(expected)
    assert psnr(target, output) == pytest.approx(expected)


def test_psnr_is_of_the_mean_over_pixels_and_channels():
    target = grey(50, 2)
    output = target.copy()
    output[0, 1, 2] = 56
    assert psnr(output, target) == pytest.approx(10 * math.log10(255**2 * 12 / 36))


def test_identical_images_count_as_off_by_one_in_a_single_intensity():
    target = grey(50)
    off = target.copy()
    off[3, 3, 1] = 51
    assert psnr(target, target) == psnr(off, target) == pytest.approx(10 * math.log10(255**2 * 192))


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_psnr_never_wraps_in_8_bits(data):
    output = data.draw(IMAGES)
    target = data.draw(arrays.arrays(np.uint8, output.shape))
    error = float(np.mean((output.astype(float) - target.astype(float)) ** 2))
    assert psnr(output, target) == pytest.approx(10 * math.log10(255**2 / max(error, 1 / output.size)))


@settings(max_examples=10, deadline=None)
@given(IMAGES)
def test_ssim_of_an_image_with_itself_is_1(image):
    assert ssim(image, image) == pytest.approx(1)


def test_ssim_of_flat_images_is_the_luminance_term_alone():
    # Without variance, SSIM is (2 a b + c) / (a² + b² + c) with c = (0.01 · 255)².
    c = 2.55**2
    assert ssim(grey(100, 16), grey(150, 16)) == pytest.approx((2 * 100 * 150 + c) / (100**2 + 150**2 + c))


@pytest.mark.parametrize("size", [4, 6, 8, 16, 32])
def test_ssim_is_a_number_at_every_size_and_tells_noise_from_likeness(size):
    random = np.random.default_rng(1)
    target = random.integers(0, 256, (size, size, 3), dtype=np.uint8)
    near = np.clip(target.astype(int) + random.integers(-5, 6, target.shape), 0, 255).astype(np.uint8)
    other = random.integers(0, 256, target.shape, dtype=np.uint8)
    assert -1 <= ssim(other, target) < 0.8 < ssim(near, target) < 1


def test_nearest_repeats_pixels():
    small = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    assert np.array_equal(nearest(small, 6), small.repeat(3, axis=0).repeat(3, axis=1))


@pytest.mark.parametrize("value", [0, 77, 255])
@pytest.mark.parametrize("enlarge", [nearest, bicubic])
def test_a_flat_image_stays_as_it_is(enlarge, value):
    assert np.array_equal(enlarge(grey(value, 2), 8), grey(value, 8))


def test_bicubic_is_smooth_and_clips_where_it_overshoots():
    small = np.zeros((4, 4, 3), dtype=np.uint8)
    small[:, 2:] = 255
    line = bicubic(small, 16)[8, :, 0].astype(int)
    assert line[0] == 0 and line[-1] == 255 and np.all(np.diff(line) >= 0)
    assert np.abs(np.diff(line)).max() < 255 / 2
