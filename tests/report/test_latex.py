"""LaTeX of every table compiles, characters and long tables included."""

import shutil
import subprocess

import pytest

from bpd.commands.report import write_tables
from bpd.commands.scorecard import write_scorecard
from bpd.commands.speed_report import write_speed_tables
from bpd.config import ScorecardSettings, SpeedReportSettings
from bpd.report.table2 import table2
from bpd.report.tables import write_table
from tests.report.example_images import drawn_images, write_image_results
from tests.report.example_results import write_results
from tests.report.test_scorecard import paper_values
from tests.report.test_scorecard import write_tables as write_example_tables

DOCUMENT = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage{booktabs,longtable,array}
\begin{document}
%s
\end{document}
"""


def have_latex() -> bool:
    if shutil.which("pdflatex") is None or shutil.which("kpsewhich") is None:
        return False
    return subprocess.run(["kpsewhich", "booktabs.sty"], capture_output=True).returncode == 0


@pytest.mark.skipif(not have_latex(), reason="no pdflatex with booktabs here")
def test_every_table_compiles(tmp_path):
    text = write_results(tmp_path, (1, 2, 4))
    images = write_image_results(tmp_path, (1, 2), drawn_images())
    tables = tmp_path / "tables"
    write_tables(text, tmp_path, tables)
    write_speed_tables(SpeedReportSettings(translation=text, super_resolution=images), tmp_path, tables)
    from bpd.commands.image_report import image_scores

    write_table(table2(image_scores(images, tmp_path), (1, 2), images.settings, "distance2", "smoke"), tables)
    whole = tmp_path / "whole"
    whole.mkdir()
    write_example_tables(whole, paper_values())
    settings = ScorecardSettings(scale="mini", tolerances=None, same_bleu=0.5, slight_bleu=1.5)
    write_scorecard(settings, whole, tmp_path / "translation" / "trace.json")
    found = sorted([*tables.glob("*.tex"), *whole.glob("*.tex")])
    assert len(found) == 3 + 4 + 1 + 1
    source = tmp_path / "all.tex"
    source.write_text(DOCUMENT % "\n\\clearpage\n".join(path.read_text(encoding="utf-8") for path in found))
    result = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", source.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
    )
    assert result.returncode == 0, result.stdout[-3000:]
    assert "Missing character" not in (tmp_path / "all.log").read_text(errors="replace")
