"""The pages of the repository that people read, and what is in them."""

import re
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / name for name in ("README.md", "CHANGELOG.md", "config/README.md")),
        *(ROOT / name for name in ("results/mini/README.md", "bench/results/README.md")),
    ]
)


def links(page: Path) -> list[str]:
    """Return where the links and pictures of a page lead, as they are written."""
    found = []
    for token in _tokens(page):
        for part in token.children or ():
            for name in ("href", "src"):
                if part.attrGet(name):
                    found.append(str(part.attrGet(name)))
    return found


def anchors(page: Path) -> set[str]:
    """Return the anchors that repository hosts give to a page's headings."""
    found: set[str] = set()
    tokens = _tokens(page)
    for before, token in pairwise(tokens):
        if before.type == "heading_open":
            text = "".join(part.content for part in token.children if part.type in ("text", "code_inline"))
            anchor = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            number = 1
            while anchor in found:
                anchor, number = f"{anchor.removesuffix(f'-{number - 1}')}-{number}", number + 1
            found.add(anchor)
    return found


def fences(page: Path, language: str) -> list[str]:
    """Return the contents of a page's code blocks in `language`."""
    return [token.content for token in _tokens(page) if token.type == "fence" and token.info == language]


def _tokens(page: Path) -> list:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))
