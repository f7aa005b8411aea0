import numpy as np

from bpd.report.published import published, table1_cell
from bpd.report.scatter import table1_scatter
from bpd.report.scores import Scores
from bpd.report.tables import table1
from tests.report.example_results import SETTINGS, models_of, write_score
from tests.report.visible import text_box, texts_out_of_sight

SIZES = (1, 2, 4)


def write_grid(folder, sizes=SIZES, **changed):
    paths = [write_score(folder, "base", bleu=25.25)]
    for place, model in enumerate(models_of(sizes)):
        values = {"bleu": 25 - 0.1 * place, "mean_accepted_block_size": 1 + 0.2 * place}
        values |= changed.get(model, {})
        values["mean_accepted_block_size"] = min(values["mean_accepted_block_size"], int(model.rpartition("_k")[2]))
        paths.append(write_score(folder, model, **values))
    return Scores(paths)


def points(axes):
    """Return the points of each line with markers, and the height of the baselines, by label."""
    drawn = {line.get_label(): line.get_xydata() for line in axes.get_lines() if line.get_marker() != "None"}
    flat = {line.get_label(): line.get_ydata()[0] for line in axes.get_lines() if line.get_marker() == "None"}
    return drawn, flat


def test_there_are_as_many_points_as_rows(tmp_path):
    scores = write_grid(tmp_path)
    cells = [cell for (_, setting), cell in table1(scores, SIZES, SETTINGS, "mini").cells.items() if setting != "base"]
    everything = [cell for row in published()["table1"]["rows"].values() for cell in row.values()]
    ours, theirs = table1_scatter(scores, SIZES, SETTINGS, "mini").axes
    assert sum(map(len, points(ours)[0].values())) == sum(cell.bleu is not None for cell in cells) == 10
    assert sum(map(len, points(theirs)[0].values())) == len(everything) == 22, "published, whether run here or not"


def test_points_are_block_size_across_and_bleu_up(tmp_path):
    scores = write_grid(tmp_path, both_k2={"bleu": 24.5, "mean_accepted_block_size": 1.75})
    ours, theirs = table1_scatter(scores, SIZES, SETTINGS, "mini").axes
    drawn, flat = points(ours)
    assert drawn["Both"][0].tolist() == [1.75, 24.5]
    assert flat == {"Baseline, greedy": 25.25}
    drawn, flat = points(theirs)
    expected = [table1_cell(size, "both")[::-1] for size in (2, 4, 6, 8, 10)]
    np.testing.assert_array_equal(drawn["Both, published"], expected)
    assert flat == {"Baseline, greedy, published": 25.56}


def test_axes_and_the_published_half_are_labelled(tmp_path):
    figure = table1_scatter(write_grid(tmp_path), SIZES, SETTINGS, "mini")
    ours, theirs = figure.axes
    assert ours.get_title() == "This replication: newstest2013, scale mini"
    assert theirs.get_title().startswith("Published: Stern et al. (2018)")
    assert {one.get_xlabel() for one in figure.axes} == {"Mean accepted block size (tokens per iteration)"}
    assert [one.get_ylabel() for one in figure.axes] == ["BLEU (sacreBLEU 13a)", "BLEU (as published)"]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["Regular", "Distillation", "Fine Tuning", "Both", "Baseline, greedy"]


def test_at_the_paper_scale_both_share_their_axes(tmp_path):
    scores = write_grid(tmp_path)
    figure = table1_scatter(scores, SIZES, SETTINGS, "paper")
    (axes,) = figure.axes
    drawn, flat = points(axes)
    assert sum(len(found) for label, found in drawn.items() if label.endswith(", published")) == 22
    assert sum(len(found) for label, found in drawn.items() if not label.endswith(", published")) == 10
    assert flat == {"Baseline, greedy": 25.25, "Baseline, greedy, published": 25.56}
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert sorted(labels) == sorted([*drawn, *flat])
    assert not texts_out_of_sight(figure)


def test_every_point_says_its_k_and_no_label_covers_another(tmp_path):
    sizes = (1, 2, 4, 6, 8, 10)
    near = {f"regular_k{size}": {"bleu": 25 + size / 100, "mean_accepted_block_size": 1.7} for size in sizes}
    figure = table1_scatter(write_grid(tmp_path, sizes, **near), sizes, SETTINGS, "mini")
    for axes in figure.axes:
        found = [text for text in axes.texts if text.get_text().isdigit()]
        assert len(found) == 22
        boxes = [text_box(text).shrunk(0.8, 0.8) for text in found]
        assert not any(one.overlaps(other) for place, one in enumerate(boxes) for other in boxes[:place])
    assert not texts_out_of_sight(figure)


def test_a_missing_result_is_a_marked_gap(tmp_path):
    scores = write_grid(tmp_path)
    del scores._scores["both_k4", "dev", "exact"]
    ours, theirs = table1_scatter(scores, SIZES, SETTINGS, "mini").axes
    assert len(points(ours)[0]["Both"]) == 1
    assert len(points(theirs)[0]["Both, published"]) == 5
    assert "No result: Both, k = 4" in [text.get_text() for text in ours.texts]


def test_a_whole_grid_has_no_gaps(tmp_path):
    ours, _ = table1_scatter(write_grid(tmp_path), SIZES, SETTINGS, "mini").axes
    assert not any("No result" in text.get_text() for text in ours.texts)


def test_a_setting_that_only_the_paper_has_is_explained(tmp_path):
    scores = Scores([write_score(tmp_path, "regular_k2")])
    figure = table1_scatter(scores, (2,), SETTINGS, "mini")
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "Regular" in labels and "Both, published" in labels and "Regular, published" not in labels
