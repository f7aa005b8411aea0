"""The step-by-step trace of one sentence (section 7.4), as a figure and as Markdown."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bpd.errors import BpdError
from bpd.report.published import published
from bpd.report.style import COLOURS, new_figure
from bpd.stored_json import read_json

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CHARACTER_INCHES = 0.085
_GAP_INCHES = 0.08
_ROW_INCHES = 0.34
_LINE_INCHES = 0.27
_REJECTED = "#8A8A8A"


def read_trace(path: Path) -> dict[str, Any]:
    """Return a trace that `bpd trace` wrote; raise `BpdError` where it is missing or damaged."""
    try:
        trace = read_json(path)
        sound = (
            all(isinstance(trace[name], str) for name in ("source", "translation", "model"))
            and len(trace["steps"]) > 0
            and all(_is_sound(step["proposed"], step["accepted"]) for step in trace["steps"])
        )
    except (OSError, ValueError, KeyError, TypeError):
        sound = False
    if not sound:
        raise BpdError(f"{path}: missing or damaged trace; run `bpd trace` again")
    return trace


def _is_sound(proposed: Any, accepted: Any) -> bool:
    """Return whether a step accepts at least one of its proposed pieces, in their order from the first."""
    return (
        isinstance(proposed, list)
        and isinstance(accepted, list)
        and all(isinstance(piece, str) for piece in proposed)
        and len(accepted) > 0
        and proposed[: len(accepted)] == accepted
    )


def accepted_sizes(trace: dict[str, Any]) -> list[int]:
    """Return the number of tokens that each step accepted."""
    return [len(step["accepted"]) for step in trace["steps"]]


def trace_markdown(trace: dict[str, Any], scale: str) -> str:
    """Return the trace as Markdown: accepted pieces as code, rejected ones struck through."""
    sizes = accepted_sizes(trace)
    lines = [
        f"**Section 7.4. One translation step by step, model {trace['model']}, exact criterion, scale {scale}**",
        "",
        f"- Source: {trace['source']}",
        f"- Translation: {trace['translation']}",
    ]
    if trace.get("reference"):
        lines.append(f"- Reference: {trace['reference']}")
    lines += ["", "| step | accepted | pieces accepted, and ~~rejected~~ |", "| ---: | ---: | --- |"]
    for number, step in enumerate(trace["steps"], start=1):
        kept = len(step["accepted"])
        pieces = [_code(piece) for piece in step["accepted"]]
        pieces += [f"~~{_code(piece)}~~" for piece in step["proposed"][kept:]]
        lines.append(f"| {number} | {kept} | {' '.join(pieces)} |")
    theirs = published()["trace"]
    lines += [
        "",
        f"Here {len(sizes)} steps accept {', '.join(map(str, sizes))} tokens: "
        f"{sum(sizes) / len(sizes):.2f} on average.  ",
        f"Published, k = 10, for “{theirs['sentence']}”: {len(theirs['accepted'])} steps accept "
        f"{', '.join(map(str, theirs['accepted']))} tokens.",
    ]
    return "\n".join(lines) + "\n"


def trace_figure(trace: dict[str, Any], scale: str) -> Figure:
    """Return the trace as a figure: a row a step, accepted pieces in colour, rejected ones in grey."""
    rows = [
        [(piece, place < len(step["accepted"])) for place, piece in enumerate(step["proposed"])]
        for step in trace["steps"]
    ]
    widths = [sum(piece_width(piece) + _GAP_INCHES for piece, _ in row) for row in rows]
    width = max(6.4, max(widths) + 1.0)
    line = int(width / 0.08)
    sizes, theirs = accepted_sizes(trace), published()["trace"]["accepted"]
    above = [
        "Each row: step, + tokens accepted, pieces (coloured: accepted; grey: rejected)",
        *textwrap.wrap(f"Source: {trace['source']}", line),
    ]
    below = [
        *textwrap.wrap(f"Output: {trace['translation']}", line),
        *textwrap.wrap(f"Accepted here, {len(sizes)} steps: {', '.join(map(str, sizes))}", line),
        f"Published example (k = 10), {len(theirs)} steps: {', '.join(map(str, theirs))}",
    ]
    top = 0.65 + _LINE_INCHES * len(above)
    bottom = top + _ROW_INCHES * len(rows) + 0.08
    height = bottom + _LINE_INCHES * len(below)
    figure = new_figure(width, height)
    figure.set_layout_engine("none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    title = f"{trace['model']}, exact criterion, scale {scale}"
    axes.text(0.15, 0.25, title, fontsize=9, va="center", fontweight="bold")
    _write(axes, above, 0.52)
    for number, row in enumerate(rows):
        _draw_row(axes, number, row, top + _ROW_INCHES * number)
    _write(axes, below, bottom)
    return figure


def _write(axes: Axes, lines: list[str], top: float) -> None:
    for number, line in enumerate(lines):
        axes.text(0.15, top + _LINE_INCHES * number, line, fontsize=9, va="center", parse_math=False)


def _draw_row(axes: Axes, number: int, row: list[tuple[str, bool]], y: float) -> None:
    from matplotlib.patches import Rectangle

    accepted = sum(kept for _, kept in row)
    axes.text(0.15, y, f"{number + 1}", fontsize=9, va="center")
    axes.text(0.42, y, f"+{accepted}", fontsize=9, va="center", color=COLOURS["both"])
    x = 0.8
    for piece, kept in row:
        width = piece_width(piece)
        face = COLOURS["both"] if kept else "white"
        box = Rectangle((x, y - 0.12), width, 0.24, facecolor=face, alpha=0.25 if kept else 1.0, linewidth=0)
        axes.add_patch(box)
        edge = COLOURS["both"] if kept else _REJECTED
        axes.add_patch(Rectangle((x, y - 0.12), width, 0.24, fill=False, edgecolor=edge, linewidth=0.8))
        axes.text(
            x + width / 2, y, shown_piece(piece), fontsize=8, va="center", ha="center", family="monospace",
            color="#111111" if kept else _REJECTED, parse_math=False,
        )  # fmt: skip
        x += width + _GAP_INCHES


def shown_piece(piece: str) -> str:
    """Return a piece with its space made visible."""
    return piece.replace("▁", "␣")


def piece_width(piece: str) -> float:
    """Return how many inches the box of a piece takes."""
    return _CHARACTER_INCHES * len(piece) + 0.1


def _code(piece: str) -> str:
    return f"`{piece.replace('|', chr(92) + '|').replace('`', chr(39))}`"
