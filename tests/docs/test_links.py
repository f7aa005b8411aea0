"""Links between the pages of the repository lead to files and headings that are there."""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.docs.pages import PAGES, ROOT, anchors, links

# A run leaves it, and no repository has it.
NOT_COMMITTED = re.compile(r"results/mini/report\.html$")


def problem(page: Path, link: str) -> str | None:
    """Return what is wrong with a link of a page, or none."""
    if re.match(r"[a-z]+:", link):
        return None
    path, _, anchor = unquote(link).partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.is_relative_to(ROOT) or not target.exists():
        return f"{link}: no such file"
    if anchor and anchor not in anchors(target):
        return f"{link}: no such heading"
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    found = [problem(page, link) for link in links(page) if not NOT_COMMITTED.search(link)]
    assert not [one for one in found if one]


def test_pages_have_links_and_dead_ones_are_found():
    assert sum(len(links(page)) for page in PAGES) > 80
    page = ROOT / "docs" / "method.md"
    assert problem(page, "nowhere.md") and problem(page, "running.md#nowhere")
    assert problem(page, "running.md#several-seeds") is None and problem(page, "../README.md") is None


def test_the_overview_names_every_page():
    overview = {link for link in links(ROOT / "docs" / "README.md") if not link.startswith(("..", "http"))}
    assert overview == {path.name for path in (ROOT / "docs").glob("*.md") if path.name != "README.md"}
