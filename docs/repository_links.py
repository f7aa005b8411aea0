"""Hooks of MkDocs: pages of the repository outside docs/ join the site, and links hold there as in the repository.

In the repository every link is relative to the file that it stands in. In the site the pages of docs/ lie at the top,
those named in `PAGES` under their own path; a link to any other file of the repository becomes plain text.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("config/README.md", "results/mini/README.md", "bench/results/README.md", "CHANGELOG.md")
PICTURES = ("paper_figures/mini/*.png", "paper_figures/mini/*.gif")
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
_FENCE = re.compile(r"^ {0,3}(```|~~~)")


def on_files(files: Files, config: Any) -> Files:
    """Add the repository's pages and the figures that they show."""
    pictures = [path.relative_to(ROOT).as_posix() for pattern in PICTURES for path in ROOT.glob(pattern)]
    for path in (*PAGES, *sorted(pictures)):
        files.append(File(path, str(ROOT), config.site_dir, config.use_directory_urls))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Turn the links of a page, which hold in the repository, into those that hold in the site."""
    here = page.file.src_uri
    place = here if here in PAGES else f"docs/{here}"
    fenced = False
    lines = []
    for line in markdown.split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        lines.append(line if fenced else _LINK.sub(lambda found: _moved(found, here, place, files), line))
    # Repository hosts read the Markdown within this element; here it has to be asked for.
    return "\n".join(lines).replace("<details>", '<details markdown="1">')


def _moved(found: re.Match[str], here: str, place: str, files: Files) -> str:
    picture, text, target = found.groups()
    if re.match(r"[a-z]+:|#|<", target):
        return found.group(0)
    path, mark, anchor = target.partition("#")
    wanted = posixpath.normpath(posixpath.join(posixpath.dirname(place), path))
    if wanted.startswith("docs/"):
        wanted = wanted.removeprefix("docs/")
    elif wanted not in PAGES and not wanted.startswith("paper_figures/"):
        return text
    if files.get_file_from_path(wanted) is None:
        return found.group(0)
    return f"{picture}[{text}]({posixpath.relpath(wanted, posixpath.dirname(here) or '.')}{mark}{anchor})"
