"""Tables and figures of speed, as `bpd tables` and `bpd figures` write them from files."""

import csv
import json

import pytest

from bpd.commands.report import write_tables
from bpd.commands.speed_report import _measured_heads, _timings, write_speed_figures, write_speed_tables
from bpd.config import SpeedReportSettings
from bpd.errors import BpdError
from bpd.report.head_accuracy import head_accuracy_figure
from bpd.report.speed_by_batch import speed_by_batch
from tests.report.example_images import drawn_images, write_image_results
from tests.report.example_results import write_results
from tests.report.visible import texts_out_of_sight

TABLES = ("figure4", "head_accuracy", "speed_by_batch", "time_shares")


@pytest.fixture
def both(tmp_path):
    text = write_results(tmp_path, (1, 2, 4))
    images = write_image_results(tmp_path, (1, 2), drawn_images())
    return SpeedReportSettings(translation=text, super_resolution=images), tmp_path


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_all_tables_are_written_and_hold_what_was_measured(both):
    settings, results = both
    paths = write_speed_tables(settings, results, results / "tables")
    assert sorted(path.name for path in paths) == sorted(
        f"{n}.{kind}" for n in TABLES for kind in ("csv", "md", "tex", "html")
    )
    batches = rows_of(results / "tables" / "speed_by_batch.csv")
    assert [(row["task"], row["k"], row["batch_rows"]) for row in batches] == [
        *(("translation", k, size) for k in ("2", "4") for size in ("1", "4")),
        *(("super_resolution", "2", size) for size in ("1", "4")),
    ]
    images = [row for row in batches if row["task"] == "super_resolution"]
    assert [float(row["speedup"]) for row in images] == pytest.approx([1.2, 0.6])
    for row in batches:
        ratio = float(row["blockwise_tokens_per_second"]) / float(row["greedy_tokens_per_second"])
        assert ratio == pytest.approx(float(row["speedup"]))
    shares = rows_of(results / "tables" / "time_shares.csv")
    assert len(shares) == 3 and float(shares[0]["model_call_milliseconds"]) == pytest.approx(10.0)
    assert "10.00 (40 %)" in (results / "tables" / "time_shares.md").read_text(encoding="utf-8")


def test_accuracy_stands_beside_the_block_size_of_its_model(both):
    settings, results = both
    write_speed_tables(settings, results, results / "tables")
    rows = rows_of(results / "tables" / "head_accuracy.csv")
    text = [row for row in rows if row["task"] == "translation"]
    assert len(text) == 4 * (2 + 4) and len(rows) == len(text) + 2 * 2
    both_k4 = [row for row in text if (row["setting"], row["k"]) == ("both", "4")]
    assert [float(row["own_output_accuracy"]) for row in both_k4] == [1.0, 0.5, 0.25, 0.125]
    assert {float(row["mean_run"]) for row in both_k4} == {1.875}
    assert {row["mean_accepted_block_size"] for row in both_k4} == {"3.27"}


def test_hollow_markers_are_left_to_published_numbers(both):
    settings, results = both
    figure = head_accuracy_figure(_measured_heads(settings, results), "mini")
    lines = [line for axes in figure.axes for line in axes.get_lines() if line.get_marker() not in ("None", "")]
    assert lines and all(line.get_markerfacecolor() == line.get_color() for line in lines)
    assert not texts_out_of_sight(figure)


def test_a_block_size_looks_alike_for_both_tasks_and_bars_are_explained(both):
    settings, results = both
    figure = speed_by_batch(_timings(settings, results), "mini")
    text, images = ({bar.get_label(): bar.lines[0] for bar in axes.containers} for axes in figure.axes)
    assert set(text) == {"k = 2", "k = 4"} and set(images) == {"k = 2"}
    assert text["k = 2"].get_color() == images["k = 2"].get_color() != text["k = 4"].get_color()
    assert [label.get_text() for label in figure.legends[0].get_texts()] == ["greedy", "k = 2", "k = 4"]
    assert "bars: least and largest of the repeats" in figure.get_suptitle()
    assert not texts_out_of_sight(figure)


def test_figures_are_written_twice_alike(both):
    settings, results = both
    written = []
    for name in ("first", "second"):
        paths = write_speed_figures(settings, results, results / name)
        assert len(paths) == 6
        written.append({path.name: path.read_bytes() for path in paths})
    assert written[0] == written[1]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("translation/both_k2/time/newstest2014/exact.jsonl", "cannot read the timings"),
        ("translation/both_k2/time/newstest2014/exact.meta.json", "no such timing; run `bpd time` first"),
        ("super_resolution/regular_k2/decode/dev/heads.json", "missing or damaged accuracies"),
    ],
)
def test_a_missing_file_is_named(both, path, message):
    settings, results = both
    (results / path).unlink()
    with pytest.raises(BpdError, match=message):
        write_speed_tables(settings, results, results / "tables")


@pytest.mark.parametrize(
    "change",
    [{"shares": {}}, {"timing": {"repeats": 3}}, {"block_size": "2"}, {"versions": None}, {"checkpoint_sha256": None}],
)
def test_a_damaged_description_of_a_timing_is_refused(both, change):
    settings, results = both
    path = results / "translation" / "both_k4" / "time" / "newstest2014" / "exact.meta.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(BpdError, match=r"both_k4.*exact\.meta\.json: damaged; run `bpd time` again"):
        write_speed_tables(settings, results, results / "tables")


TIMED = "translation/both_k4/time/newstest2014/exact"


@pytest.mark.parametrize(
    ("kept", "message"),
    [(lambda lines: [], "incomplete: 0 of 84 timings"), (lambda lines: lines[:-7], "incomplete: 77 of 84 timings"),
     (lambda lines: [line for line in lines if json.loads(line)["repeat"] < 2], "incomplete: 56 of 84 timings"),
     (lambda lines: [*lines, lines[0]], "85 timings where exact.meta.json tells of 84")],
)  # fmt: skip
def test_an_incomplete_timing_is_refused(both, kept, message):
    settings, results = both
    path = results / f"{TIMED}.jsonl"
    path.write_text("".join(f"{line}\n" for line in kept(path.read_text().splitlines())))
    with pytest.raises(BpdError, match=rf"both_k4/.*exact\.jsonl: {message}; run `bpd time` again"):
        write_speed_tables(settings, results, results / "tables")


def test_a_timing_that_does_not_say_how_many_inputs_it_is_of_is_refused(both):
    settings, results = both
    path = results / f"{TIMED}.meta.json"
    meta = json.loads(path.read_text())
    meta["timing"]["recompute"]["inputs"] = None
    path.write_text(json.dumps(meta))
    with pytest.raises(BpdError, match=r"nothing says how many inputs were timed \(recompute\); run `bpd time` again"):
        write_speed_tables(settings, results, results / "tables")


@pytest.mark.parametrize(("name", "model"), [("checkpoint_sha256", "both_k4"), ("base_checkpoint_sha256", "base")])
def test_a_timing_of_another_checkpoint_is_refused(both, name, model):
    settings, results = both
    path = results / f"{TIMED}.meta.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: "d" * 64}))
    message = rf"exact\.meta\.json: timed with the checkpoint d{{12}} of {model}, but scored was c{{12}}; run"
    for write in (write_speed_tables, write_speed_figures):
        with pytest.raises(BpdError, match=message):
            write(settings, results, results / "tables")
    with pytest.raises(BpdError, match=message):
        write_tables(settings.translation, results, results / "tables")


@pytest.mark.parametrize(("name", "wanted"), [("model", "both_k4"), ("set", "newstest2014"), ("criterion", "exact")])
def test_a_timing_of_something_else_than_its_path_says_is_refused(both, name, wanted):
    settings, results = both
    path = results / f"{TIMED}.meta.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: "another"}))
    with pytest.raises(BpdError, match=rf"exact\.meta\.json: a timing of {name} another, not {wanted}; run `bpd time`"):
        write_speed_tables(settings, results, results / "tables")
