"""Table 4: our rows, the published ones and the quoted ones, from scores and timings."""

import csv
import io

import pytest

from bpd.report.published import published
from bpd.report.scores import Scores
from bpd.report.table4 import COLUMNS, OURS, table4
from bpd.report.timings import Timings
from tests.report.example_results import SETTINGS, write_score
from tests.report.example_timings import write_timings


@pytest.fixture
def scores(tmp_path):
    return Scores(
        [
            write_score(tmp_path, "base", role="test", bleu=30.0),
            write_score(tmp_path, "distillation_k1", role="test", bleu=31.125),
            write_score(tmp_path, "both_k4", role="test", bleu=28.5),
            write_score(tmp_path, "both_k5", role="test", bleu=28.25),
        ]
    )


@pytest.fixture
def timings(tmp_path):
    for model, block in (("both_k4", 2.0), ("both_k5", 2.5)):
        write_timings(
            tmp_path, "translation", model, "newstest2014", "exact", block=block,
            speedups={"recompute": block - 0.5, "cached": 0.8},
        )  # fmt: skip
    return Timings(tmp_path, "translation", "newstest2014", "exact", ["both_k5", "both_k4"])


def rows_of(table):
    return list(csv.DictReader(io.StringIO(table.csv())))


def test_our_rows(scores, timings):
    base, *rows = rows_of(table4(scores, timings, (4, 5, 8), SETTINGS, "mini"))
    assert (base["system"], base["source"], base["k"]) == ("Base model, greedy", OURS, "")
    assert (base["bleu"], base["speedup"], base["speedup_cached"]) == ("30.0", "1.0", "1.0")
    assert base["published_bleu"] == base["published_speedup"] == ""
    rows = {row["k"]: row for row in rows if row["k"]}
    assert list(rows) == ["1", "4", "5", "8"] and all(row["source"] == OURS for row in rows.values())
    assert (rows["1"]["bleu"], rows["1"]["speedup"], rows["1"]["speedup_cached"]) == ("31.125", "1.0", "1.0")
    assert rows["1"]["published_bleu"] == "29.11"
    assert rows["4"]["bleu"] == "28.5" and float(rows["4"]["speedup"]) == pytest.approx(1.5)
    assert float(rows["4"]["speedup_low"]) == pytest.approx(1.35)
    assert float(rows["4"]["speedup_high"]) == pytest.approx(1.65)
    assert float(rows["4"]["speedup_cached"]) == pytest.approx(0.8)
    assert (rows["4"]["published_bleu"], rows["4"]["published_speedup"]) == ("28.54", "2.69")
    assert float(rows["5"]["speedup"]) == pytest.approx(2.0) and rows["5"]["published_bleu"] == ""
    assert rows["8"]["bleu"] == rows["8"]["speedup"] == "" and rows["8"]["published_speedup"] == "3.31"


def test_quoted_rows_are_published_numbers_only(scores, timings):
    rows = [row for row in rows_of(table4(scores, timings, (4,), SETTINGS, "mini")) if row["source"] != OURS]
    quoted = published()["table4"]["quoted"]
    assert len(rows) == len(quoted) == 17
    for row, (bleu, speedup) in zip(rows, quoted.values()):
        assert float(row["published_bleu"]) == bleu
        assert row["published_speedup"] == ("" if speedup is None else str(speedup))
        assert all(not row[name] for name in COLUMNS if name not in ("system", "source") and "published" not in name)
    assert {row["source"] for row in rows} == {
        "Vaswani et al., 2017", "Gu et al., 2018", "Lee et al., 2018", "Kaiser et al., 2018",
    }  # fmt: skip


def test_without_a_distilled_greedy_model_no_other_stands_in(tmp_path, timings):
    scores = Scores([write_score(tmp_path, "base", role="test", bleu=30.0)])
    base, greedy, *_ = rows_of(table4(scores, timings, (4,), SETTINGS, "mini"))
    assert (base["bleu"], greedy["k"], greedy["bleu"]) == ("30.0", "1", "")


def test_the_notes_say_which_model_is_timed_and_whose_bleu_stands_at_k_1(scores, timings):
    markdown = table4(scores, timings, (4,), SETTINGS, "mini").markdown()
    assert "Every speedup is over greedy decoding of the base model" in markdown
    assert "its BLEU is that of distillation_k1, which was not timed" in markdown
    assert "that of regular_k1" in table4(scores, timings, (4,), ("regular",), "mini").markdown()
    assert "| Base model, greedy (this replication) | 30.00 | 1.00× | 1.00× |" in markdown


def test_another_setting_has_no_published_numbers(scores, timings):
    ours = [row for row in rows_of(table4(scores, timings, (4,), ("regular",), "mini")) if row["k"]]
    assert all(row["published_bleu"] == "" for row in ours)


def test_markdown_and_latex_show_spreads_and_where_it_was_timed(scores, timings):
    table = table4(scores, timings, (4,), SETTINGS, "mini")
    markdown = table.markdown()
    assert (
        "| Blockwise, k = 4 (this replication) | 28.50 | 1.50× (1.35–1.65) | 0.80× (0.72–0.88) | 28.54 | 2.69× |"
        in markdown
    )
    assert "cpu: Testing" in markdown and "compare the pattern" in markdown and "2 inputs, 3 repeats" in markdown
    assert "1.50$\\times$ (1.35--1.65)" in table.latex()
    assert "compare the pattern" not in table4(scores, timings, (4,), SETTINGS, "paper").markdown()
