"""How a table is written: as CSV, Markdown and LaTeX, and as a page for the workflow's report."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from bpd.atomic import write_text
from bpd.errors import BpdError

_BOUND = re.compile(r"\n<!-- \S+\.csv: SHA-256 ([0-9a-f]{64}) -->\n")
_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 1.5rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { border: 1px solid #8885; padding: 0.3rem 0.7rem; text-align: left; vertical-align: top; }
th { background: #8882; }
tr:nth-child(even) td { background: #8881; }
"""


def write_table_files(folder: Path, name: str, csv: str, markdown: str, latex: str) -> list[Path]:
    """Write one table into `folder`, each file whole or not at all; return the paths."""
    bound = f"{markdown}\n<!-- {name}.csv: SHA-256 {_sha256(csv.encode())} -->\n"
    texts = {"csv": csv, "md": bound, "tex": latex, "html": markdown_page(markdown, name)}
    paths = []
    for kind, text in texts.items():
        paths.append(folder / f"{name}.{kind}")
        write_text(paths[-1], text)
    return paths


def read_markdown(path: Path) -> str:
    """Return a finished table's Markdown, without the line that binds it to its CSV file.

    Raises `BpdError` where it cannot be read, or where the CSV beside it is not the one that it was written with.
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise BpdError(f"{path}: cannot read the table: {error.strerror}; run `bpd tables` again") from None
    except UnicodeDecodeError:
        raise BpdError(f"{path}: not a text file in UTF-8; run `bpd tables` again") from None
    require_written_together(path.with_suffix(".csv"), text)
    return _BOUND.sub("", text)


def require_written_together(csv: Path, markdown: str | None = None) -> None:
    """Raise `BpdError` where a finished table's CSV file is not the one that its Markdown was written with.

    Tables of earlier versions, whose Markdown does not tell, and tables of one kind alone pass.
    """
    try:
        text = csv.with_suffix(".md").read_text(encoding="utf-8") if markdown is None else markdown
        found = csv.read_bytes()
    except (OSError, UnicodeDecodeError):
        return
    said = _BOUND.search(text)
    if said and said.group(1) != _sha256(found):
        raise BpdError(
            f"{csv}: changed since {csv.stem}.md was written: the two contradict each other; run `bpd tables` again, "
            "or the command that writes this table"
        )


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def markdown_page(markdown: str, title: str) -> str:
    """Return Markdown as one HTML page that needs nothing from elsewhere."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n{reader.render(markdown)}</body>\n</html>\n"
    )
