"""Several seeds: scores are means, their spread is shown, and every seed's provenance is kept."""

from statistics import fmean, stdev

import pytest

from bpd.commands.report import write_figures, write_tables
from bpd.errors import BpdError
from bpd.grid import replica_folder, replica_seed
from bpd.report.image_scores import ImageScores
from bpd.report.scatter import table1_scatter
from bpd.report.scores import Scores
from bpd.report.table2 import table2
from bpd.report.table4 import table4
from bpd.report.tables import table1
from bpd.report.timings import Timings
from tests.report.example_images import write_score as write_image_score
from tests.report.example_results import SETTINGS, score_values, write_results, write_score

BLEU, BLOCK = (20.0, 21.0, 23.5), (1.5, 1.75, 1.625)


def decoding(seed):
    return score_values("both_k2")["decoding"] | {"seed": seed, "checkpoint_sha256": str(seed) * 64}


@pytest.fixture
def scores(tmp_path):
    files = {}
    for seed, bleu, block in zip((1, 2, 3), BLEU, BLOCK):
        root = replica_folder(tmp_path, seed)
        files[seed] = [
            write_score(root, "base", bleu=20.0 + seed, mean_accepted_block_size=1.0),
            write_score(
                root, "both_k2", bleu=bleu, mean_accepted_block_size=block, block_size_counts={"1": seed, "2": 10},
                decoding=decoding(seed),
            ),
            write_score(root, "both_k2", role="test", bleu=bleu + 1),
        ]  # fmt: skip
    return Scores(files)


def test_a_score_is_the_mean_over_seeds_with_its_deviation(scores):
    found = scores.get("both_k2", "exact")
    assert found["bleu"] == pytest.approx(fmean(BLEU)) and found["sd"]["bleu"] == pytest.approx(stdev(BLEU))
    assert found["mean_accepted_block_size"] == pytest.approx(fmean(BLOCK))
    assert found["block_size_counts"] == {"1": 6, "2": 30}
    assert found["model"] == "both_k2"


def test_every_seed_keeps_its_row_and_its_origin(scores):
    assert len(scores.frame()) == 9
    rows = scores.origins([("both_k2", "exact")])
    assert [(row["seed"], row["checkpoint"]) for row in rows] == [(seed, seed * 12) for seed in "123"]


def test_where_one_seed_has_no_number_there_is_no_mean(scores, tmp_path):
    write_score(replica_folder(tmp_path, 3), "both_k2", bleu=float("nan"))
    again = Scores(
        {seed: [replica_folder(tmp_path, seed) / "translation/both_k2/decode/newstest2013/exact.score.json"]
         for seed in (1, 2, 3)}
    )  # fmt: skip
    assert again.get("both_k2", "exact") is None


def test_tables_show_mean_and_deviation(scores, tmp_path):
    table = table1(scores, (2,), ("both",), "mini")
    mean, spread = f"{fmean(BLEU):.2f} ± {stdev(BLEU):.2f}", f"{fmean(BLOCK):.2f} ± {stdev(BLOCK):.2f}"
    assert f"| 2 | {mean} / {spread} | 26.58 / 1.88 |" in table.markdown()
    assert "Mean ± standard deviation over 3 seeds" in table.markdown()
    assert mean.replace(" ± ", "~$\\pm$~") in table.latex()
    row = next(line for line in table.csv().splitlines() if line.startswith("2,both"))
    assert [float(value) for value in row.split(",")[-2:]] == pytest.approx([stdev(BLEU), stdev(BLOCK)])
    empty = Timings(tmp_path, "translation", "newstest2014", "exact", [])
    assert f"{fmean(BLEU) + 1:.2f} ± {stdev(BLEU):.2f}" in table4(scores, empty, (2,), SETTINGS, "mini").markdown()


def test_one_seed_shows_no_deviation(tmp_path):
    scores = Scores([write_score(tmp_path, "both_k2", bleu=20.0, mean_accepted_block_size=1.5)])
    markdown = table1(scores, (2,), ("both",), "mini").markdown()
    assert "±" not in markdown and "| 2 | 20.00 / 1.50 |" in markdown


def test_the_report_reads_each_seed_from_its_own_folder(tmp_path):
    settings = write_results(tmp_path, (1, 2)).model_copy(update={"seeds": (1, 4)})
    with pytest.raises(BpdError, match=r"seed_4/translation/base/decode/newstest2013/exact\.score\.json: no such"):
        write_tables(settings, tmp_path, tmp_path / "tables")
    write_results(tmp_path / "seed_4", (1, 2))
    write_tables(settings, tmp_path, tmp_path / "tables")
    write_figures(settings, tmp_path, tmp_path / "figures")
    assert "± 0.00" in (tmp_path / "tables" / "table1.md").read_text(encoding="utf-8")
    rows = (tmp_path / "tables" / "scores.csv").read_text(encoding="utf-8").splitlines()[1:]
    assert len(rows) == 2 * (3 + 6 * 2 + 3)


def test_replicas_differ_in_every_seed_and_the_first_is_the_configs_own(tmp_path):
    assert replica_seed(3, 1) == 3 and replica_folder(tmp_path, 1) == tmp_path
    seeds = {replica_seed(seed, replica) for seed in (1, 2, 3) for replica in range(1, 50)}
    assert len(seeds) == 3 * 49


def test_the_baseline_has_its_deviation_too(scores):
    assert (
        "Baseline, greedy, before any head: BLEU 22.00 ± 1.00; published"
        in table1(scores, (2,), ("both",), "mini").markdown()
    )
    ours, theirs = table1_scatter(scores, (2,), ("both",), "mini").axes
    (band,) = ours.patches
    assert (band.get_y(), band.get_y() + band.get_height()) == pytest.approx((21.0, 23.0))
    assert ours.get_title().endswith("\nBars and band: ± one standard deviation over 3 seeds")
    assert not theirs.patches


def test_one_seed_has_neither_band_nor_word_of_it(tmp_path):
    ours = table1_scatter(Scores([write_score(tmp_path, "base")]), (2,), ("both",), "mini").axes[0]
    assert not ours.patches and "deviation" not in ours.get_title()


def test_the_image_base_model_has_its_deviation_too(tmp_path):
    files = {
        seed: [write_image_score(replica_folder(tmp_path, seed), "base", psnr=21.0 + seed, bits_per_dimension=5.0)]
        for seed in (1, 2, 3)
    }
    text = table2(ImageScores(files), (2,), ("regular",), "distance2", "mini").markdown()
    assert "Base model, greedy: 5.00 ± 0.00 bits per intensity" in text and "PSNR 23.00 ± 1.00 dB, SSIM" in text


def test_the_scatter_plot_has_a_cross_for_each_point_of_several_seeds(scores, tmp_path):
    def crosses(found):
        return len(table1_scatter(found, (2,), ("both",), "mini").axes[0].containers)

    assert crosses(scores) == 1
    assert crosses(Scores([write_score(tmp_path, "both_k2")])) == 0
