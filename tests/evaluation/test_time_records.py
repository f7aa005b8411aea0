"""Timings as files: what is written is read again, and damage is named with its line."""

import json
from dataclasses import asdict

import pytest

from bpd.errors import BpdError
from bpd.evaluation.time_records import TimeRecord, read_time_records, write_time_records

RECORD = TimeRecord("cached", 4, 0, 2, "blockwise", 40, 16, 20, 0.25)


def test_what_is_written_is_read(tmp_path):
    records = [RECORD, TimeRecord("recompute", 1, 2, 0, "greedy", 9, 9, 9, 1.5)]
    write_time_records(tmp_path / "exact.jsonl", records)
    assert read_time_records(tmp_path / "exact.jsonl") == records


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seconds": 0}, "seconds is 0"),
        ({"seconds": True}, "seconds is True"),
        ({"seconds": float("nan")}, "seconds is nan"),
        ({"seconds": float("inf")}, "seconds is inf"),
        ({"seconds": -0.5}, "seconds is -0.5"),
        ({"tokens": 0}, "tokens is 0"),
        ({"tokens": 1.5}, "tokens is 1.5"),
        ({"repeat": -1}, "repeat is -1"),
        ({"batch_rows": "4"}, "batch_rows is '4'"),
        ({"arm": "beam"}, "arm 'beam'"),
        ({"protocol": "other"}, "protocol 'other'"),
        ({"more": 1}, "expected an object with protocol, batch_rows"),
    ],
)
def test_a_faulty_line_is_named(tmp_path, change, message):
    path = tmp_path / "exact.jsonl"
    lines = [json.dumps(asdict(RECORD)), json.dumps(asdict(RECORD) | change)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(BpdError, match=rf"exact\.jsonl, line 2: not a timing \(.*{message}"):
        read_time_records(path)


def test_a_line_that_is_no_json_is_named_in_plain_words(tmp_path):
    (tmp_path / "exact.jsonl").write_bytes(b"\xff\n")
    with pytest.raises(BpdError, match=r"line 1: not a timing \(no line of JSON\); run `bpd time` again"):
        read_time_records(tmp_path / "exact.jsonl")


@pytest.mark.parametrize("text", [json.dumps(asdict(RECORD)), '{"protocol'])
def test_a_truncated_file_is_refused(tmp_path, text):
    (tmp_path / "exact.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(BpdError, match="truncated; run `bpd time` again"):
        read_time_records(tmp_path / "exact.jsonl")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(BpdError, match=r"none\.jsonl: cannot read the timings"):
        read_time_records(tmp_path / "none.jsonl")
