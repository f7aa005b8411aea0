"""The suite's command: parts are chosen, reports have their schema, and a fault in one part is told."""

import json
import os

import pytest
import torch

from bench import __main__ as command
from bench import start_up
from bench.__main__ import PARTS, main
from bench.findings import Findings
from bench.interleave import Ratio
from bench.report import FOLDER, kept, page, part_table, read_report


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return what runs the suite on the CPU and returns its exit status and report."""
    monkeypatch.setenv("BPD_DEVICE", "cpu")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    threads = torch.get_num_threads()

    def run_suite(*words):
        path = tmp_path / "report.json"
        return main([*words, "--quick", "--output", str(path)]), read_report(path)

    yield run_suite
    torch.set_num_threads(threads)


def test_one_part_runs_alone_and_writes_its_ratios_with_their_environment(run, capsys):
    status, report = run("--only", "iteration_cost")
    assert status == 0 and set(report) == {"schema", "started", "quick", "repeats", "environment", "parts"}
    assert {"device", "precision", "threads", "versions", "commit", "processor", "load", "peers"} <= set(
        report["environment"]
    )
    part = report["parts"].pop("iteration_cost")
    assert not report["parts"] and part["failure"] is None and part["skipped"] == []
    for ratio in part["ratios"]:
        assert set(ratio) == {"name", "value", "low", "high", "at_most", "at_least", "limit", "verdict"}
        assert 0 < ratio["low"] <= ratio["value"] <= ratio["high"]
    names = [ratio["name"] for ratio in part["ratios"]]
    assert "mini: greedy ÷ its bare forward" in names and "mini, k = 4: efficiency, 4 accepted" in names
    # The limit stands beside every efficiency, and nowhere else.
    assert all((": efficiency, " in ratio["name"]) == (ratio["limit"] is not None) for ratio in part["ratios"])
    assert [one["block_size"] for one in part["measurements"]] == [1, 4]
    assert "| mini, k = 4: iteration ÷ its bare forward " in capsys.readouterr().out


def test_a_part_without_its_records_is_skipped_and_says_so(run, tmp_path, capsys):
    status, report = run("--only", "workflow_time", "--results", str(tmp_path))
    assert status == 0 and report["parts"]["workflow_time"]["ratios"] == []
    assert "run make smoke first" in report["parts"]["workflow_time"]["skipped"][0]
    assert "run make smoke first" in capsys.readouterr().out


def test_a_part_that_fails_is_told_and_the_next_is_measured(run, tmp_path, monkeypatch, capsys):
    def fail(_):
        raise RuntimeError("no [such] thing")

    monkeypatch.setattr(start_up, "measure", fail)
    status, report = run("--only", "start_up", "--only", "workflow_time", "--results", str(tmp_path))
    assert status == 1 and list(report["parts"]) == ["start_up", "workflow_time"]
    assert report["parts"]["start_up"]["failure"] == "RuntimeError: no [such] thing"
    assert "failed: RuntimeError: no [such] thing" in capsys.readouterr().out


def test_a_part_that_does_not_exist_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--only", "nonsense"])
    assert "greedy_peers" in capsys.readouterr().err


def found(findings, failure, seconds):
    return {"seconds": seconds, "failure": failure, **findings.as_json()}


def test_the_table_is_markdown_and_says_which_targets_were_met():
    findings = Findings()
    findings.add("a ÷ b", Ratio(1.25, 0.5, 12345.6), at_most=1.1, limit=2.0)
    findings.add("a", 0.001234, at_least=0.001)
    findings.skipped.append("c: not installed")
    assert part_table("part", found(findings, "ValueError: no", 3.4)).splitlines() == [
        "**part**, 3 s",
        "",
        "| measured |  median |   least | largest | limit |  target | verdict |",
        "| -------- | ------: | ------: | ------: | ----: | ------: | ------: |",
        "| a ÷ b    |    1.25 |     0.5 |   12346 |     2 |   ≤ 1.1 |  missed |",
        "| a        | 0.00123 | 0.00123 | 0.00123 |       | ≥ 0.001 |     met |",
        "",
        "- skipped: c: not installed",
        "- failed: ValueError: no",
    ]
    assert part_table("part", found(Findings(), None, 0.0)) == "**part**, 0 s\n"


def test_parts_can_be_named_together_and_compute_on_as_many_threads_as_are_asked_for(run, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(start_up, "measure", lambda _: seen.append(torch.get_num_threads()) or Findings())
    status, report = run("--only", "start_up", "workflow_time", "--results", str(tmp_path), "--threads", "2")
    assert os.environ["OMP_NUM_THREADS"] == "2"
    assert status == 0 and seen == [2] and report["environment"]["threads"] == 2
    assert list(report["parts"]) == ["start_up", "workflow_time"]


def test_each_part_has_a_file_that_measures():
    for part in PARTS:
        module = command.importlib.import_module(f"bench.{part}")
        assert callable(module.measure) and module.__doc__


def test_a_report_of_another_schema_is_refused(tmp_path):
    (tmp_path / "old.json").write_text(json.dumps({"schema": 0}))
    with pytest.raises(ValueError, match="schema 0"):
        read_report(tmp_path / "old.json")


def test_the_page_of_kept_results_is_what_their_files_say():
    for report in map(read_report, kept()):
        assert not report["quick"] and not report["environment"]["dirty"]
    assert (FOLDER / "README.md").read_text(encoding="utf-8") == page(kept())


def test_the_page_shows_the_newest_first(run, tmp_path):
    _, report = run("--only", "workflow_time", "--results", str(tmp_path))
    for name, started in (("a", "2020-01-01T00:00:00+00:00"), ("b", "2021-01-01T00:00:00+00:00")):
        (tmp_path / f"{name}.json").write_text(json.dumps(report | {"started": started}))
    (tmp_path / "latest.json").write_text("not kept")
    text = page(path for path in kept(tmp_path) if path.name != "report.json")
    assert text.index("2021-01-01") < text.index("2020-01-01")
    assert "[a.json](a.json): commit " in text and "1 thread, fp32" in text
