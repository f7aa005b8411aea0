"""Votes and preferences: strict reading, merging, percentages by hand, and intervals that hold what they promise."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpd.errors import BpdError
from bpd.evaluation.preference import bootstrap_interval, consistency, preferences
from bpd.evaluation.survey import SIDES
from bpd.evaluation.votes import HEADER, Vote, read_votes
from tests.evaluation.example_study import TIME, all_for, line, study, votes_text

STUDY = study()


def merged(tmp_path, *texts: str):
    paths = [tmp_path / f"votes{number}.csv" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text.encode())
    return read_votes(paths, STUDY)


def test_percentages_by_hand(tmp_path):
    for_method, against = all_for(STUDY, "ada", True), all_for(STUDY, "bob", False)
    votes = merged(tmp_path, votes_text(for_method), votes_text(against[:7]))
    assert votes.faults == [] and len(votes.votes) == 23 + 7
    against_by_method = [sum(pair.method == method for pair in STUDY.pairs[:7]) for method in range(4)]
    for found, lost in zip(preferences(STUDY, votes.votes), against_by_method, strict=True):
        assert (found.votes, found.preferred) == (5 + lost, 5)
        assert found.percent == pytest.approx(100 * 5 / (5 + lost))
        assert found.low <= found.percent <= found.high


def test_a_method_without_votes_has_no_numbers():
    pair = STUDY.pairs[0]
    found = preferences(STUDY, [Vote("ada", pair.pair, "left")])
    assert [one.percent is None for one in found] == [method != pair.method for method in range(4)]


def test_repeated_pairs_count_once_and_measure_consistency(tmp_path):
    steady = all_for(STUDY, "steady", True)
    # Always the same side: never the same image when the sides are exchanged.
    stubborn = [line(STUDY, pair, "stubborn", "left") for pair in STUDY.pairs]
    votes = merged(tmp_path, votes_text(steady), votes_text(stubborn), votes_text(stubborn[:4])).votes
    assert sum(found.votes for found in preferences(STUDY, votes)) == 2 * 20
    assert consistency(STUDY, votes) == {
        "steady": {"votes": 23, "repeated": 3, "alike": 3},
        "stubborn": {"votes": 23, "repeated": 3, "alike": 0},
    }


def test_the_order_of_files_and_lines_does_not_matter(tmp_path):
    ada, bob = all_for(STUDY, "ada", True), all_for(STUDY, "bob", False)[:9]
    one = merged(tmp_path, votes_text(ada), votes_text(bob))
    random.Random(1).shuffle(ada)
    other = merged(tmp_path, votes_text(bob), votes_text(ada))
    assert preferences(STUDY, one.votes) == preferences(STUDY, other.votes)


def test_a_file_given_twice_counts_once(tmp_path):
    text = votes_text(all_for(STUDY, "ada", True))
    votes = merged(tmp_path, text, text)
    assert (len(votes.votes), votes.repeated_lines, votes.faults) == (23, 23, [])


def test_what_a_spreadsheet_does_to_a_file_is_borne(tmp_path):
    text = votes_text(all_for(STUDY, 'Ada, "the" Countess', True))
    assert len(merged(tmp_path, "\ufeff" + text.replace("\r\n", "\n") + "\n\n").votes) == 23


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({0: "0" * 16}, "a vote of survey '0000000000000000', but this is"),
        ({1: " "}, "is no name of a rater"),
        ({1: "x" * 81}, "is no name of a rater"),
        ({1: "a\x07b"}, "is no name of a rater"),
        ({2: "p9999"}, "the survey has no pair 'p9999'"),
        ({3: "both"}, "the choice is 'both', not left or right"),
        ({4: "-3"}, "'-3' is no number of milliseconds"),
        ({4: "²"}, "is no number of milliseconds"),
        ({5: "yesterday"}, "'yesterday' is no time"),
        ({5: TIME + ",more"}, "is no time"),
    ],
)
def test_a_faulty_vote_is_named_by_file_and_line_and_left_out(tmp_path, change, message):
    lines = all_for(STUDY, "ada", True)
    for place, value in change.items():
        lines[4][place] = value
    votes = merged(tmp_path, votes_text(lines))
    assert len(votes.votes) == 22 and len(votes.faults) == 1
    assert "votes0.csv, line 6: " in votes.faults[0] and message in votes.faults[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: expected the header"),
        ("a,b\n", "line 1: expected the header"),
        (",".join(HEADER) + "\nonly,three,fields\n", "line 2: 3 fields instead of 6"),
        (",".join(HEADER) + '\n"open quote', "no CSV"),
    ],
)
def test_a_malformed_file_is_named(tmp_path, text, message):
    votes = merged(tmp_path, text)
    assert votes.votes == [] and len(votes.faults) >= 1 and message in votes.faults[0]


def test_two_answers_of_one_rater_to_one_pair_that_differ_are_a_fault(tmp_path):
    pair = STUDY.pairs[2]
    votes = merged(
        tmp_path,
        votes_text([line(STUDY, pair, "ada", "left"), line(STUDY, pair, "bob", "right")]),
        votes_text([line(STUDY, pair, "ada", "right")]),
    )
    assert votes.votes == [Vote("ada", pair.pair, "left"), Vote("bob", pair.pair, "right")]
    assert votes.faults == [
        f"{tmp_path / 'votes1.csv'}, line 2: ada chose left for {pair.pair} elsewhere, and right here"
    ]


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(BpdError, match="cannot read the votes"):
        read_votes([tmp_path / "nowhere.csv"], STUDY)


@given(st.binary(max_size=300) | st.text(max_size=200).map(lambda text: (",".join(HEADER) + "\n" + text).encode()))
def test_foreign_bytes_give_faults_never_votes_or_tracebacks(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("votes") / "votes.csv"
    path.write_bytes(content)
    assert read_votes([path], STUDY).votes == []


def test_the_interval_is_that_of_votes_drawn_again():
    drawn = np.random.default_rng(1).choice([0] * 30 + [1] * 70, size=(20_000, 100)).mean(axis=1)
    low, high = bootstrap_interval(70, 100, 20_000, [3, 0])
    assert (low, high) == pytest.approx(tuple(100 * np.quantile(drawn, [0.05, 0.95])), abs=1.01)
    assert bootstrap_interval(5, 5, 100, [1]) == (100.0, 100.0)


@pytest.mark.parametrize("true_preference", [0.5, 0.56, 0.7])
def test_in_nine_of_ten_simulated_studies_the_interval_holds_the_known_preference(true_preference):
    made = study(images=400, pairs_per_method=400, repeated_pairs=0, block_sizes=(4,), criteria=("exact",))
    held = 0
    for number in range(200):
        choices = np.random.default_rng([number, int(100 * true_preference)]).random(len(made.pairs)) < true_preference
        votes = [
            Vote("ada", pair.pair, pair.method_side if chosen else SIDES[1 - SIDES.index(pair.method_side)])
            for pair, chosen in zip(made.pairs, choices, strict=True)
        ]
        (found,) = preferences(made, votes)
        held += found.low <= 100 * true_preference <= found.high
    assert 0.84 * 200 <= held <= 0.96 * 200, held
