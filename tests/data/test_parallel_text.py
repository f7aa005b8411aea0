from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpd.data.lines import write_lines
from bpd.data.parallel_text import ParallelFiles, ParallelText, drop_empty, emptiness, length_problem
from bpd.errors import BpdError


def test_pairs_stay_together_when_empty_ones_go():
    pairs = [(f"s{i}", f"t{i}") for i in range(1, 11)]
    pairs[2] = ("", "t3")
    pairs[5] = ("s6", "  \u2003\t\r")
    pairs[8] = ("", "")
    drops = Counter()
    assert list(drop_empty(pairs, drops)) == [(f"s{i}", f"t{i}") for i in (1, 2, 4, 5, 7, 8, 10)]
    assert drops == {"empty_source": 1, "empty_target": 1, "empty_both": 1}


@settings(max_examples=50, derandomize=True, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["", " ", "a"]), st.sampled_from(["", "\t", "b"])), max_size=20))
def test_every_pair_is_kept_or_counted(pairs):
    drops = Counter()
    kept = list(drop_empty(pairs, drops))
    assert len(kept) + drops.total() == len(pairs)
    assert kept == [pair for pair in pairs if emptiness(*pair) is None]


@pytest.mark.parametrize(
    ("source", "target", "most", "ratio", "reason"),
    [
        (5, 5, 5, None, None),
        (6, 1, 5, None, "too_long"),
        (1, 6, 5, 2.0, "too_long"),
        (4, 2, 9, 2.0, None),
        (5, 2, 9, 2.0, "length_ratio"),
        (2, 5, 9, 2.0, "length_ratio"),
        (2, 9, 9, None, None),
    ],
)
def test_length_limits(source, target, most, ratio, reason):
    assert length_problem(source, target, most, ratio) == reason


def test_unequal_lists_are_refused():
    with pytest.raises(BpdError, match="2 source but 1 target"):
        ParallelText(["a", "b"], ["c"])


@pytest.mark.parametrize("counts", [(3, 5), (5, 3), (0, 1)])
def test_unequal_files_are_refused_with_both_names_and_counts(tmp_path, counts):
    paths = [tmp_path / "x.en", tmp_path / "x.de"]
    for path, count in zip(paths, counts):
        write_lines(path, [str(i) for i in range(count)])
    message = rf"x\.en has {counts[0]} lines but .*x\.de has {counts[1]}"
    with pytest.raises(BpdError, match=message):
        ParallelText.read(*paths)
    with pytest.raises(BpdError, match=message):
        list(ParallelFiles([(paths[0], paths[1])]))


def test_files_are_read_in_order_again_and_again(tmp_path):
    parts = []
    for part in "ab":
        paths = tmp_path / f"{part}.en", tmp_path / f"{part}.de"
        write_lines(paths[0], [f"{part}1", f"{part}2\rx"])
        write_lines(paths[1], [f"{part}3", f"{part}4"])
        parts.append(paths)
    files = ParallelFiles(parts)
    expected = [("a1", "a3"), ("a2\rx", "a4"), ("b1", "b3"), ("b2\rx", "b4")]
    assert list(files) == list(files) == expected
    assert list(ParallelText.read(*parts[0])) == expected[:2]
