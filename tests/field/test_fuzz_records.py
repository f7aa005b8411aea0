"""Foreign records: of decodings with what is said about them, of timings, of jobs, and the rates of a run."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bpd.data.lines import write_lines
from bpd.errors import BpdError
from bpd.evaluation.job_records import earlier_share, read_job_record
from bpd.evaluation.likelihood import read_likelihoods
from bpd.evaluation.meta import fingerprint
from bpd.evaluation.time_records import read_time_records
from bpd.report.timings import Timings
from tests.evaluation.example_records import META, record, write_decoding
from tests.field.driver import bpd, refused
from tests.field.fuzzing import as_json, call, changed, foreign, foreign_json, fuzzed, scratch
from tests.report.example_timings import write_timings

RECORDS = [record(0, "Ein Satz."), record(1, block_sizes=()), record(2, "Noch einer.", (4, 1, 2))]
LINES = [asdict(one) for one in RECORDS]
VALID = b"".join(as_json(line) + b"\n" for line in LINES)
REFERENCES = ["Ein Satz.", "", "Noch einer."]
JOB = {"s": 12.5, "h:m:s": "0:00:12", "max_rss": 512.25, "cpu_time": 11.75}
TIME = {
    "protocol": "cached", "batch_rows": 1, "repeat": 0, "batch": 0, "arm": "greedy", "tokens": 9, "iterations": 9,
    "calls": 9, "seconds": 0.5,
}  # fmt: skip
LIKELIHOOD = {"index": 0, "name": "a", "bits_per_dimension": 5.0, "bits_per_dimension_other_input": 5.5}
RATES = {
    "results": "results/mini",
    "text": {
        "source": "multi30k", "vocabulary_size": 8000, "max_subwords": 64, "read": 29000, "pairs": 28000,
        "source_subwords": 14.0, "target_subwords": 15.0, "filled": {"2048": 0.9},
    },
    "rates": [
        {"task": "translation", "kind": kind, "model": "base", "per_second": 900.0, "flops": 1e7, "device": "cpu: x",
         "records": "a.jsonl"}
        for kind in ("train_base", "greedy")
    ],
}  # fmt: skip
ONE_RECORD = st.tuples(changed(LINES[0]), st.sampled_from([0, 1, 2])).map(
    lambda case: b"".join(as_json(case[0] if place == case[1] else line) + b"\n" for place, line in enumerate(LINES))
)


def score(folder: Path, content: bytes, meta: bytes | None = None):
    """Score records whose meta file is of them, unless it is given."""
    path, data = write_decoding(folder, RECORDS, REFERENCES)
    path.write_bytes(content)
    beside = path.with_suffix(".meta.json")
    beside.write_bytes(as_json(META | fingerprint(path)) if meta is None else meta)
    outcome = call("score", path, "--data", data)
    if outcome.is_well(path.stem, data, folder=folder):
        found = json.loads(path.with_suffix(".score.json").read_text(encoding="utf-8"))
        assert 0 <= found["bleu"] <= 100.000001 and 1 <= found["mean_accepted_block_size"] <= found["block_size"]
    else:
        assert not path.with_suffix(".score.json").exists()
    return outcome


@fuzzed(80)
@given(st.one_of(foreign(VALID), ONE_RECORD, ONE_RECORD))
@example(VALID.replace(b"5, 6", b"5, 1" + b"0" * 30))
@example(VALID.replace(b"0.25", b"NaN"))
@example(b"[" * 100_000 + b"\n")
@example(VALID.replace(b"Ein Satz.", b"\\ud800"))
@example(b"".join(as_json(asdict(record(place, block_sizes=()))) + b"\n" for place in range(3)))
def test_fuzz_decode_records_are_scored_or_refused_by_name(content):
    with scratch() as folder:
        score(folder, content)


@fuzzed(60)
@given(foreign_json(META | {"records": 3}))
@example(as_json(META))
@example(as_json(META | {"set": "../../x"}))
@example(as_json(META | {"seed": float("nan")}))
def test_fuzz_what_is_said_of_records_is_believed_or_refused_by_name(meta):
    with scratch() as folder:
        score(folder, VALID, meta)


def test_fuzz_records_copied_over_those_of_another_model_are_refused(tmp_path):
    write_decoding(tmp_path, RECORDS, REFERENCES)
    meta = as_json(META | fingerprint(tmp_path / "decode/newstest2013/exact.jsonl"))
    assert score(tmp_path, VALID.replace(b"Noch einer.", b"Noch eines."), meta).status == 1
    assert score(tmp_path, VALID + VALID.replace(b'"index": ', b'"index": 3'), meta).status == 1


@fuzzed(80)
@given(foreign_json(TIME), foreign_json(LIKELIHOOD), foreign_json(JOB))
@example(b"\xff", b"\xff", b"\xff")
@example(b"[" * 100_000, b"[" * 100_000, b"[" * 100_000)
@example(as_json(TIME | {"seconds": 10**400}), as_json(LIKELIHOOD | {"index": 10**400}), as_json(JOB | {"s": 10**400}))
@example(as_json(TIME), as_json(LIKELIHOOD), as_json(JOB | {"s": float("nan")}))
@example(as_json(TIME), as_json(LIKELIHOOD), as_json(JOB | {"s": 0}))
def test_fuzz_timings_likelihoods_and_jobs_are_read_or_refused_by_name(timing, likelihood, job):
    with scratch() as folder:
        for read, content in ((read_time_records, timing), (read_likelihoods, likelihood), (read_job_record, job)):
            path = folder / f"{read.__name__}.jsonl"
            path.write_bytes(content + b"\n")
            try:
                found = read(path)
            except BpdError as error:
                assert path.name in str(error) and len(str(error)) < 3000
            else:
                if read is read_job_record:
                    assert 0 < found.seconds < 1e13
        log = folder / "train.log"
        log.write_text("resuming from step 5 of 9\n")
        (folder / "training.jsonl").write_bytes(job + b"\n")
        assert 0 <= earlier_share(log, folder / "training.jsonl") < float("inf")


@fuzzed(40)
@given(st.data())
def test_fuzz_what_is_said_of_timings_is_believed_or_refused_by_name(data):
    with scratch() as folder:
        path = write_timings(folder, "translation", "both_k4", "newstest2014", "exact")
        beside = path.with_suffix(".meta.json")
        meta = json.loads(beside.read_text())
        del meta["records_sha256"]
        beside.write_bytes(data.draw(foreign_json(meta)))
        with pytest.raises(BpdError, match=r"exact\.(meta\.)?json"):
            Timings(folder, "translation", "newstest2014", "exact", ["both_k4"])


@fuzzed(40)
@given(foreign_json(RATES))
@example(as_json(RATES | {"rates": [RATES["rates"][0] | {"flops": None}]}))
@example(as_json(RATES | {"rates": [RATES["rates"][0] | {"per_second": 1e-320}]}))
@example(b"[" * 100_000)
def test_fuzz_rates_are_planned_with_or_refused_by_name(content):
    root = Path(__file__).resolve().parents[2]
    with scratch() as folder:
        path = folder / "measured.json"
        path.write_bytes(content)
        outcome = call("plan", "--config", root / "config/mini.yaml", "--measured", path, "--json")
        if outcome.is_well(path):
            assert "NaN" not in outcome.printed and "Infinity" not in outcome.printed


def test_fuzz_a_person_sees_no_traceback_of_records_that_are_none(tmp_path):
    path, data = write_decoding(tmp_path, RECORDS, REFERENCES)
    path.write_bytes(b"\xff" + VALID)
    refused(bpd("score", path, "--data", data), path, "line 1")
    write_lines(path, ["{}"])
    refused(bpd("score", path, "--data", data), path, "line 1")
