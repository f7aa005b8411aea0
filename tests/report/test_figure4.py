"""Figure 4: its numbers, its published points, and what it draws."""

import csv
import io

import pytest

from bpd.report.figure4 import figure4, figure4_table, published_point
from bpd.report.timings import Timings
from tests.report.example_timings import write_timings
from tests.report.visible import text_box, texts_out_of_sight


@pytest.fixture
def timings(tmp_path):
    for size in (2, 6):
        speedups = {"recompute": 0.7 * size, "cached": 0.4 * size}
        write_timings(tmp_path, "translation", f"both_k{size}", "test", "exact", block=0.8 * size, speedups=speedups)
        write_timings(
            tmp_path, "super_resolution", f"fine_tuning_k{size}", "dev", "distance2", block=0.9 * size,
            speedups=speedups,
        )  # fmt: skip
    return [
        Timings(tmp_path, "translation", "test", "exact", ["both_k2", "both_k6"]),
        Timings(tmp_path, "super_resolution", "dev", "distance2", ["fine_tuning_k2", "fine_tuning_k6"]),
    ]


def test_published_points_are_those_of_the_paper():
    assert published_point("translation", 8) == (4.69, 3.31)
    assert published_point("translation", 2) == (1.88, 1.72)
    assert published_point("translation", 1) is None and published_point("translation", 3) is None
    assert published_point("super_resolution", 6) == (5.3, 4.0)
    assert published_point("super_resolution", 8) is None


def test_the_numbers(timings):
    rows = list(csv.DictReader(io.StringIO(figure4_table(timings, "mini").csv())))
    assert [(row["task"], row["k"], row["protocol"]) for row in rows] == [
        (task, k, protocol)
        for task in ("translation", "super_resolution")
        for k in ("2", "6")
        for protocol in ("recompute", "cached")
    ]
    first = rows[0]
    assert float(first["speedup"]) == pytest.approx(1.4) and float(first["mean_accepted_block_size"]) == pytest.approx(
        1.6
    )
    assert float(first["efficiency"]) == pytest.approx(1.4 / 1.6)
    assert (first["published_mean_accepted_block_size"], first["published_speedup"]) == ("1.88", "1.72")
    # Published speedups are of the original's protocol: nothing stands beside the cached one.
    assert all(row["published_speedup"] == "" for row in rows if row["protocol"] == "cached")
    assert rows[6]["published_speedup"] == "4.0" and rows[4]["published_speedup"] == ""


def test_an_efficiency_above_1_is_noise_and_the_notes_say_so(timings):
    assert "its limit is 1, up to the noise of the timings" in figure4_table(timings, "mini").markdown()


def test_the_picture_draws_ours_filled_published_hollow_and_the_limit(timings):
    panels = figure4(timings, "mini").axes
    assert [axes.get_title() for axes in panels] == ["Translation (test)", "Super-resolution (dev)"]
    for axes, block in zip(panels, (0.8, 0.9)):
        lines = {line.get_label(): line for line in axes.get_lines()}
        (limit,) = (line for label, line in lines.items() if label.startswith("Limit"))
        assert list(limit.get_xdata()) == list(limit.get_ydata())
        (theirs,) = (line for label, line in lines.items() if label.startswith("Published"))
        assert theirs.get_markerfacecolor() == "white"
        bars = {container.get_label(): container for container in axes.containers}
        ours = bars["This replication, whole prefix at every step"].lines[0]
        assert list(ours.get_xdata()) == pytest.approx([2 * block, 6 * block], rel=0.01)
        assert list(ours.get_ydata()) == pytest.approx([1.4, 4.2])
        assert axes.get_ylim()[0] == 0
        assert axes.get_xlim()[1] > max(*ours.get_xdata(), *theirs.get_xdata())


def test_a_task_without_timings_keeps_its_published_points(tmp_path):
    empty = [Timings(tmp_path, task, "dev", "exact", []) for task in ("translation", "super_resolution")]
    assert len(list(csv.DictReader(io.StringIO(figure4_table(empty, "mini").csv())))) == 0
    panels = figure4(empty, "mini").axes
    assert [len(axes.containers) for axes in panels] == [0, 0]
    assert any(line.get_label().startswith("Published") for line in panels[0].get_lines())


def crowded(folder, blocks):
    for size, block in blocks.items():
        for task, model, set_name, criterion in (
            ("translation", "both", "test", "exact"), ("super_resolution", "fine_tuning", "dev", "distance2"),
        ):  # fmt: skip
            speedups = {"recompute": 0.9 + block / 100, "cached": 0.6 + block / 100}
            write_timings(folder, task, f"{model}_k{size}", set_name, criterion, block=block, speedups=speedups)
    return [
        Timings(folder, "translation", "test", "exact", [f"both_k{size}" for size in blocks]),
        Timings(folder, "super_resolution", "dev", "distance2", [f"fine_tuning_k{size}" for size in blocks]),
    ]


def test_crowded_points_are_labelled_in_an_inset(tmp_path):
    figure = figure4(crowded(tmp_path, {2: 1.05, 4: 1.06}), "smoke")
    for axes in figure.axes:
        (inset,) = axes.child_axes
        assert inset.get_title() == "Ours, enlarged"
        assert sorted(text.get_text() for text in inset.texts) == ["2", "2", "4", "4"]
        boxes = [text_box(text) for text in inset.texts]
        assert not any(one.overlaps(other) for place, one in enumerate(boxes) for other in boxes[:place])
        assert {text.get_color() for text in axes.texts} == {"#444444"}, "in the panel, published points alone"
    assert not texts_out_of_sight(figure)


def test_there_is_no_inset_where_points_stand_apart_or_lie_where_it_would(timings, tmp_path):
    assert not any(axes.child_axes for axes in figure4(timings, "mini").axes)
    across = {2: 4.0, 4: 4.01}
    assert not any(axes.child_axes for axes in figure4(crowded(tmp_path / "right", across), "smoke").axes)


def test_bars_are_explained(timings):
    assert "bars: least and largest of the repeats" in figure4(timings, "mini").get_suptitle()
