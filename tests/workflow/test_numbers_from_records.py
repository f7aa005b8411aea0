"""Every published-style number of a finished run, computed again from the records by other code than the report's."""

import csv
import json
from collections import Counter

import pytest
import sacrebleu

from bpd.report.table_files import read_markdown

pytestmark = pytest.mark.xdist_group("finished_run")


@pytest.fixture(scope="module")
def results(finished_run):
    return finished_run.folder / "results" / "tiny"


def lines_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def table(results, name):
    with (results / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def text_numbers(results, model, name, criterion):
    """Return BLEU and mean accepted block size of one decoding."""
    records = lines_of(results / "translation" / model / "decode" / name / f"{criterion}.jsonl")
    references = (results / "data" / "translation" / f"{name}.de").read_text(encoding="utf-8").split("\n")[:-1]
    bleu = sacrebleu.corpus_bleu([record["text"] for record in records], [references]).score
    return bleu, block_size(records)


def block_size(records):
    return sum(map(sum, (one["block_sizes"] for one in records))) / sum(len(one["block_sizes"]) for one in records)


def image_records(results, model, criterion):
    return lines_of(results / "super_resolution" / model / "decode" / "dev" / f"{criterion}.jsonl")


def timed(results, task, model, name, criterion, protocol, batch_rows=1):
    """Return speedup and mean accepted block size of one timing."""
    records = lines_of(results / task / model / "time" / name / f"{criterion}.jsonl")
    records = [one for one in records if (one["protocol"], one["batch_rows"]) == (protocol, batch_rows)]
    seconds, tokens, iterations = Counter(), Counter(), Counter()
    for one in records:
        seconds[one["arm"]] += one["seconds"]
        tokens[one["arm"]] += one["tokens"]
        iterations[one["arm"]] += one["iterations"]
    assert tokens["greedy"] == tokens["blockwise"] > 0
    return seconds["greedy"] / seconds["blockwise"], tokens["blockwise"] / iterations["blockwise"]


def test_table_1(results):
    rows = table(results, "table1")
    ours = [row for row in rows if row["bleu"]]
    assert {(row["k"], row["setting"]) for row in ours} == {("1", "base"), ("3", "regular"), ("3", "both")}
    for row in ours:
        model = "base" if row["setting"] == "base" else f"{row['setting']}_k{row['k']}"
        bleu, block = text_numbers(results, model, "dev", "exact")
        assert float(row["bleu"]) == pytest.approx(bleu) and float(row["mean_accepted_block_size"]) == pytest.approx(
            block
        )


def test_section_7_1(results):
    ours = [row for row in table(results, "approximate") if row["bleu"]]
    assert {row["criterion"] for row in ours} == {"exact", "top2", "minimum2"}
    for row in ours:
        bleu, block = text_numbers(results, f"both_k{row['k']}", "dev", row["criterion"])
        assert float(row["bleu"]) == pytest.approx(bleu) and float(row["mean_accepted_block_size"]) == pytest.approx(
            block
        )


def test_table_2(results):
    sources = {"regular": ("regular", "exact"), "approximate": ("regular", "distance2"),
               "fine_tuning": ("fine_tuning", "exact"), "both": ("fine_tuning", "distance2")}  # fmt: skip
    ours = [row for row in table(results, "table2") if row["setting"] in sources and row["mean_accepted_block_size"]]
    assert len(ours) == 5
    for row in ours:
        setting, criterion = sources[row["setting"]]
        block = block_size(image_records(results, f"{setting}_k{row['k']}", criterion))
        assert float(row["mean_accepted_block_size"]) == pytest.approx(block)


def test_table_4(results):
    base, *rows = table(results, "table4")
    assert float(base["bleu"]) == pytest.approx(text_numbers(results, "base", "test", "exact")[0])
    ours = {row["k"]: row for row in rows if row["k"]}
    assert set(ours) == {"1", "3"}
    # This grid has no k = 1 model, and the base model is not one.
    assert (base["k"], ours["1"]["bleu"]) == ("", "")
    for row in (base, ours["1"]):
        assert (float(row["speedup"]), float(row["speedup_cached"])) == (1.0, 1.0)
    assert float(ours["3"]["bleu"]) == pytest.approx(text_numbers(results, "both_k3", "test", "exact")[0])
    for column, protocol in (("speedup", "recompute"), ("speedup_cached", "cached")):
        speed, _ = timed(results, "translation", "both_k3", "test", "exact", protocol)
        assert float(ours["3"][column]) == pytest.approx(speed)


SETS = {"translation": ("both", "test", "exact"), "super_resolution": ("fine_tuning", "dev", "distance2")}


def test_figure_4(results):
    rows = table(results, "figure4")
    assert len(rows) == 2 * 2
    for row in rows:
        setting, name, criterion = SETS[row["task"]]
        speed, block = timed(results, row["task"], f"{setting}_k{row['k']}", name, criterion, row["protocol"])
        assert float(row["speedup"]) == pytest.approx(speed)
        assert float(row["mean_accepted_block_size"]) == pytest.approx(block)
        assert float(row["efficiency"]) == pytest.approx(speed / block)


def test_speed_by_batch(results):
    rows = table(results, "speed_by_batch")
    assert len(rows) == 2 * 2
    for row in rows:
        setting, name, criterion = SETS[row["task"]]
        model = f"{setting}_k{row['k']}"
        speed, block = timed(results, row["task"], model, name, criterion, "batches", int(row["batch_rows"]))
        assert float(row["speedup"]) == pytest.approx(speed)
        assert float(row["mean_accepted_block_size"]) == pytest.approx(block)


def test_accuracy_of_heads(results):
    rows = table(results, "head_accuracy")
    assert len(rows) == 4 * 3
    for row in rows:
        folder = results / row["task"] / f"{row['setting']}_k{row['k']}" / "decode" / "dev"
        measured = json.loads((folder / "heads.json").read_text())["own_output"]
        place = int(row["head"]) - 1
        share = measured["right"][place] / measured["total"][place]
        assert float(row["own_output_accuracy"]) == pytest.approx(share)
        block = block_size(lines_of(folder / "exact.jsonl"))
        assert float(row["mean_accepted_block_size"]) == pytest.approx(block)


def test_the_trace(results):
    steps = json.loads((results / "translation" / "trace.json").read_text())["steps"]
    text = (results / "tables" / "trace.md").read_text(encoding="utf-8")
    sizes = [len(step["accepted"]) for step in steps]
    assert f"Here {len(sizes)} steps accept {', '.join(map(str, sizes))} tokens" in text


def test_the_scorecard_repeats_the_tables(results):
    entries = {row["item"]: row for row in table(results, "scorecard")}
    numbers = [row for row in entries.values() if row["kind"] != "claim"]
    assert len(numbers) == 168
    bleu, _ = text_numbers(results, "base", "dev", "exact")
    assert entries["Table 1, baseline: BLEU"]["ours"] == f"{bleu:.2f}"
    speed, _ = timed(results, "translation", "both_k3", "test", "exact", "recompute")
    assert entries["Figure 4, Translation, peak: speedup"]["ours"] == f"{speed:.2f}"
    speed, block = timed(results, "super_resolution", "fine_tuning_k3", "dev", "distance2", "recompute")
    assert entries["Figure 4, Super-resolution, peak: speedup"]["ours"] == f"{speed:.2f}"
    assert entries["Figure 4, Super-resolution, peak: block size"]["ours"] == f"{block:.2f}"
    regular, both = (block_size(image_records(results, *place)) for place in
                     (("regular_k3", "exact"), ("fine_tuning_k3", "exact")))  # fmt: skip
    claim = entries["Images: fine tuning fares better than a frozen base by the exact criterion at every k"]
    assert claim["verdict"] == ("holds" if both > regular else "fails")


def test_the_page_holds_every_table(results):
    page = (results / "README.md").read_text(encoding="utf-8")
    for path in (results / "tables").glob("*.md"):
        assert read_markdown(path).strip() in page, path.name
