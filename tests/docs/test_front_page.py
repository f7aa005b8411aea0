"""The README: short, and its scorecard that of the committed results."""

import importlib.util
import re

import pytest

from tests.docs.pages import ROOT

README = ROOT / "README.md"


@pytest.fixture(scope="module")
def script():
    path = ROOT / "workflow" / "scripts" / "write_readme_scorecard.py"
    spec = importlib.util.spec_from_file_location("write_readme_scorecard", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_readme_is_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 200


def test_the_summary_is_that_of_the_committed_scorecard(script):
    page = README.read_text(encoding="utf-8")
    assert script.with_summary(page, script.RESULTS) == page, "make docs writes it anew"
    told = re.search(r"\| all \| (\d+) \| (\d+) \| (\d+) \|", page)
    whole = (ROOT / "results" / "mini" / "README.md").read_text(encoding="utf-8")
    for count, words in zip(told.groups(), ("hold", "fail", "not measured")):
        assert f"{count} {words}" in re.search(r"\*\*\d+ claims: (.+?);", whole).group(1)


def test_another_scorecard_gives_another_summary(script, tmp_path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "config.yaml").write_bytes((script.RESULTS / "config.yaml").read_bytes())
    text = (script.RESULTS / "tables" / "scorecard.csv").read_text(encoding="utf-8")
    (tmp_path / "tables" / "scorecard.csv").write_text(text.replace(",fails,", ",holds,"), encoding="utf-8")
    page = script.with_summary(README.read_text(encoding="utf-8"), tmp_path)
    assert "What fails" not in page and page != README.read_text(encoding="utf-8")
    assert re.search(r"\| all \| \d+ \| 0 \| \d+ \|", page)
