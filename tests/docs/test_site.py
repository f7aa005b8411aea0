"""The documentation builds without a warning, and needs no network to be read."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

# One worker builds the site for all of them.
pytestmark = pytest.mark.xdist_group("site")


class _Loaded(HTMLParser):
    """What a page loads by itself, and the links in it."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag in ("script", "img", "iframe") and given.get("src"):
            self.loaded.append(given["src"])
        if tag == "link" and given.get("href") and given.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(given["href"])
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    said = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, timeout=120
    )
    assert said.returncode == 0, said.stdout + said.stderr
    assert "WARNING" not in said.stderr
    return folder


def test_every_page_is_in_the_site_and_loads_nothing_from_elsewhere(site):
    pages = [page for page in site.rglob("*.html") if page.name != "404.html"]
    assert len(pages) == 10 + 4
    for page in pages:
        parsed = _Loaded()
        parsed.feed(page.read_text(encoding="utf-8"))
        assert not [one for one in parsed.loaded if re.match(r"(https?:)?//", one)], page
        for one in parsed.loaded:
            assert (page.parent / one.partition("?")[0]).exists(), (page, one)


def test_what_is_folded_away_is_a_table_there_too(site):
    page = (site / "results" / "mini" / "index.html").read_text(encoding="utf-8")
    folded = re.search(r"<details.*?</details>", page, re.DOTALL).group(0)
    assert folded.count("<tr>") > 100 and "| --- |" not in page


def test_links_that_lead_out_of_the_pages_are_plain_text_and_those_between_them_hold(site):
    parsed = _Loaded()
    parsed.feed((site / "extending.html").read_text(encoding="utf-8"))
    inside = [link for link in parsed.links if not link.startswith(("#", "http", "mailto:"))]
    assert not [link for link in inside if link.endswith(".py") or link.endswith(".md")]
    assert any(link.startswith("config/") and link.endswith("#translationdatafilesname") for link in inside)
    for link in inside:
        assert (site / link.partition("#")[0]).exists(), link


def test_a_dead_link_fails_the_build(tmp_path):
    for name in ("docs", "config", "results/mini", "bench/results", "paper_figures"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "docs").mkdir()
    for path in [*(ROOT / "docs").iterdir(), ROOT / "mkdocs.yml"]:
        if path.is_file():
            (tmp_path / path.relative_to(ROOT)).write_bytes(path.read_bytes())
    for name in ("config/README.md", "results/mini/README.md", "bench/results/README.md", "CHANGELOG.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("# A page\n", encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    said = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True
    )
    assert said.returncode != 0 and "translationdatafilesname" in said.stderr, said.stderr
