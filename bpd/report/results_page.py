"""The README of a scale's results: every table and figure in Markdown, so that a repository host shows them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from bpd.errors import BpdError
from bpd.report.table_files import read_markdown

# What stands in which order under which heading: (kind, name, what a figure shows).
SECTIONS: dict[str, Sequence[tuple[str, str, str]]] = {
    "Did it replicate?": (("table", "scorecard", ""),),
    "Translation": (
        ("table", "table1", ""),
        ("figure", "table1_scatter", "BLEU against mean accepted block size, ours and published"),
        ("table", "approximate", ""),
        ("figure", "accepted_blocks", "Histograms of accepted block sizes, translation"),
        ("table", "table4", ""),
        ("table", "trace", ""),
        ("figure", "trace", "One translation step by step"),
        ("figure", "training_curves", "Training curves, translation"),
    ),
    "Super-resolution": (
        ("table", "table2", ""),
        ("figure", "gallery", "Low-resolution input, greedy image, approximate image and target"),
        ("figure", "acceptance_map", "Tokens accepted together at each place of the image"),
        ("figure", "image_accepted_blocks", "Histograms of accepted block sizes, super-resolution"),
        ("table", "table3", ""),
        ("figure", "image_training_curves", "Training curves, super-resolution"),
    ),
    "Speed": (
        ("table", "figure4", ""),
        ("figure", "figure4", "Wall-clock speedup against mean accepted block size, ours and published"),
        ("table", "speed_by_batch", ""),
        ("figure", "speed_by_batch", "Speedup against batch size"),
        ("table", "time_shares", ""),
    ),
    "How far the heads see": (
        ("table", "head_accuracy", ""),
        ("figure", "head_accuracy", "Accuracy of heads, and block size against the mean run of right heads"),
    ),
    "What it cost": (("table", "cost", ""),),
}


def results_page(scale: str, about: Sequence[str], tables: Path, figures: Path, page: Path) -> str:
    """Return the page as Markdown; links to figures are relative to where `page` will lie.

    `about` are lines on what was computed from what. Tables are copied from `tables` as they were written. Raises
    `BpdError` where a table or a figure of the page is missing, or a table's CSV file was changed since.
    """
    parts = [f"# Results at the {scale} scale", "\n".join(about)]
    contents = " · ".join(f"[{title}](#{_anchor(title)})" for title in SECTIONS)
    parts.append(contents)
    for title, items in SECTIONS.items():
        parts.append(f"## {title}")
        for kind, name, shows in items:
            path = tables / f"{name}.md" if kind == "table" else figures / f"{name}.png"
            if not path.is_file():
                raise BpdError(f"{path} is missing; run `bpd {kind}s` first")
            if kind == "table":
                parts.append(read_markdown(path).strip())
            else:
                link = Path(os.path.relpath(path, page.parent)).as_posix()
                parts.append(f"![{shows}]({link})")
    return "\n\n".join(parts) + "\n"


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")
