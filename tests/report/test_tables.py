import csv
from pathlib import Path

import pytest

from bpd.report.scores import Scores
from bpd.report.table_files import markdown_page, read_markdown
from bpd.report.tables import GAP, approximate_table, table1, write_table
from tests.report.example_results import SETTINGS, write_score

HEADER = (
    "bleu,mean_accepted_block_size,published_bleu,published_mean_accepted_block_size,"
    "bleu_sd,mean_accepted_block_size_sd"
)


@pytest.fixture
def scores(tmp_path):
    return Scores(
        [
            write_score(tmp_path, "base", bleu=24.126, mean_accepted_block_size=1.0),
            write_score(tmp_path, "regular_k2", bleu=24.0, mean_accepted_block_size=1.5),
            write_score(tmp_path, "both_k2", bleu=23.456, mean_accepted_block_size=1.875),
            write_score(tmp_path, "both_k2", "top2", bleu=22.0, mean_accepted_block_size=1.9),
            write_score(tmp_path, "both_k2", "minimum2", bleu=12.5, mean_accepted_block_size=2.0),
            write_score(tmp_path, "both_k3", bleu=20.0, mean_accepted_block_size=2.25),
            write_score(tmp_path, "both_k2", role="test", bleu=99.0),
        ]
    )


@pytest.fixture
def table(scores):
    return table1(scores, (1, 2, 3, 4), SETTINGS, "mini")


@pytest.fixture
def approximate(scores):
    return approximate_table(scores, (1, 2, 3, 4), ("top2", "minimum2"), "mini")


def test_table_1_as_csv(table):
    assert table.csv() == (
        f"k,setting,{HEADER}\n"
        "1,base,24.126,1.0,25.56,,,\n"
        "1,regular,,,26.0,1.0,,\n"
        "1,distillation,,,26.41,1.0,,\n"
        "2,regular,24.0,1.5,25.81,1.51,,\n"
        "2,distillation,,,26.52,1.55,,\n"
        "2,fine_tuning,,,25.74,1.78,,\n"
        "2,both,23.456,1.875,26.58,1.88,,\n"
        "3,both,20.0,2.25,,,,\n"
        "4,regular,,,25.84,1.73,,\n"
        "4,distillation,,,26.31,1.85,,\n"
        "4,fine_tuning,,,25.05,2.69,,\n"
        "4,both,,,26.36,3.27,,\n"
    )


def test_the_approximate_table_as_csv(approximate):
    assert approximate.csv() == (
        f"k,criterion,{HEADER}\n"
        "2,exact,23.456,1.875,26.58,1.88,,\n"
        "2,top2,22.0,1.9,26.49,1.92,,\n"
        "2,minimum2,12.5,2.0,,,,\n"
        "3,exact,20.0,2.25,,,,\n"
        "4,exact,,,26.36,3.27,,\n"
        "4,top2,,,26.22,3.47,,\n"
    )


def test_a_table_of_nothing_keeps_its_header(scores):
    assert approximate_table(scores, (1,), ("top2",), "mini").csv() == f"k,criterion,{HEADER}\n"
    assert table1(scores, (1,), ("both",), "mini").csv() == f"k,setting,{HEADER}\n1,base,24.126,1.0,25.56,,,\n"


def test_table_1_as_markdown(table):
    rows = [line for line in table.markdown().split("Baseline")[0].splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert cells[0] == [
        "k",
        *("Regular", "Regular, published"),
        *("Distillation", "Distillation, published"),
        *("Fine Tuning", "Fine Tuning, published"),
        *("Both", "Both, published"),
    ]
    assert cells[2] == ["1", GAP, "26.00 / 1.00", GAP, "26.41 / 1.00", GAP, GAP, GAP, GAP]
    assert cells[3][:3] + cells[3][-2:] == ["2", "24.00 / 1.50", "25.81 / 1.51", "23.46 / 1.88", "26.58 / 1.88"]
    assert cells[4] == ["3", *[GAP] * 6, "20.00 / 2.25", GAP]
    assert cells[5][-2:] == [GAP, "26.36 / 3.27"], "a BLEU that is not a number is a gap"
    assert len(cells) == 6


def test_table_1_says_what_it_is_of(table):
    text = table.markdown()
    assert "**Table 1. BLEU / mean accepted block size on newstest2013 (dev), scale mini**" in text
    assert "Baseline, greedy, before any head: BLEU 24.13; published 25.56." in text
    assert "sacreBLEU signature: nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0." in text
    assert "device cpu; precision fp32; commit 0123456789ab" in text
    assert "Published: Stern et al. (2018), newstest2013, WMT14 English–German." in text


def test_table_1_says_what_each_model_is(table):
    origins = table.markdown().split("\n\n")[-1].splitlines()
    assert origins[0] == "| model | seed | config | checkpoint |"
    models = [row.split("|")[1].strip() for row in origins[2:]]
    assert models == ["base", "regular_k2", "both_k2", "both_k3"]
    assert all(len(row.split("|")[4].strip()) == 12 for row in origins[2:])
    assert "both\\_k3 & " in table.latex()


def test_only_below_the_paper_scale_readers_are_told_not_to_compare(scores):
    warning = "compare the pattern, not the numbers"
    assert warning in table1(scores, (2,), SETTINGS, "mini").markdown()
    assert warning not in table1(scores, (2,), SETTINGS, "paper").markdown()


def test_a_missing_baseline_is_said_to_be_missing(tmp_path):
    text = table1(Scores([write_score(tmp_path, "both_k2")]), (2,), SETTINGS, "mini").markdown()
    assert "No baseline was decoded; published 25.56." in text


def test_the_approximate_table_says_what_the_paper_says_of_minimum_block_sizes(approximate):
    text = approximate.markdown()
    assert "| k | Exact | Exact, published | Top-2 | Top-2, published | Minimum 2 | Minimum 2, published |" in text
    assert f"| 2 | 23.46 / 1.88 | 26.58 / 1.88 | 22.00 / 1.90 | 26.49 / 1.92 | 12.50 / 2.00 | {GAP} |" in text
    assert f"| 4 | {GAP} | 26.36 / 3.27 | {GAP} | 26.22 / 3.47 | {GAP} | {GAP} |" in text
    assert "much larger drops in BLEU" in text
    assert "| 1 |" not in text


def test_latex_stands_ours_above_the_published(table):
    lines = table.latex().splitlines()
    assert "$k$ & Regular & Distillation & Fine Tuning & Both \\\\" in lines
    ours = lines.index("2 & 24.00 / 1.50 & -- & -- & 23.46 / 1.88 \\\\*")
    theirs = [cell.strip() for cell in lines[ours + 1].removesuffix("\\\\").split("&")]
    assert theirs == ["", *(rf"{{\scriptsize\textit{{published {cell}}}}}" for cell in (
        "25.81 / 1.51", "26.52 / 1.55", "25.74 / 1.78", "26.58 / 1.88"
    ))]  # fmt: skip
    assert lines[lines.index("1 & -- & -- & -- & -- \\\\*") + 1].endswith(" &  &  \\\\")


def test_latex_escapes_what_has_a_meaning_there(tmp_path):
    score = write_score(tmp_path, "both_k2", set="test_2016_flickr", signature=r"50%|a_b#c&d$e{f}g~h^i\j")
    text = table1(Scores([score]), (2,), SETTINGS, "mini").latex()
    assert r"on test\_2016\_flickr (dev)" in text
    assert r"50\%\textbar{}a\_b\#c\&d\$e\{f\}g\textasciitilde{}h\textasciicircum{}i\textbackslash{}j" in text
    assert "WMT14 English--German" in text
    assert text.isascii()


def test_every_latex_row_has_as_many_cells_as_columns(table):
    body = table.latex().split("\\endfoot")[1].split("\\end{longtable}")[0].strip().splitlines()
    assert len(body) == 8
    assert {row.count("&") for row in body} == {4}
    assert [row.endswith("\\\\*") for row in body] == [True, False] * 4


def test_a_table_is_written_four_ways(table, tmp_path):
    folder = tmp_path / "new" / "tables"
    paths = write_table(table, folder)
    assert [path.name for path in paths] == ["table1.csv", "table1.md", "table1.tex", "table1.html"]
    expected = [table.csv(), table.markdown(), table.latex(), markdown_page(table.markdown(), "table1")]
    read = {".md": read_markdown}
    assert [read.get(path.suffix, Path.read_text)(path) for path in paths] == expected
    with open(paths[0], encoding="utf-8", newline="") as stream:
        assert len(list(csv.DictReader(stream))) == len(table.cells) == 12
