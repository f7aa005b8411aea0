"""LaTeX of every table, put into a plain article: it compiles and stays on the page, whatever is in the table."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from bpd.commands.image_report import write_image_tables
from bpd.commands.report import write_tables
from bpd.commands.scorecard import write_scorecard
from bpd.commands.speed_report import write_speed_tables
from bpd.config import ScorecardSettings, SpeedReportSettings
from bpd.evaluation.job_records import JobRecord
from bpd.grid import replica_folder
from bpd.planning.jobs import STAGES
from bpd.report.cost import JobCost, cost_table
from bpd.report.latex_table import escaped, latex_table
from bpd.report.table3 import table3
from tests.evaluation.example_study import study
from tests.report.example_images import drawn_images, write_image_results
from tests.report.example_results import write_results
from tests.report.test_scorecard import paper_values
from tests.report.test_scorecard import write_tables as write_example_tables
from tests.report.test_table3 import SCORED

ALL_K = (1, 2, 4, 6, 8, 10)
# A point is a third of a millimetre: as far as a line may stand out.
MOST_POINTS_OUT = 1.0


def have_latex() -> bool:
    if shutil.which("pdflatex") is None or shutil.which("kpsewhich") is None:
        return False
    return subprocess.run(["kpsewhich", "booktabs.sty"], capture_output=True).returncode == 0


needs_latex = pytest.mark.skipif(not have_latex(), reason="no pdflatex with booktabs here")


def document_of(tables: list[Path]) -> str:
    """Return an article with each table on a page of its own, and the packages that the tables ask for alone."""
    asked = [re.match(r"% Needs (.*)\.\n", path.read_text(encoding="utf-8")).group(1) for path in tables]
    inputs = [f"\\typeout{{== {path.name}}}\n\\clearpage\n\\input{{{path}}}" for path in tables]
    parts = ["\\documentclass{article}", *dict.fromkeys(asked), "\\begin{document}", *inputs, "\\end{document}"]
    return "\n".join(parts) + "\n"


def log_of(tables: list[Path], folder: Path) -> str:
    (folder / "all.tex").write_text(document_of(tables), encoding="utf-8")
    for _ in range(2):
        result = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"],
            cwd=folder,
            env=os.environ | {"max_print_line": "1000"},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=120,
        )
        assert result.returncode == 0, result.stdout[-3000:]
    return (folder / "all.log").read_text(errors="replace")


def off_the_page(log: str) -> list[str]:
    """Return what stands out to the side by more than a point, or below at all, each with its table."""
    found, table = [], ""
    for line in log.splitlines():
        table = line if line.startswith("== ") else table
        out = re.match(r"Overfull \\([hv])box \(([\d.]+)pt too", line)
        if (out and (out[1] == "v" or float(out[2]) > MOST_POINTS_OUT)) or "Float too large" in line:
            found.append(f"{table}: {line}")
    return found


@pytest.fixture(scope="module")
def largest_tables(tmp_path_factory):
    """Every table of the paper's whole grid, with three seeds."""
    results = tmp_path_factory.mktemp("results")
    tables = results / "tables"
    for seed in (1, 2, 3):
        text = write_results(replica_folder(results, seed), ALL_K, "mini")
        images = write_image_results(replica_folder(results, seed), ALL_K, drawn_images())
        for path in replica_folder(results, seed).glob("*/*/decode/*/*.score.json"):
            score = json.loads(path.read_text(encoding="utf-8"))
            score["decoding"]["seed"] = 1000 * seed
            # The first seed's models are those that were timed.
            if seed > 1:
                score["decoding"]["checkpoint_sha256"] = str(seed) * 64
            path.write_text(json.dumps(score), encoding="utf-8")
    text, images = (settings.model_copy(update={"seeds": (1, 2, 3)}) for settings in (text, images))
    write_tables(text, results, tables)
    write_image_tables(images, results, tables)
    write_speed_tables(SpeedReportSettings(translation=text, super_resolution=images), results, tables)
    table3(study(), SCORED).write(tables)
    jobs = [JobCost(stage, JobRecord(1e6, 1e7, 1e11), cards=8, earlier=0.5) for stage in STAGES]
    cost_table(jobs, STAGES, ["cuda: A Card of a Long Name, 80 GB", "cpu: Testing"], "mini").write(tables)
    whole = results / "whole"
    whole.mkdir()
    write_example_tables(whole, paper_values())
    settings = ScorecardSettings(scale="mini", tolerances=None, same_bleu=0.5, slight_bleu=1.5)
    write_scorecard(settings, whole, results / "translation" / "trace.json")
    return sorted([*tables.glob("*.tex"), *whole.glob("*.tex")])


@needs_latex
def test_the_largest_tables_stay_on_the_page(largest_tables, tmp_path):
    assert len(largest_tables) == 3 + 1 + 1 + 4 + 1 + 1
    log = log_of(largest_tables, tmp_path)
    assert off_the_page(log) == []
    assert "Missing character" not in log


@needs_latex
def test_small_and_empty_tables_stay_on_the_page(tmp_path):
    text = write_results(tmp_path, (1, 2))
    write_tables(text, tmp_path, tmp_path / "tables")
    (tmp_path / "tables" / "empty.tex").write_text(latex_table("Nothing", ["k", "BLEU"], [], []), encoding="utf-8")
    tables = sorted((tmp_path / "tables").glob("*.tex"))
    assert len(tables) == 4
    assert off_the_page(log_of(tables, tmp_path)) == []


@needs_latex
def test_what_stands_out_is_found(tmp_path):
    text = latex_table("Wide", ["k", "word"], [["1", "x" * 200]], [])
    (tmp_path / "wide.tex").write_text(text, encoding="utf-8")
    assert "wide.tex" in off_the_page(log_of([tmp_path / "wide.tex"], tmp_path))[0]


def test_a_column_is_as_wide_as_its_longest_word_and_else_what_it_needs():
    rows = [["1", "unbroken" * 3, "a sentence of many short words " * n, ""] for n in range(6)]
    text = latex_table("Widths", ["k", "word", "text", "none"], rows, [])
    narrow, word, wide, none = map(float, re.findall(r"dimexpr([\d.]+)", text))
    assert wide > word > none > narrow > 0 and 0.99 < narrow + word + wide + none <= 1
    assert word > 24 / 80


def test_what_belongs_together_is_tied_and_no_sign_turns_into_another():
    assert escaped("k = 4: 1.50 ± 0.10 > 20 %") == "k~=~4: 1.50~$\\pm$~0.10 $>$ 20~\\%"


def test_no_text_is_smaller_than_seven_points(largest_tables):
    texts = [path.read_text(encoding="utf-8") for path in largest_tables]
    assert not any(small in text for text in texts for small in ("\\tiny", "resizebox", "scalebox"))
