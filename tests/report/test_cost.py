"""The cost table: sums by stage, what has no record, and what a card makes of an hour."""

import csv
import json

import pytest

from bpd.commands.cost import write_cost
from bpd.config import Config, validate_section
from bpd.errors import BpdError
from bpd.evaluation.job_records import JobRecord
from bpd.planning.jobs import STAGES, jobs_of
from bpd.report.cost import JobCost, cost_table
from tests.commands.conftest import CONFIG

TINY = validate_section(Config, CONFIG, "tiny")


def rows_of(table):
    return {row[0]: dict(zip(table.columns, row)) for row in table.rows}


def test_hours_are_added_up_by_stage():
    jobs = [
        JobCost("base", JobRecord(3600.0, 1800.0, 2e9), cards=8),
        JobCost("base", JobRecord(7200.0, 3600.0, 3e9), cards=1, earlier=0.5),
        JobCost("heads", None, cards=0),
        JobCost("score", JobRecord(36.0, None, None), cards=0),
    ]
    rows = rows_of(cost_table(jobs, STAGES, ["cuda: Testing"], "tiny"))
    assert list(rows) == ["base", "heads", "score", "all"]
    base = rows["base"]
    assert (base["jobs"], base["recorded"], base["resumed"]) == (2, 2, 1)
    assert (base["wall_hours"], base["cpu_hours"], base["gpu_hours"]) == (1 + 3, 0.5 + 1.5, 8 + 3)
    assert base["peak_memory_gigabytes"] == 3.0
    assert (rows["heads"]["jobs"], rows["heads"]["recorded"], rows["heads"]["wall_hours"]) == (1, 0, 0)
    assert rows["score"]["peak_memory_gigabytes"] is None
    assert rows["all"]["wall_hours"] == pytest.approx(4.01) and rows["all"]["recorded"] == 3


def test_the_table_tells_which_jobs_have_no_record_and_on_what_it_ran():
    jobs = [JobCost("base", JobRecord(3600.0, 1800.0, 2e9), cards=1), JobCost("base", None, cards=0)]
    table = cost_table(jobs, STAGES, ["cuda: Testing"], "tiny")
    text = table.markdown()
    assert "| 1 of 2 |" in text and "cuda: Testing" in text and "| Train base and teacher |" in text
    assert "\\begin{longtable}" in table.latex()


@pytest.fixture
def results(tmp_path):
    """A run whose base was resumed and whose heads were trained on two cards."""
    folder = tmp_path / "results"
    for job in jobs_of(TINY):
        path = folder / "benchmarks" / f"{job.name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"s": 36.0, "cpu_time": 18.0, "max_rss": 100.0}) + "\n")
    for model, about in (
        ("base", {"device": "cpu: Testing"}),
        ("both_k3", {"device": "cuda: Testing", "processes": 2}),
    ):
        place = folder / "translation" / model
        place.mkdir(parents=True)
        (place / "provenance.json").write_text(json.dumps(about))
    steps = [{"event": "step", "step": step, "tokens_per_second": 10.0} for step in (10, 20)]
    (folder / "translation" / "base" / "training.jsonl").write_text("".join(json.dumps(s) + "\n" for s in steps))
    (folder / "logs").mkdir()
    (folder / "logs" / "train_base.log").write_text("base: resuming from step 10 of 20\n")
    return folder


def test_cards_and_earlier_attempts_come_from_the_products(results, tmp_path):
    paths = write_cost(TINY, results, tmp_path / "tables")
    assert [path.name for path in paths] == ["cost.csv", "cost.md", "cost.tex", "cost.html"]
    rows = {row["stage"]: row for row in csv.DictReader(paths[0].open(encoding="utf-8", newline=""))}
    jobs = [job for job in jobs_of(TINY) if job.name not in ("cost", "results_page")]
    assert int(rows["all"]["jobs"]) == int(rows["all"]["recorded"]) == len(jobs)
    # The base counts twice: half of its steps were an earlier attempt's.
    assert float(rows["base"]["wall_hours"]) == pytest.approx((3 + 1) * 0.01)
    assert int(rows["base"]["resumed"]) == 1
    assert float(rows["heads"]["gpu_hours"]) == pytest.approx(2 * 0.01)
    assert float(rows["all"]["gpu_hours"]) == pytest.approx(2 * 0.01)
    assert "cpu: Testing; cuda: Testing" in paths[1].read_text(encoding="utf-8")


def test_a_run_without_records_is_refused(tmp_path):
    with pytest.raises(BpdError, match="no job has left a record"):
        write_cost(TINY, tmp_path, tmp_path / "tables")
    assert not (tmp_path / "tables").exists()
