import pytest
from PIL import Image

from bpd.report.trace_animation import _MARGIN_INCHES, _WIDTH_INCHES, flow, frames, write_trace_animation
from tests.report.example_results import TRACE


def test_each_block_is_shown_as_predicted_and_as_accepted_and_then_the_whole_output():
    made = frames(TRACE)
    assert [frame.iteration for frame in made] == [1, 1, 2, 2, 3, 3, 4, 4, 4]
    assert [frame.accepted for frame in made] == [None, 5, None, 1, None, 3, None, 4, 0]
    assert made[2].before == (("▁Der", "▁5", "$", "-", "Mann"),) and made[2].proposed == ("▁verkauf", "en", "|")
    assert [len(block) for block in made[-1].before] == [5, 1, 3, 4] and made[-1].proposed == ()


def test_greedy_decoding_emits_one_token_an_iteration():
    assert [frame.greedy for frame in frames(TRACE)] == [0, 1, 1, 2, 2, 3, 3, 4, 4]


def test_pieces_flow_over_rows_and_stay_within_the_picture():
    pieces = ["▁Wort"] * 40
    places = flow(pieces)
    assert places[0] == (_MARGIN_INCHES, 0) and places[-1][1] > 2
    assert all(_MARGIN_INCHES <= x < _WIDTH_INCHES - _MARGIN_INCHES for x, _ in places)
    rows = [row for _, row in places]
    assert rows == sorted(rows)


def test_a_piece_wider_than_the_picture_has_a_row_of_its_own_and_does_not_hang():
    assert [row for _, row in flow(["a", "x" * 200, "b"])] == [0, 1, 2]


@pytest.mark.parametrize("steps", [TRACE["steps"], TRACE["steps"][-1:]])
def test_the_file_runs_once_shows_every_moment_and_stays_small(steps, tmp_path):
    trace = TRACE | {"steps": steps}
    path = write_trace_animation(trace, "mini", tmp_path / "trace.gif")
    with Image.open(path) as picture:
        assert picture.n_frames == len(frames(trace))
        assert "loop" not in picture.info, "it should stop at its end"
        assert picture.width <= 1000
        assert min(picture.convert("RGB").getpixel((0, 0))) > 250
        picture.seek(picture.n_frames - 1)
        assert picture.info["duration"] >= 3000
    assert path.stat().st_size < 200_000
