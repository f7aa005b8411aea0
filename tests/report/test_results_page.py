"""The results' README: complete, with links that lead somewhere, and refusing what is missing."""

import re
from pathlib import Path

import pytest
import yaml

from bpd.commands.results_page import write_results_page
from bpd.config import Config, load_config, validate_section
from bpd.errors import BpdError
from bpd.report.results_page import SECTIONS
from bpd.report.table_files import markdown_page, write_table_files
from tests.commands.conftest import CONFIG
from tests.commands.test_cli import run

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def finished(tmp_path):
    results, figures = tmp_path / "results" / "tiny", tmp_path / "paper_figures" / "tiny"
    (results / "tables").mkdir(parents=True)
    figures.mkdir(parents=True)
    for kind, name, _ in (item for items in SECTIONS.values() for item in items):
        if kind == "table":
            (results / "tables" / f"{name}.md").write_text(f"**The table {name}**\n\n| a |\n| --- |\n| 1 |\n")
        else:
            (figures / f"{name}.png").write_bytes(b"picture")
    return results, figures


def test_every_table_and_figure_is_there_and_every_link_leads_somewhere(finished):
    results, figures = finished
    page, config = write_results_page(validate_section(Config, CONFIG, "tiny"), figures, results)
    text = page.read_text(encoding="utf-8")
    for path in results.glob("tables/*.md"):
        assert path.read_text().strip() in text
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert len(links) == len(list(figures.iterdir())) + 1
    assert all((results / link).exists() for link in links)
    anchors = set(re.findall(r"\(#([^)]+)\)", text))
    headings = {
        re.sub(r"[^a-z0-9 -]", "", name.lower()).replace(" ", "-") for name in re.findall(r"^## (.+)$", text, re.M)
    }
    assert anchors == headings == {
        "did-it-replicate", "translation", "super-resolution", "speed", "how-far-the-heads-see", "what-it-cost",
    }  # fmt: skip
    assert load_config(config) == validate_section(Config, CONFIG, "tiny")
    assert yaml.safe_load(config.read_text())["scale"] == "tiny"


def test_the_page_is_the_same_bytes_twice(finished):
    results, figures = finished
    config = validate_section(Config, CONFIG, "tiny")
    first = [path.read_bytes() for path in write_results_page(config, figures, results)]
    assert first == [path.read_bytes() for path in write_results_page(config, figures, results)]


def test_results_of_another_scale_are_told_from_damaged_ones(finished, tmp_path):
    results, figures = finished
    config = validate_section(Config, CONFIG, "tiny")
    _, kept = write_results_page(config, figures, results)
    before = kept.read_bytes()
    told = f"{results}: results of the scale 'tiny', not 'smoke' ({kept}); give that scale's config"
    with pytest.raises(BpdError, match=re.escape(told)):
        write_results_page(config.model_copy(update={"scale": "smoke"}), figures, results)
    assert kept.read_bytes() == before
    smoke = ["--config", ROOT / "config" / "smoke.yaml"]
    written = ["--results", results, "--output", tmp_path / "written"]
    for words in (
        ["tables", *written], ["tables", "--task", "super_resolution", *written],
        ["figures", "--task", "speed", *written],
        ["cost", *written], ["survey", "build", *written],
        ["scorecard", "--tables", results / "tables", "--trace", results / "translation" / "trace.json"],
    ):  # fmt: skip
        result = run(*words, *smoke)
        assert result.returncode == 1 and told in result.stderr, words
    assert not (tmp_path / "written").exists()


@pytest.mark.parametrize("missing", ["tables/scorecard.md", "tables/table4.md"])
def test_a_missing_table_is_named_and_no_page_written(finished, missing):
    results, figures = finished
    (results / missing).unlink()
    with pytest.raises(BpdError, match=r"is missing; run `bpd tables` first"):
        write_results_page(validate_section(Config, CONFIG, "tiny"), figures, results)
    assert not (results / "README.md").exists()


def test_a_missing_figure_is_named(finished):
    results, figures = finished
    (figures / "figure4.png").unlink()
    with pytest.raises(BpdError, match=r"figure4\.png is missing; run `bpd figures` first"):
        write_results_page(validate_section(Config, CONFIG, "tiny"), figures, results)


def test_a_tables_page_shows_its_cells_and_needs_nothing_from_elsewhere(tmp_path):
    markdown = "**Caption**\n\n| k | a < b & c |\n| ---: | --- |\n| 1 | 2.50 |\n\nNote.  \n"
    paths = write_table_files(tmp_path, "table9", "k\n1\n", markdown, "\\begin{table}\n")
    assert [path.name for path in paths] == ["table9.csv", "table9.md", "table9.tex", "table9.html"]
    page = paths[-1].read_text(encoding="utf-8")
    assert "<td>2.50</td>" in page and "a &lt; b &amp; c" in page and "<title>table9</title>" in page
    assert "http" not in page and "<script" not in page
    assert "<s>no</s>" in markdown_page("~~no~~", "x")
