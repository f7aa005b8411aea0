"""How a table is written: as CSV, Markdown and LaTeX, and as a page for the workflow's report."""

from __future__ import annotations

from pathlib import Path

from bpd.atomic import write_text

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
    texts = {"csv": csv, "md": markdown, "tex": latex, "html": markdown_page(markdown, name)}
    paths = []
    for kind, text in texts.items():
        paths.append(folder / f"{name}.{kind}")
        write_text(paths[-1], text)
    return paths


def markdown_page(markdown: str, title: str) -> str:
    """Return Markdown as one HTML page that needs nothing from elsewhere."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n{reader.render(markdown)}</body>\n</html>\n"
    )
