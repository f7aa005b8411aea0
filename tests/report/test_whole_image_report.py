"""All tables and figures of one made-up grid of image models, as `bpd tables` and `bpd figures` write them."""

import subprocess
import sys
from pathlib import Path

import pandas
import pytest

from bpd.commands import image_report
from bpd.commands.image_report import write_image_figures, write_image_tables
from bpd.errors import BpdError
from bpd.evaluation.records import read_records
from tests.report.example_images import drawn_images, score_path, write_image_results
from tests.report.example_results import environment_without_display

FIGURES = ("acceptance_map", "gallery", "image_accepted_blocks", "image_training_curves")
TABLES = ("image_scores.csv", "table2.csv", "table2.md", "table2.tex", "table2.html")
SCRIPT = """
import sys
from pathlib import Path
from bpd.commands import image_report
from bpd.commands.image_report import write_image_figures, write_image_tables
from bpd.config import ImageReportSettings

settings = ImageReportSettings.model_validate_json(sys.argv[1])
results, output = Path(sys.argv[2]), Path(sys.argv[3])
write_image_tables(settings, results, output / "tables")
write_image_figures(settings, results, output / "figures")
assert "matplotlib.pyplot" not in sys.modules and "torch" not in sys.modules
"""


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_without_a_display_two_runs_write_the_same_bytes(tmp_path):
    settings = write_image_results(tmp_path / "results", (1, 3), drawn_images())
    written = []
    for name in ("first", "second"):
        output = tmp_path / name
        subprocess.run(
            [sys.executable, "-W", "error", "-c", SCRIPT, settings.model_dump_json(), tmp_path / "results", output],
            env=environment_without_display(),
            cwd=Path(__file__).parents[2],
            check=True,
            timeout=300,
        )
        written.append(contents(output))
    assert written[0] == written[1]
    assert sorted(written[0]) == sorted(
        [f"figures/{name}.{kind}" for name in FIGURES for kind in ("pdf", "png")]
        + [f"tables/{name}" for name in TABLES]
    )


def test_table_2_can_be_recomputed_from_the_records(tmp_path):
    settings = write_image_results(tmp_path, (1, 2), drawn_images())
    paths = write_image_tables(settings, tmp_path, tmp_path / "tables")
    assert sorted(path.name for path in paths) == sorted(TABLES)
    table = pandas.read_csv(tmp_path / "tables" / "table2.csv").set_index(["k", "setting"])
    for cell, model, criterion in (
        ((1, "regular"), "regular_k1", "exact"),
        ((2, "approximate"), "regular_k2", "distance2"),
        ((2, "both"), "fine_tuning_k2", "distance2"),
    ):
        records = read_records(score_path(tmp_path, model, criterion).with_name(f"{criterion}.jsonl"))
        block = sum(len(record.token_ids) for record in records) / sum(record.iterations for record in records)
        assert table.loc[cell, "mean_accepted_block_size"] == pytest.approx(block)
        assert table.loc[cell, "images"] == 3
    frame = pandas.read_csv(tmp_path / "tables" / "image_scores.csv")
    assert len(frame) == 1 + 1 + 2 * 2 and frame["data_sha256"].nunique() == 1


def test_pictures_are_drawn_from_the_decodings_that_they_name(tmp_path, monkeypatch):
    settings = write_image_results(tmp_path, (1, 2, 3), drawn_images(2))
    given = {}
    for name in ("gallery", "acceptance_map", "block_histograms", "training_curves"):
        monkeypatch.setattr(image_report, name, lambda *values, name=name, **_: given.setdefault(name, values))
    monkeypatch.setattr(image_report, "write_figure", lambda *_: [])
    write_image_figures(settings, tmp_path, tmp_path / "figures")

    def records(model, criterion):
        return read_records(score_path(tmp_path, model, criterion).with_name(f"{criterion}.jsonl"))

    assert given["gallery"][1] == {
        "Greedy\n(Regular, k = 1)": records("regular_k1", "exact"),
        "Approximate, ε = 2\n(Fine Tuning, k = 3)": records("fine_tuning_k3", "distance2"),
    }
    maps = given["acceptance_map"][0]
    assert len(maps) == 2 * 4
    assert maps[2, "regular"] == records("regular_k2", "exact")
    assert maps[2, "both"] == records("fine_tuning_k2", "distance2")
    assert maps[3, "approximate"] == records("regular_k3", "distance2")
    assert maps[3, "fine_tuning"] == records("fine_tuning_k3", "exact")


def test_a_grid_of_k_1_alone_is_drawn(tmp_path):
    settings = write_image_results(tmp_path, (1,), drawn_images(1), rows=4)
    assert len(write_image_figures(settings, tmp_path, tmp_path / "figures")) == 8


def test_one_missing_score_is_refused_by_name_and_nothing_written(tmp_path):
    settings = write_image_results(tmp_path, (1, 2), drawn_images(1))
    score_path(tmp_path, "fine_tuning_k2", "distance2").unlink()
    for write in (write_image_tables, write_image_figures):
        with pytest.raises(BpdError, match=r"fine_tuning_k2/decode/dev/distance2\.score\.json: no such score"):
            write(settings, tmp_path, tmp_path / "output")
    assert not (tmp_path / "output").exists()
