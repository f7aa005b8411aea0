"""A19: reports need no display and change only when a number does; a missing number is a gap; no plot ends a training.

Also: all tables and figures of each half, twice, under a backend that wants a display (tests/report/
test_whole_report.py, test_whole_image_report.py), points, labels and gaps of each figure (tests/report/test_scatter.py,
test_figure4.py, test_training_curves.py, test_block_histograms.py and others beside them).
"""

from __future__ import annotations

import csv
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from bpd import image_grid
from bpd.commands import image_report, report, speed_report
from bpd.config import SpeedReportSettings
from tests.field.faces import faces
from tests.report.example_images import drawn_images, write_image_results
from tests.report.example_results import environment_without_display, score_path, write_results
from tests.report.visible import texts_out_of_sight

ROOT = Path(__file__).resolve().parents[2]
# What a run may find on another machine, or on another day.
SURROUNDINGS = (
    {"PYTHONHASHSEED": "1", "TZ": "Pacific/Auckland", "LC_ALL": "C", "SOURCE_DATE_EPOCH": "1"},
    {"PYTHONHASHSEED": "2", "TZ": "America/New_York", "LC_ALL": "C.UTF-8", "SOURCE_DATE_EPOCH": "999999999"},
)


@pytest.fixture
def results(tmp_path: Path) -> tuple[SpeedReportSettings, Path]:
    folder = tmp_path / "results"
    text = write_results(folder, (1, 2, 4))
    images = write_image_results(folder, (1, 2), drawn_images())
    return SpeedReportSettings(translation=text, super_resolution=images), folder


def bpd(*words: object, environment: dict[str, str], folder: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "bpd.cli", *map(str, words)]
    surroundings = environment | {"PYTHONPATH": os.pathsep.join([environment.get("PYTHONPATH", ""), str(ROOT)])}
    return subprocess.run(command, env=surroundings, cwd=folder, capture_output=True, text=True)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a19_without_a_display_each_run_writes_the_same_bytes_wherever_and_whenever(tmp_path, results):
    settings, folder = results
    written = []
    for place, surroundings in enumerate(SURROUNDINGS):
        output = tmp_path / f"run_{place}"
        output.mkdir()
        for command in ("tables", "figures"):
            said = bpd(
                command, "--task", "speed", "--settings", settings.model_dump_json(), "--results", folder,
                "--output", output / command, environment=environment_without_display() | surroundings, folder=output,
            )  # fmt: skip
            assert said.returncode == 0, said.stderr
        written.append(contents(output))
    assert {Path(name).suffix for name in written[0]} == {".csv", ".md", ".tex", ".html", ".pdf", ".png"}
    assert all(written[0].values())
    assert [name for name in written[0] if written[0][name] != written[1].get(name)] == []
    assert written[0].keys() == written[1].keys()


def drawn_by(write, settings, folder: Path, module, monkeypatch: pytest.MonkeyPatch) -> dict[str, Figure]:
    """Return the figures that a command writes, by name."""
    found: dict[str, Figure] = {}
    with monkeypatch.context() as patch:
        patch.setattr(module, "write_figure", lambda figure, _, name: found.setdefault(name, figure) and [])
        write(settings, folder, folder / "unused")
    return found


def test_a19_every_plot_has_labelled_axes_and_no_text_is_cut_off(results, monkeypatch):
    settings, folder = results
    figures = drawn_by(report.write_figures, settings.translation, folder, report, monkeypatch)
    figures |= drawn_by(image_report.write_image_figures, settings.super_resolution, folder, image_report, monkeypatch)
    figures |= drawn_by(speed_report.write_speed_figures, settings, folder, speed_report, monkeypatch)
    pictures = {"trace", "gallery", "acceptance_map"}
    assert pictures < set(figures) and len(figures) >= 10
    for name, figure in figures.items():
        assert not texts_out_of_sight(figure), name
        if name not in pictures:
            across = [axes.get_xlabel() for axes in figure.axes] + [figure.get_supxlabel()]
            up = [axes.get_ylabel() for axes in figure.axes] + [figure.get_supylabel()]
            assert any(across) and any(up), name


def test_a19_figure_4_has_as_many_points_as_its_table_has_rows(results, monkeypatch):
    settings, folder = results
    figures = drawn_by(speed_report.write_speed_figures, settings, folder, speed_report, monkeypatch)
    speed_report.write_speed_tables(settings, folder, folder / "tables")
    with open(folder / "tables" / "figure4.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for axes, task in zip(figures["figure4"].axes, ("translation", "super_resolution"), strict=True):
        wanted = sorted((float(row["mean_accepted_block_size"]), float(row["speedup"])) for row in rows
                        if row["task"] == task)  # fmt: skip
        drawn = [container.lines[0].get_xydata() for container in axes.containers]
        found = sorted(tuple(point) for points in drawn for point in points.tolist())
        assert len(found) == len(wanted) > 0
        assert np.array(found) == pytest.approx(np.array(wanted))


@pytest.mark.parametrize("missing", [math.nan, None])
def test_a19_a_score_that_is_no_number_is_a_gap_in_the_table_too(results, missing):
    """Not 0, not an average over the others, and not a crash: a dash, and an empty field in the CSV."""
    settings, folder = results
    path = score_path(folder, "both_k4")
    score = json.loads(path.read_text())
    if missing is None:
        text = settings.translation
        criteria = {**text.criteria, "both_k4": {**text.criteria["both_k4"], "dev": ("top2",)}}
        chosen = text.model_copy(update={"criteria": criteria})
    else:
        chosen = settings.translation
        path.write_text(json.dumps(score | {"bleu": missing}))
    report.write_tables(chosen, folder, folder / "tables")
    with open(folder / "tables" / "table1.csv", encoding="utf-8", newline="") as stream:
        rows = {(row["k"], row["setting"]): row for row in csv.DictReader(stream)}
    assert (rows["4", "both"]["bleu"], rows["4", "both"]["mean_accepted_block_size"]) == ("", "")
    assert rows["4", "both"]["published_bleu"] == "26.36" and float(rows["2", "both"]["bleu"]) > 20
    (line,) = [line for line in (folder / "tables" / "table1.md").read_text("utf-8").splitlines()
               if line.startswith("| 4 |")]  # fmt: skip
    assert line.split("|")[-3].strip() == "–" and "0.00" not in line


def test_a19_a_training_ends_well_where_nothing_can_be_drawn(tmp_path):
    """Matplotlib is broken on the node, there is no display, and the training writes curves for TensorBoard."""
    broken = tmp_path / "site" / "matplotlib"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise RuntimeError('no display')\n")
    settings = image_grid.train_settings(faces().config.super_resolution, "fine_tuning_k3").model_dump_json()
    environment = environment_without_display() | {"PYTHONPATH": str(tmp_path / "site"), "BPD_DEVICE": "cpu"}
    said = bpd(
        "train", "--settings", settings, "--data", faces().data, "--base", faces().model("base"),
        "--work", tmp_path / "work", "--output", tmp_path / "model", environment=environment, folder=tmp_path,
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    assert (tmp_path / "model" / "provenance.json").exists() and list((tmp_path / "model" / "tensorboard").iterdir())
    said = bpd("figures", "--help", environment=environment, folder=tmp_path)
    assert said.returncode == 0, "the tool itself starts without matplotlib"
