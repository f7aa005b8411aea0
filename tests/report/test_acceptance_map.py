import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpd.errors import BpdError
from bpd.report.acceptance_map import acceptance_map, accepted_at
from tests.report.example_images import image_record
from tests.report.visible import texts_out_of_sight

COLUMNS = {"regular": "Regular", "both": "Both"}


def record(block_sizes, size=2, index=0):
    return image_record(index, f"image_{index}", np.zeros((size, size, 3), dtype=np.uint8), block_sizes)


def test_a_pixel_shows_the_mean_block_of_its_tokens_by_hand():
    # Four pixels of three tokens; the blocks 2, 4, 1, 5 end in mid-pixel: 2 2 4 | 4 4 4 | 1 5 5 | 5 5 5.
    one = accepted_at([record([2, 4, 1, 5])], 2)
    assert one == pytest.approx(np.array([[8 / 3, 4], [11 / 3, 5]]))
    both = accepted_at([record([2, 4, 1, 5]), record([1] * 12)], 2)
    assert both == pytest.approx((np.array([[8 / 3, 4], [11 / 3, 5]]) + 1) / 2)


def test_rows_of_the_image_are_rows_of_the_map():
    found = accepted_at([record([1] * 6 + [3, 3])], 2)
    assert found.tolist() == [[1, 1], [3, 3]]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=12))
def test_its_mean_is_the_mean_of_squares_over_tokens(sizes):
    cut, room = [], 12
    for size in [*sizes, *[6, 6]]:
        if room:
            cut.append(min(size, room))
            room -= cut[-1]
    found = accepted_at([record(cut)], 2)
    assert found.mean() == pytest.approx(sum(size**2 for size in cut) / 12)
    assert found.min() >= min(cut) and found.max() <= max(cut)


def test_a_record_of_another_size_is_refused():
    with pytest.raises(BpdError, match="record 3: 12 tokens are no image of 3×3"):
        acceptance_map({(4, "both"): [record([4] * 3, index=3)]}, COLUMNS, np.zeros((3, 3, 3), np.uint8), "mini")


def test_there_is_a_map_for_each_k_and_column_and_a_colour_scale_for_each_k():
    decoded = {
        (2, "regular"): [record([1] * 12)],
        (2, "both"): [record([2] * 6)],
        (4, "regular"): [record([1] * 12)],
        (4, "both"): [record([4] * 3)],
    }
    mean = np.full((2, 2, 3), 99, dtype=np.uint8)
    figure = acceptance_map(decoded, COLUMNS, mean, "mini")
    maps, bars = figure.axes[:6], figure.axes[6:]
    assert [axes.get_title() for axes in maps[:3]] == ["Mean dev image", "Regular", "Both"]
    assert [maps[0].get_ylabel(), maps[3].get_ylabel()] == ["k = 2", "k = 4"]
    images = [axes.get_images()[0] for axes in maps]
    assert images[0].get_array().tolist() == mean.tolist()
    assert [np.unique(images[place].get_array()).tolist() for place in (1, 2, 4, 5)] == [[1], [2], [1], [4]]
    assert [images[place].get_clim() for place in (1, 2, 4, 5)] == [(1, 2), (1, 2), (1, 4), (1, 4)]
    assert {images[place].get_interpolation() for place in range(6)} == {"nearest"}
    assert [axes.get_ylabel() for axes in bars] == ["Tokens of the block (k = 2)", "Tokens of the block (k = 4)"]
    assert "mean of 1 dev images, scale mini" in figure.get_suptitle()
    assert not texts_out_of_sight(figure)


@pytest.mark.parametrize("decoded", [{}, {(4, "both"): [record([4] * 3)]}])
def test_a_missing_decoding_is_a_marked_gap(decoded):
    figure = acceptance_map(decoded, COLUMNS, np.zeros((2, 2, 3), dtype=np.uint8), "mini")
    _, regular, both = figure.axes[:3]
    assert [text.get_text() for text in regular.texts] == ["no result"] and not regular.get_images()
    assert bool(both.get_images()) == bool(decoded)
    figure.draw_without_rendering()
