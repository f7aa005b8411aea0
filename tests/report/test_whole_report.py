"""All tables and figures of one made-up grid, as `bpd tables` and `bpd figures` write them."""

import subprocess
import sys
from pathlib import Path

import pytest

from bpd.commands.report import write_figures, write_tables
from bpd.errors import BpdError
from tests.report.example_results import environment_without_display, score_path, write_results

FIGURES = ("accepted_blocks", "table1_scatter", "trace", "training_curves")
TABLES = (
    *(f"{name}.{kind}" for name in ("approximate", "table1", "table4") for kind in ("csv", "md", "tex", "html")),
    "scores.csv",
)
SCRIPT = """
import sys
from pathlib import Path
from bpd.commands.report import write_figures, write_tables
from bpd.config import ReportSettings

settings = ReportSettings.model_validate_json(sys.argv[1])
results, output = Path(sys.argv[2]), Path(sys.argv[3])
write_tables(settings, results, output / "tables")
write_figures(settings, results, output / "figures")
assert "matplotlib.pyplot" not in sys.modules
"""


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_without_a_display_two_runs_write_the_same_bytes(tmp_path):
    settings = write_results(tmp_path / "results", (2,))
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
        + ["figures/trace.gif"]
        + [f"tables/{name}" for name in (*TABLES, "trace.md", "trace.html")]
    )


def test_all_tables_are_written_from_the_scores_of_the_grid(tmp_path):
    settings = write_results(tmp_path, (1, 2))
    paths = write_tables(settings, tmp_path, tmp_path / "tables")
    assert sorted(path.name for path in paths) == sorted([*TABLES, "trace.md", "trace.html"])
    rows = (tmp_path / "tables" / "scores.csv").read_text(encoding="utf-8").splitlines()[1:]
    # The base has greedy and beam dev scores and one of test; six models two each; "Both" three more.
    assert len(rows) == 3 + 6 * 2 + 3


def test_one_missing_score_is_refused_by_name_and_nothing_written(tmp_path):
    settings = write_results(tmp_path, (2,))
    score_path(tmp_path, "both_k2", "top2").unlink()
    for write in (write_tables, write_figures):
        with pytest.raises(BpdError, match=r"both_k2/decode/newstest2013/top2\.score\.json: no such score"):
            write(settings, tmp_path, tmp_path / "output")
    assert not (tmp_path / "output").exists()


def test_a_stale_score_of_another_grid_is_left_out(tmp_path):
    write_results(tmp_path, (1, 2))
    settings = write_results(tmp_path, (1,))
    write_tables(settings, tmp_path, tmp_path / "tables")
    assert "_k2" not in (tmp_path / "tables" / "scores.csv").read_text(encoding="utf-8")
