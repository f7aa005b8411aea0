import json

import pytest

from bpd.errors import BpdError
from bpd.evaluation.records import read_records, write_records
from tests.evaluation.example_records import as_json, record


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "new" / "exact.jsonl"
    records = [
        record(0, "Grüße “zwei”\u2028eine Zeile\r", (4, 1, 2)),
        record(1, block_sizes=()),
        record(2, "ohne Ende", (3,), stop="length"),
    ]
    write_records(path, records)
    assert read_records(path) == records
    assert path.read_bytes().count(b"\n") == 3


def test_no_records_are_no_records(tmp_path):
    write_records(tmp_path / "exact.jsonl", [])
    assert read_records(tmp_path / "exact.jsonl") == []


def test_a_line_says_all_that_decoding_gave(tmp_path):
    write_records(tmp_path / "exact.jsonl", [record(0, "Zwei Wörter", (2, 1))])
    assert json.loads((tmp_path / "exact.jsonl").read_text(encoding="utf-8")) == {
        "index": 0,
        "token_ids": [5, 6, 7],
        "block_sizes": [2, 1],
        "iterations": 2,
        "calls": 3,
        "stop": "end",
        "seconds": 0.25,
        "text": "Zwei Wörter",
    }


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "not a decode record"),
        ("", "not a decode record"),
        ("[]", "expected an object with index"),
        ('{"index": 1}', "expected an object with index"),
        (as_json(record(1), extra=1), "expected an object with index"),
        (as_json(record(2)), "index is 2, expected 1"),
        (as_json(record(1), index=True), "index is True"),
        (as_json(record(1), text=None), "text is None"),
        (as_json(record(1), calls="3"), "calls is '3'"),
        (as_json(record(1), calls=2.5), r"calls is 2\.5"),
        (as_json(record(1), token_ids=[5, 6, "7"]), "whole numbers"),
        (as_json(record(1), token_ids=[5, 6, True]), "whole numbers"),
        (as_json(record(1), stop="tired"), "stop is 'tired', expected one of end, length, empty"),
        (as_json(record(1), stop="empty"), "empty, but 3 tokens"),
        (as_json(record(1), iterations=3), "3 iterations do not match"),
        (as_json(record(1), block_sizes=[3, 0]), "2 iterations do not match"),
        (as_json(record(1), token_ids=[5, 6]), "2 tokens do not match"),
    ],
)
def test_a_faulty_line_is_refused_by_file_and_number(tmp_path, line, complaint):
    path = tmp_path / "exact.jsonl"
    path.write_text(f"{as_json(record(0))}\n{line}\n{as_json(record(2))}\n", encoding="utf-8")
    with pytest.raises(BpdError, match=rf"exact\.jsonl, line 2: .*{complaint}"):
        read_records(path)


def test_a_line_in_another_encoding_is_refused_by_number(tmp_path):
    path = tmp_path / "exact.jsonl"
    path.write_bytes(f"{as_json(record(0))}\n".encode() + b'{"text": "f\xfcr"}\n')
    with pytest.raises(BpdError, match=r"exact\.jsonl, line 2: .*decode again"):
        read_records(path)


@pytest.mark.parametrize("kept", [-1, -30])
def test_a_truncated_file_is_refused(tmp_path, kept):
    path = tmp_path / "exact.jsonl"
    write_records(path, [record(0), record(1)])
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(BpdError, match=r"exact\.jsonl: .*truncated; decode again"):
        read_records(path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(BpdError, match=r"exact\.jsonl: cannot read the decode records: No such file.*decode again"):
        read_records(tmp_path / "exact.jsonl")
