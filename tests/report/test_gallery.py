import numpy as np
import pytest

from bpd.data.image_set import ImageSet
from bpd.errors import BpdError
from bpd.report.gallery import gallery
from tests.report.example_images import drawn_images, image_record
from tests.report.visible import texts_out_of_sight

BLOCKS = [4] * 24 + [2] * 48


@pytest.fixture
def images(tmp_path):
    pictures = drawn_images(5)
    pictures[1] = ("a name that is far too long to stand below a picture", *pictures[1][1:])
    ImageSet.write(tmp_path / "dev", pictures, 2, 8, {})
    return ImageSet.open(tmp_path / "dev")


def decodings(images, count=5):
    """Return an image for each of the first images: all of one colour, which tells method and image."""
    return {
        title: [
            image_record(index, images.names[index], np.full((8, 8, 3), shade + index, np.uint8), blocks)
            for index in range(count)
        ]
        for title, shade, blocks in (("Greedy", 10, [1] * 192), ("Approximate", 20, BLOCKS))
    }


def shown(axes):
    return axes.get_images()[0].get_array()


def test_a_row_is_input_outputs_and_target_of_one_image(images):
    figure = gallery(images, decodings(images), 3, "mini", columns_of_rows=1)
    rows = [figure.axes[4 * line : 4 * line + 4] for line in range(3)]
    assert [axes.get_title() for axes in rows[0]] == ["Input", "Greedy", "Approximate", "Target"]
    for index, (small, greedy, approximate, large) in enumerate(rows):
        assert np.array_equal(shown(small), images.inputs[index])
        assert np.unique(shown(greedy)).tolist() == [10 + index]
        assert np.unique(shown(approximate)).tolist() == [20 + index]
        assert np.array_equal(shown(large), images.targets[index])
        assert {axes.get_images()[0].get_interpolation() for axes in rows[index]} == {"nearest"}
        assert (greedy.get_xlabel(), approximate.get_xlabel(), large.get_xlabel()) == ("1.00", "2.67", "")
    assert [row[0].get_xlabel() for row in rows] == ["image_0", "", "image_2"], "a long name is left out"
    assert "2×2 to 8×8, scale mini" in figure.get_suptitle()
    assert not texts_out_of_sight(figure)


def test_two_groups_stand_side_by_side_and_the_images_go_down(images):
    figure = gallery(images, decodings(images), 5, "mini")
    places = {}
    figure.draw_without_rendering()
    for index in range(5):
        axes = figure.axes[4 * index + 1]
        assert np.unique(shown(axes)).tolist() == [10 + index]
        places[index] = axes.get_position().get_points()[0]
    assert places[0][0] == places[2][0] < places[3][0] == places[4][0]
    assert places[0][1] == places[3][1] > places[1][1] > places[2][1]
    assert len(figure.axes) == 20
    assert not texts_out_of_sight(figure)


@pytest.mark.parametrize(("rows", "count", "wanted"), [(1, 5, 1), (9, 5, 5), (4, 2, 2)])
def test_it_shows_as_many_images_as_there_are(images, rows, count, wanted):
    figure = gallery(images, decodings(images, count), rows, "mini")
    assert len(figure.axes) == 4 * wanted
    assert not texts_out_of_sight(figure)


def test_one_method_is_enough(images):
    decoded = {"Greedy": decodings(images)["Greedy"]}
    figure = gallery(images, decoded, 1, "mini")
    assert [axes.get_title() for axes in figure.axes] == ["Input", "Greedy", "Target"]
    assert not texts_out_of_sight(figure)


def test_a_record_of_another_image_is_refused(images):
    decoded = decodings(images)
    decoded["Approximate"][0], decoded["Approximate"][2] = decoded["Approximate"][2], decoded["Approximate"][0]
    with pytest.raises(BpdError, match=r"Approximate: record 0 is of image_2, but .*dev has image_0"):
        gallery(images, decoded, 1, "mini")
