"""Foreign result tables: the CSV and Markdown that `bpd scorecard`, `bpd page` and `bpd show` read."""

import json
import shutil
from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bpd.report.result_values import TABLES
from bpd.report.results_page import SECTIONS
from bpd.report.table_files import write_table_files
from tests.field.driver import bpd, refused
from tests.field.fuzzing import Outcome, as_json, call, foreign, foreign_json, fuzzed, scratch
from tests.report.example_results import TRACE

ROOT = Path(__file__).resolve().parents[2]
MINI = ROOT / "results/mini/tables"
SETTINGS = {"scale": "mini", "tolerances": None, "same_bleu": 0.5, "slight_bleu": 1.5}


@cache
def csv_of(table: str) -> bytes:
    return (MINI / f"{table}.csv").read_bytes()


def write_tables(folder: Path) -> Path:
    """Write the mini scale's tables as `bpd tables` does, and a trace; return their folder."""
    tables = folder / "tables"
    for table in TABLES:
        write_table_files(tables, table, csv_of(table).decode(), f"**{table}**\n", "")
    (folder / "trace.json").write_text(json.dumps(TRACE), encoding="utf-8")
    return tables


def scorecard(folder: Path) -> Outcome:
    words = ["--tables", folder / "tables", "--trace", folder / "trace.json"]
    return call("scorecard", *words, "--settings", json.dumps(SETTINGS))


@fuzzed(60)
@given(st.sampled_from(TABLES).flatmap(lambda table: st.tuples(st.just(table), foreign(csv_of(table)))), st.booleans())
@example(("table1", csv_of("table1")[:-4]), True)
@example(("table1", csv_of("table1").rpartition(b",")[0] + b"\n"), True)
@example(("table1", csv_of("table1").replace(b"\n", b",9\n")), True)
@example(("table4", b"\xff"), True)
def test_fuzz_tables_are_judged_or_refused_by_name(case, alone):
    table, content = case
    with scratch() as folder:
        tables = write_tables(folder)
        (tables / f"{table}.csv").write_bytes(content)
        if alone:
            (tables / f"{table}.md").unlink()
        outcome = scorecard(folder)
        well = outcome.is_well(f"{table}.csv", folder=folder)
        assert well == (tables / "scorecard.csv").exists()
        assert alone or well == (content == csv_of(table))


@fuzzed(40)
@given(foreign_json(TRACE))
@example(b"[" * 100_000)
@example(as_json(TRACE | {"steps": [{"proposed": ["a"], "accepted": "a"}]}))
def test_fuzz_a_trace_is_judged_or_refused_by_name(content):
    with scratch() as folder:
        write_tables(folder)
        (folder / "trace.json").write_bytes(content)
        scorecard(folder).is_well("trace.json", folder=folder)


@pytest.fixture
def results(tmp_path):
    """All that a page is made of, every table with its CSV."""
    folder, figures = tmp_path / "results", tmp_path / "figures"
    figures.mkdir()
    for kind, name, _ in (item for items in SECTIONS.values() for item in items):
        if kind == "figure":
            (figures / f"{name}.png").write_bytes(b"picture")
        else:
            write_table_files(folder / "tables", name, "k,bleu\n1,35.15\n", f"**The table {name}**\n", "")
    return folder, figures


def page(results, figures) -> Outcome:
    return call("page", "--results", results, "--figures", figures, "--config", ROOT / "config/mini.yaml")


@pytest.mark.parametrize("table", ["table1", "cost"])
def test_fuzz_a_page_contradicts_no_table(table, results):
    folder, figures = results
    assert page(*results).status == 0
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert f"**The table {table}**" in text and "SHA-256" not in text
    path = folder / "tables" / f"{table}.csv"
    path.write_text("k,bleu\n1,35.1\n")
    for outcome in (page(*results), call("show", folder, figures)):
        assert not outcome.is_well(f"{table}.csv: changed since {table}.md was written")
    assert (folder / "README.md").read_text(encoding="utf-8") == text


def test_fuzz_tables_that_are_no_text_are_named(results):
    folder, figures = results
    (folder / "tables/table1.md").write_bytes(b"\xff")
    for outcome in (page(*results), call("show", folder, figures)):
        assert not outcome.is_well("table1.md: not a text file")
    shutil.rmtree(folder / "tables")
    refused(bpd("show", folder, figures), "tables")
