import pytest

from bpd.report.block_histograms import block_histograms
from bpd.report.image_scores import ImageScores
from bpd.report.scores import Scores
from tests.report import example_images
from tests.report.example_results import write_score
from tests.report.visible import texts_out_of_sight


def heights(axes):
    return [bar.get_height() for bar in axes.patches]


def test_bars_are_shares_of_iterations(tmp_path):
    counts = {"1": 10, "2": 5, "4": 25}
    score = write_score(tmp_path, "both_k4", block_size_counts=counts, mean_accepted_block_size=3.0)
    (axes,) = block_histograms(Scores([score]), (4,), ("both",), "mini").axes
    assert heights(axes) == pytest.approx([25.0, 12.5, 0.0, 62.5])
    assert [bar.get_x() + bar.get_width() / 2 for bar in axes.patches] == pytest.approx([1, 2, 3, 4])
    (line,) = axes.get_lines()
    assert list(line.get_xdata()) == [3.0, 3.0]
    assert "mean 3.00" in [text.get_text() for text in axes.texts]


def test_there_is_a_panel_for_each_k_above_1_and_setting(tmp_path):
    paths = [write_score(tmp_path, f"{name}_k{size}") for name in ("regular", "both") for size in (1, 2, 4)]
    figure = block_histograms(Scores(paths), (1, 2, 4), ("regular", "both"), "mini")
    assert [len(heights(axes)) for axes in figure.axes] == [2, 2, 4, 4]
    assert [axes.get_title() for axes in figure.axes[:2]] == ["Regular", "Both"]
    assert [axes.get_ylabel() for axes in figure.axes[::2]] == ["k = 2\n% of iterations", "k = 4\n% of iterations"]
    assert figure.get_supxlabel() == "Accepted tokens per iteration (dotted: mean)"
    assert "newstest2013, exact criterion, scale mini" in figure.get_suptitle()
    assert not texts_out_of_sight(figure)


def test_a_missing_model_is_a_marked_gap(tmp_path):
    scores = Scores([write_score(tmp_path, "regular_k2")])
    there, missing = block_histograms(scores, (2,), ("regular", "both"), "mini").axes
    assert len(heights(there)) == 2
    assert heights(missing) == [] and [text.get_text() for text in missing.texts] == ["no result"]


def test_a_grid_of_k_1_alone_is_drawn(tmp_path):
    score = write_score(tmp_path, "regular_k1", block_size_counts={"1": 7}, mean_accepted_block_size=1.0)
    (axes,) = block_histograms(Scores([score]), (1,), ("regular",), "mini").axes
    assert heights(axes) == [100.0]


def test_columns_may_be_decodings_by_several_criteria(tmp_path):
    paths = [
        example_images.write_score(tmp_path, "regular_k2", criterion, block_size_counts=counts)
        for criterion, counts in (("exact", {"1": 4}), ("distance2", {"1": 1, "2": 3}))
    ]
    figure = block_histograms(
        ImageScores(paths),
        (1, 2),
        ("regular", "approximate"),
        "mini",
        titles={"regular": "Regular", "approximate": "Approximate"},
        source=lambda column, size: (f"regular_k{size}", "exact" if column == "regular" else "distance2"),
        criterion="exact and ε = 2",
    )
    assert [heights(axes) for axes in figure.axes] == [[100.0, 0.0], [25.0, 75.0]]
    assert [axes.get_title() for axes in figure.axes] == ["Regular", "Approximate"]
    assert "on dev, exact and ε = 2, scale mini" in figure.get_suptitle()


def test_the_mean_stands_above_the_bars(tmp_path):
    score = write_score(tmp_path, "both_k2", block_size_counts={"1": 1, "2": 99}, mean_accepted_block_size=1.99)
    figure = block_histograms(Scores([score]), (2,), ("both",), "mini")
    figure.draw_without_rendering()
    (axes,) = figure.axes
    assert axes.texts[0].get_window_extent().y0 > axes.patches[1].get_window_extent().y1


def test_several_seeds_are_told(tmp_path):
    files = {seed: [write_score(tmp_path / str(seed), "both_k2")] for seed in (1, 2)}
    assert block_histograms(Scores(files), (2,), ("both",), "mini").get_suptitle().endswith(", 2 seeds")


def test_no_share_above_the_whole_is_on_the_axis(tmp_path):
    score = write_score(tmp_path, "both_k2", block_size_counts={"1": 7}, mean_accepted_block_size=1.0)
    (axes,) = block_histograms(Scores([score]), (2,), ("both",), "mini").axes
    assert axes.get_ylim()[1] > 100 and max(axes.get_yticks()) == 100 and min(axes.get_yticks()) == 0
