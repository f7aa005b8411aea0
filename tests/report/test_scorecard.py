"""The scorecard: complete, true to the paper's own numbers, and dependent on exactly the cells it names."""

import csv
import json
from collections import Counter

import pytest

from bpd.errors import BpdError
from bpd.report.published import published
from bpd.report.result_values import TABLES, Values, measured_values
from bpd.report.scorecard import judged, scorecard, scorecard_table, summary, write_scorecard_files
from bpd.report.table4 import BASE_SYSTEM, OURS
from tests.report.example_results import TRACE
from tests.report.example_scorecard import MINI, PAPER, by_item, paper_values


def test_every_number_of_the_paper_is_there_counted_by_hand():
    found = Counter((entry.section, entry.kind) for entry in judged(Values({}), MINI) if entry.kind != "claim")
    assert found == {
        # The baseline; two columns at k = 1 and four at each of five k, two numbers each.
        ("Table 1", "number"): 1 + 2 * 2 + 5 * 4 * 2,
        # Top-2 and top-3 at five k.
        ("Section 7.1", "number"): 5 * 2 * 2,
        ("Table 2", "number"): 1 + 5 * 4,
        # Two criteria at five k, each a percentage and an interval.
        ("Table 3", "number"): 2 * 5 * 3,
        ("Table 4", "number"): 6 * 2,
        # Seventeen systems, seven of them with a speedup.
        ("Table 4", "quoted"): 17 + 7,
        # Two peaks: speedup, block size and k.
        ("Figure 4", "number"): 2 * 3,
        # Six steps, and their number.
        ("Section 7.4", "number"): 6 + 1,
        # 2 times, 7 times, 4 times.
        ("Abstract", "number"): 3,
    }
    items = [entry.item for entry in judged(Values({}), MINI)]
    assert len(items) == len(set(items))


@pytest.mark.parametrize("item, number", [
    ("Table 1, baseline: BLEU", "25.56"), ("Table 1, k = 1, Distillation: BLEU", "26.41"),
    ("Table 1, k = 10, Both: block size", "4.95"), ("Section 7.1, k = 8, top-3: BLEU", "25.41"),
    ("Table 2, k = 6, Both: block size", "5.25"), ("Table 3, Fine Tuning, approximate, k = 6: high", "58.2"),
    ("Table 4, k = 8: speedup", "3.31"), ("Figure 4, Super-resolution, peak: block size", "5.30"),
    ("Section 7.4, trace: tokens accepted in step 4", "10"), ("Abstract: wall-clock speedup, up to", "4.00"),
    ("Table 4, Iterative refinement, i = 1 (Lee et al., 2018): speedup", "11.39"),
])  # fmt: skip
def test_published_numbers_are_those_of_the_paper(item, number):
    assert by_item({})[item].published == number


def test_every_claim_and_number_holds_for_the_papers_own_numbers():
    verdicts = {kind: Counter() for kind in ("claim", "number", "quoted")}
    for entry in judged(Values(paper_values()), PAPER):
        verdicts[entry.kind][entry.verdict] += 1
    assert set(verdicts["claim"]) == {"holds"} and verdicts["claim"]["holds"] >= 25
    assert verdicts["number"] == {"within tolerance": 138, "shown": 6}
    assert verdicts["quoted"] == {"quoted": 24}


def test_the_published_column_of_a_claim_is_what_its_check_finds_in_the_paper():
    entries = by_item({})
    assert entries["Distilled data lessen that loss"].published == (
        "from k = 2 to k = 10 gold data lose 2.23, distilled data 0.98"
    )
    for entry in entries.values():
        if entry.kind == "claim":
            assert entry.published and "not so" not in entry.published


def test_nothing_measured_is_nothing_judged():
    entries = by_item({})
    assert {entry.verdict for entry in entries.values()} == {"not measured", "quoted"}
    assert all(entry.ours == entry.difference == "" for entry in entries.values())


@pytest.mark.parametrize("settings", [PAPER, MINI])
def test_a_changed_cell_changes_exactly_what_depends_on_it(settings):
    values = paper_values()
    before = by_item(values, settings)
    changed_something = 0
    for cell, value in values.items():
        for other in (value + 7.0, value - 30.0):
            after = by_item(values | {cell: other}, settings)
            changed = {item for item in before if before[item] != after[item]}
            depending = {item for item, entry in before.items() if cell in entry.cells}
            assert changed <= depending
            direct = {item for item in depending if before[item].kind == "number" and len(before[item].cells) == 1}
            assert direct <= changed
            changed_something += bool(changed)
    assert changed_something > len(values), "most cells were found to decide nothing"


def test_no_claim_is_deaf():
    values = paper_values()
    changes = [{cell: other} for cell, value in values.items() for other in (0.0, 2 * value)]
    for table, column in {(cell[0], cell[2]) for cell in values}:
        whole = {cell: value for cell, value in values.items() if (cell[0], cell[2]) == (table, column)}
        changes += [{cell: value * factor for cell, value in whole.items()} for factor in (0.3, 1.5)]
    claims = {item for item, entry in by_item(values).items() if entry.kind == "claim"}
    upset = set()
    for change in changes:
        upset |= {item for item, entry in by_item(values | change).items() if entry.verdict == "fails"}
    assert upset == claims


def test_a_failing_claim_names_where_it_fails():
    values = paper_values() | {("table1", (4, "both"), "mean_accepted_block_size"): 2.5}
    entry = by_item(values)["Both beats Fine Tuning in block size at every k"]
    assert (entry.verdict, entry.ours) == ("fails", "not so at k = 4: 2.50 ≤ 2.69")


def test_a_k_that_lacks_one_side_is_left_out():
    values = {
        cell: value
        for cell, value in paper_values().items()
        if cell[0] == "table1" and (cell[1][0] == 4 or cell[1] == (2, "both"))
    }
    entry = by_item(values)["Both beats Fine Tuning in block size at every k"]
    assert (entry.verdict, entry.ours) == ("holds", "k = 4: 3.27 > 2.69")
    assert by_item(values)["Fine tuning loses BLEU for larger k"].verdict == "not measured"


def test_a_trend_needs_three_k():
    item = "Translation: the wall-clock gain peaks before the largest k while the block size still grows"
    values = {cell: value for cell, value in paper_values().items() if cell[0] != "figure4" or cell[1][1] in (8, 10)}
    assert by_item(values)[item].verdict == "not measured"
    assert by_item(paper_values())[item].verdict == "holds"


@pytest.mark.parametrize(
    ("item", "cell", "most", "one_sided"),
    [
        ("Table 1, k = 4, Both: BLEU", ("table1", (4, "both"), "bleu"), 0.5, False),
        ("Table 2, k = 2, Both: block size", ("table2", (2, "both"), "mean_accepted_block_size"), 0.25, False),
        ("Table 4, k = 8: speedup", ("table4", (8,), "speedup"), 0.5, False),
        ("Table 3, Fine Tuning, exact, k = 2: low", ("table3", (2, "exact"), "low"), 2.0, False),
        ("Section 7.4, trace: steps", ("trace", (), "steps"), 2.0, False),
        (
            "Abstract: wall-clock speedup, up to",
            ("figure4", ("super_resolution", 6, "recompute"), "speedup"),
            0.5,
            True,
        ),
    ],
)
def test_tolerances_are_kept_to_the_digit(item, cell, most, one_sided):
    values = paper_values()
    for off, verdict in ((most, "within"), (-most, "within"), (-most - 0.01, "outside"), (most + 0.01, "outside")):
        if one_sided and off > 0:
            verdict = "within"
        assert by_item(values | {cell: values[cell] + off})[item].verdict == f"{verdict} tolerance"
        assert by_item(values | {cell: values[cell] + off}, MINI)[item].verdict == "not compared"


def test_differences_have_signs():
    values = paper_values() | {("table1", (4, "both"), "bleu"): 25.11, ("table2", (1, "regular"), "bleu"): 3.0}
    entry = by_item(values)["Table 1, k = 4, Both: BLEU"]
    assert (entry.published, entry.ours, entry.difference) == ("26.36", "25.11", "-1.25")


# Files.


def write_tables(folder, values):
    """Write `values` as the CSV files that `bpd tables` writes, as far as the scorecard reads them."""
    keys = {"table1": ("k", "setting"), "approximate": ("k", "criterion"), "table2": ("k", "setting"),
            "table3": ("method_1",), "table4": ("k",), "figure4": ("task", "k", "protocol")}  # fmt: skip
    for table in TABLES:
        rows = {}
        for (name, key, column), value in values.items():
            if name == table:
                rows.setdefault(key, {})[column] = value
        columns = dict.fromkeys(column for row in rows.values() for column in row)
        with (folder / f"{table}.csv").open("w", encoding="utf-8", newline="") as file:
            about = ["system", "source"] if table == "table4" else []
            writer = csv.DictWriter(file, [*keys[table], *about, *columns])
            writer.writeheader()
            for key, row in rows.items():
                if table == "table3":
                    rule = "exact" if key[1] == "exact" else "approximate (ε = 2)"
                    key = (f"Fine tuning, {rule}, k = {key[0]}",)
                row = dict(zip(keys[table], key)) | row
                system = "Greedy, k = 1" if key == (1,) else f"Blockwise, k = {key[0]}"
                writer.writerow(row | ({"system": system, "source": OURS} if table == "table4" else {}))
            if table == "table4":
                writer.writerow({"system": BASE_SYSTEM, "source": OURS, "bleu": 28.5, "speedup": 1.0})
                writer.writerow({"system": "NAT", "source": "Gu et al., 2018"})


@pytest.fixture
def files(tmp_path):
    write_tables(tmp_path, paper_values())
    sizes = published()["trace"]["accepted"]
    steps = [{"proposed": ["a"] * 10, "accepted": ["a"] * size} for size in sizes]
    trace = TRACE | {"source": published()["trace"]["sentence"], "steps": steps}
    (tmp_path / "trace.json").write_text(json.dumps(trace), encoding="utf-8")
    return tmp_path


def test_tables_as_files_give_the_same_values(files):
    base = {("table4", ("base",), "bleu"): 28.5, ("table4", ("base",), "speedup"): 1.0}
    assert measured_values(files, files / "trace.json") == paper_values() | base


def test_another_sentences_trace_is_not_compared(files):
    (files / "trace.json").write_text(json.dumps(TRACE), encoding="utf-8")
    entries = {entry.item: entry for entry in scorecard(files, files / "trace.json", PAPER)}
    assert entries["Section 7.4, trace: steps"].verdict == "not measured"


def test_a_blank_cell_is_not_measured(files):
    path = files / "table1.csv"
    path.write_text(path.read_text().replace("4,both,26.36,3.27", "4,both,,3.27"))
    entries = {entry.item: entry for entry in scorecard(files, files / "trace.json", PAPER)}
    assert entries["Table 1, k = 4, Both: BLEU"].verdict == "not measured"
    assert entries["Table 1, k = 4, Both: block size"].verdict == "within tolerance"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("table2.csv", None, r"table2\.csv: cannot read the table"),
        ("table2.csv", "", r"table2\.csv: not a table of comma-separated values; run"),
        ("table1.csv", "k,setting,bleu\n4,both,26\n", r"table1\.csv: the table lacks the columns mean_acc"),
        ("trace.json", "{}", r"trace\.json: missing or damaged trace"),
    ],
)  # fmt: skip
def test_a_missing_or_damaged_file_is_named(files, name, text, message):
    if text is None:
        (files / name).unlink()
    else:
        (files / name).write_text(text, encoding="utf-8")
    with pytest.raises(BpdError, match=message):
        scorecard(files, files / "trace.json", PAPER)


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("table1", "4,both,26.36", "4,both,x", "bleu of k = 4, both is 'x', not a number from 0 to 100"),
        ("table1", "4,both,26.36", "4,both,nan", "bleu of k = 4, both is 'nan'"),
        ("table1", "4,both,26.36", "4,both,inf", "bleu of k = 4, both is 'inf'"),
        ("table1", "4,both,26.36", "4,both,-26.36", "bleu of k = 4, both is '-26.36'"),
        ("table1", "4,both,26.36,3.27", "4,both,26.36,4.27", "size of k = 4, both is '4.27', not a number from 1 to 4"),
        ("table1", "4,both,26.36", "2,both,26.36", "k = 2, both stands in line [0-9]+ already"),
        ("table1", "4,both,26.36", "4,Both,26.36", "unknown setting 'Both'"),
        ("table1", "4,both,26.36", "4.0,both,26.36", r"k is '4\.0', which is no block size"),
        ("table1", "4,both,26.36", "-4,both,26.36", "k is '-4', which is no block size"),
        ("approximate", "4,top2,", "4,top0,", "unknown criterion 'top0'"),
        ("table2", "4,both,", "4,distillation,", "unknown setting 'distillation'"),
        ("table3", "Fine tuning, exact, k = 4", "Magic", "unknown method 'Magic'"),
        ("table3", ",52.8,", ",152.8,", "preference_percent of k = 2, exact is '152.8', not a number from 0 to 100"),
        ("table4", "4,", "four,", "k is 'four', which is no block size"),
        ("table4", "8,", ",", "k is '', which is no block size"),
        ("table4", "3.31", "-3.31", "speedup of k = 8 is '-3.31', not a number of at least 0"),
        ("figure4", "translation,8,recompute", "speech,8,recompute", "unknown task 'speech'"),
        ("figure4", "translation,8,recompute", "translation,8,other", "unknown protocol 'other'"),
    ],
)
def test_a_cell_that_cannot_be_is_named_with_its_line_and_what_to_do(files, name, old, new, message):
    path = files / f"{name}.csv"
    text = path.read_text(encoding="utf-8")
    head, _, rest = text.partition("\n")
    assert old in rest
    path.write_text(f"{head}\n{rest.replace(old, new, 1)}", encoding="utf-8")
    with pytest.raises(BpdError, match=rf"{name}\.csv, line [0-9]+: .*{message}.*; run `bpd tables` again"):
        scorecard(files, files / "trace.json", PAPER)


def test_the_table_has_the_contracts_columns_and_counts_its_verdicts(files):
    entries = scorecard(files, files / "trace.json", PAPER)
    table = scorecard_table(entries, PAPER)
    assert table.csv().splitlines()[0].split(",")[:5] == ["item", "published", "ours", "difference", "verdict"]
    assert len(table.csv().splitlines()) == 1 + len(entries)
    claims = sum(entry.kind == "claim" for entry in entries)
    assert summary(entries) == (
        f"{claims} claims: {claims} hold; 144 numbers: 6 shown, 138 within tolerance; 24 numbers quoted from others"
    )
    (_, markdown, _, _) = write_scorecard_files(entries, PAPER, files)
    text = markdown.read_text(encoding="utf-8")
    assert text.startswith(f"**{summary(entries)}.**")
    shown, folded = text.split("<details>")
    assert shown.count("\n| ") == claims + 2 and folded.count("\n| ") == len(entries) - claims + 2
    assert "not judged" in scorecard_table(judged(Values({}), MINI), MINI).markdown()
