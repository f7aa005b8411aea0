"""Table 3: our votes beside the published ones, and an honest gap where nobody has voted."""

import pandas
import pytest

from bpd.report.table3 import table3
from tests.evaluation.example_study import study

SCORED = {
    "methods": [
        {"percent": 61.5, "low": 55.0, "high": 67.25, "votes": 200},
        {"percent": None, "low": None, "high": None, "votes": 0},
        {"percent": 50.0, "low": 40.0, "high": 60.0, "votes": 40},
        {"percent": 49.0, "low": 39.0, "high": 59.0, "votes": 40},
    ],
    "raters": {"ada": {"votes": 150, "repeated": 10, "alike": 8}, "bob": {"votes": 136, "repeated": 10, "alike": 9}},
    "faults": [],
}


def test_without_votes_the_rows_stand_and_the_caption_says_so(tmp_path):
    table = table3(study(), None)
    assert "Votes were not collected at this scale" in table.markdown()
    assert "Votes were not collected at this scale" in table.latex()
    table.write(tmp_path)
    frame = pandas.read_csv(tmp_path / "table3.csv")
    assert list(frame.columns) == [
        "method_1", "method_2", "preference_percent", "low", "high", "votes", "published_preference_percent",
        "published_low", "published_high",
    ]  # fmt: skip
    assert frame[["preference_percent", "low", "high", "votes"]].isna().all().all()
    assert frame["published_preference_percent"].tolist() == [52.8, 54.4, 50.0, 53.3]
    assert set(frame["method_2"]) == {"Regular, exact, k = 1"}


def test_scored_votes_fill_their_rows():
    table = table3(study(), SCORED)
    text = table.markdown()
    assert (
        "| Fine tuning, exact, k = 2 | Regular, exact, k = 1 | 61.5 % (55.0, 67.2) | 200 | 52.8 % (50.8, 54.9) |"
        in text
    )
    assert "| Fine tuning, exact, k = 4 | Regular, exact, k = 1 | – | 0 | 54.4 % (52.5, 56.3) |" in text
    assert (
        "not collected" not in text and "286 votes of 2 rater(s); 17 of 20 repeated pairs were answered alike." in text
    )
    assert "left out" not in text
    assert "3 faulty lines of votes were left out" in table3(study(), SCORED | {"faults": ["a", "b", "c"]}).markdown()


def test_the_latex_has_a_row_for_each_method_and_escapes_what_it_must():
    text = table3(study(), SCORED).latex()
    assert text.count("Fine tuning") == 4 and "\\%" in text and " 61.5 %" not in text
    assert text.count("\\\\\n") == 1 + 2 + 4 and text.count("{") == text.count("}")


@pytest.mark.parametrize("k", [3, 12])
def test_a_block_size_that_the_paper_lacks_has_no_published_number(k):
    assert table3(study(block_sizes=(k,)), None).rows[0][6:] == (None, None, None)
