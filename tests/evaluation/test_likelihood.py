import json
from dataclasses import asdict

import pytest

from bpd.errors import BpdError
from bpd.evaluation.likelihood import LikelihoodRecord, read_likelihoods, write_likelihoods

FIRST = LikelihoodRecord(0, "Zoë", 5.25, 5.75)
SECOND = LikelihoodRecord(1, "bob", 4.0, 4)


def test_what_was_written_is_read(tmp_path):
    path = tmp_path / "decode" / "likelihood.jsonl"
    write_likelihoods(path, [FIRST, SECOND])
    assert read_likelihoods(path) == [FIRST, SECOND]
    assert path.read_bytes().count(b"\n") == 2


def test_an_infinite_likelihood_is_not_written(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        write_likelihoods(tmp_path / "likelihood.jsonl", [LikelihoodRecord(0, "a", float("inf"), 5.0)])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "changes",
    [
        {"index": 2},
        {"index": True},
        {"index": 1.5},
        {"name": 7},
        {"bits_per_dimension": None},
        {"bits_per_dimension": "5"},
        {"bits_per_dimension": True},
        {"bits_per_dimension": -0.1},
        {"bits_per_dimension_other_input": float("nan")},
        {"bits_per_dimension_other_input": float("inf")},
        {"more": 1},
    ],
)
def test_a_faulty_line_is_refused_by_number(tmp_path, changes):
    path = tmp_path / "likelihood.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in (asdict(FIRST), asdict(SECOND) | changes)))
    with pytest.raises(BpdError, match=r"likelihood\.jsonl, line 2: not a likelihood record \(.*\); decode again"):
        read_likelihoods(path)


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"null", b'{"index": 0}', b'{"name": "f\xfcr"}'])
def test_what_is_no_record_is_refused_by_number(tmp_path, line):
    path = tmp_path / "likelihood.jsonl"
    path.write_bytes(line + b"\n")
    with pytest.raises(BpdError, match="line 1: not a likelihood record"):
        read_likelihoods(path)


def test_truncated_and_missing_files_are_refused(tmp_path):
    path = tmp_path / "likelihood.jsonl"
    with pytest.raises(BpdError, match="cannot read the likelihoods: No such file"):
        read_likelihoods(path)
    write_likelihoods(path, [FIRST])
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(BpdError, match="truncated; decode again"):
        read_likelihoods(path)
