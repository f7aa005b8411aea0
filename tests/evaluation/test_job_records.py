"""Records of jobs: what Snakemake left, what it could not sample, and what a resumed training's journal adds."""

import json

import pytest

from bpd.errors import BpdError
from bpd.evaluation.job_records import JobRecord, earlier_share, read_job_record

RECORD = {"s": 12.5, "h:m:s": "0:00:12", "max_rss": 300.0, "max_pss": 250.0, "cpu_time": 9.5, "mean_load": 80.0}


def test_a_record_has_seconds_and_bytes(tmp_path):
    path = tmp_path / "job.jsonl"
    path.write_text(json.dumps(RECORD) + "\n")
    assert read_job_record(path) == JobRecord(12.5, 9.5, 300 * 1024**2)
    assert read_job_record(tmp_path / "other.jsonl") is None


def test_a_job_too_short_to_be_sampled_has_its_time_alone(tmp_path):
    path = tmp_path / "job.jsonl"
    path.write_text(json.dumps(RECORD | {"max_rss": "NA", "cpu_time": "NA"}) + "\n")
    assert read_job_record(path) == JobRecord(12.5, None, None)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", json.dumps(RECORD | {"s": "long"})])
def test_a_damaged_record_is_named(text, tmp_path):
    path = tmp_path / "job.jsonl"
    path.write_text(text)
    with pytest.raises(BpdError, match=r"job\.jsonl: not a record of a job"):
        read_job_record(path)


def journal_of(folder, speeds):
    lines = [{"event": "step", "step": 10 * (place + 1), "tokens_per_second": speed} for place, speed in speeds]
    lines.insert(1, {"event": "evaluation", "step": 10, "dev_bleu": 1.0})
    path = folder / "training.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_steps_of_earlier_attempts_count_at_the_journals_pace(tmp_path):
    journal = journal_of(tmp_path, enumerate([100.0, 50.0, 100.0, 100.0]))
    log = tmp_path / "train_base.log"
    log.write_text("base: resuming from step 20 of 40\nbase:  50%\n")
    # Ten steps at 100 and ten at 50 tokens a second, against twenty at 100.
    assert earlier_share(log, journal) == pytest.approx(3 / 2)
    log.write_text("base: 100%\n")
    assert earlier_share(log, journal) == 0
    log.write_text("base: resuming from step 40 of 40\n")
    assert earlier_share(log, journal) == 0
    assert earlier_share(tmp_path / "none.log", journal) == 0
