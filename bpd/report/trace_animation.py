"""The trace of section 7.4 in motion: blocks proposed, verified and accepted, beside greedy decoding."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bpd.atomic import atomic_path
from bpd.report.style import COLOURS, new_figure
from bpd.report.trace import piece_width, shown_piece

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from PIL.Image import Image

_WIDTH_INCHES = 8.0
_MARGIN_INCHES = 0.2
_GAP_INCHES = 0.05
_ROW_INCHES = 0.32
_LINE_INCHES = 0.3
_DOTS_PER_INCH = 100
_PREDICT_MS, _ACCEPT_MS, _LAST_MS = 900, 1100, 6000
_REJECTED = "#8A8A8A"


@dataclass(frozen=True)
class Frame:
    """A moment: what was accepted before, by blocks, and the block at hand.

    `accepted` says how many of `proposed` were accepted, and is none before they are verified. Greedy decoding has
    emitted `greedy` tokens by then, one an iteration.
    """

    iteration: int
    before: tuple[tuple[str, ...], ...]
    proposed: tuple[str, ...]
    accepted: int | None
    greedy: int
    milliseconds: int


def frames(trace: dict[str, Any]) -> list[Frame]:
    """Return the moments of a trace: each block as it is proposed and as it is accepted, and the finished output."""
    made: list[Frame] = []
    before: tuple[tuple[str, ...], ...] = ()
    for number, step in enumerate(trace["steps"], start=1):
        proposed, kept = tuple(step["proposed"]), tuple(step["accepted"])
        made.append(Frame(number, before, proposed, None, number - 1, _PREDICT_MS))
        made.append(Frame(number, before, proposed, len(kept), number, _ACCEPT_MS))
        before = (*before, kept)
    count = len(trace["steps"])
    return [*made, Frame(count, before, (), 0, count, _LAST_MS)]


def write_trace_animation(trace: dict[str, Any], scale: str, path: Path) -> Path:
    """Write the trace as an animated GIF that runs once and stops at the finished output; return its path."""
    from PIL import Image

    moments = frames(trace)
    pictures = [_picture(trace, scale, moment, moments) for moment in moments]
    # One palette for all, or colours would flicker; this method keeps the background white or nearly so.
    palette = _one_above_the_other(pictures).quantize(128, method=Image.Quantize.MAXCOVERAGE)
    reduced = [picture.quantize(palette=palette, dither=0) for picture in pictures]
    with atomic_path(path) as temporary:
        reduced[0].save(
            temporary,
            format="GIF",
            save_all=True,
            append_images=reduced[1:],
            duration=[moment.milliseconds for moment in moments],
            optimize=True,
        )
    return path


def flow(pieces: Sequence[str]) -> list[tuple[float, int]]:
    """Return for each piece where it begins, in inches from the left, and in which row, as a line of text breaks."""
    places, x, row = [], _MARGIN_INCHES, 0
    for piece in pieces:
        width = piece_width(piece)
        if x + width > _WIDTH_INCHES - _MARGIN_INCHES and x > _MARGIN_INCHES:
            x, row = _MARGIN_INCHES, row + 1
        places.append((x, row))
        x += width + _GAP_INCHES
    return places


def _all_pieces(moment: Frame) -> list[str]:
    return [piece for block in moment.before for piece in block] + list(moment.proposed)


def _picture(trace: dict[str, Any], scale: str, moment: Frame, moments: Sequence[Frame]) -> Image:
    from PIL import Image

    source = textwrap.wrap(f"Source: {trace['source']}", int(_WIDTH_INCHES / 0.079))
    output = _all_pieces(moments[-1])
    greedy_rows = flow(output[: moments[-1].greedy])[-1][1] + 1
    rows = max(flow(_all_pieces(one))[-1][1] for one in moments) + 1
    greedy_top = 0.3 + _LINE_INCHES * (len(source) + 1)
    top = greedy_top + _ROW_INCHES * (greedy_rows + 1) + 0.1
    height = top + _ROW_INCHES * (rows + 0.75)

    figure = new_figure(_WIDTH_INCHES, height)
    figure.set_layout_engine("none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, _WIDTH_INCHES)
    axes.set_ylim(height, 0)
    axes.axis("off")
    _line(axes, 0.25, f"{trace['model']}, exact criterion, scale {scale}: iteration {moment.iteration}", bold=True)
    for number, line in enumerate(source):
        _line(axes, 0.25 + _LINE_INCHES * (number + 1), line)

    _line(axes, greedy_top, f"Greedy decoding: {moment.greedy} of {len(output)} tokens", bold=True)
    emitted = output[: moment.greedy]
    for place, piece in zip(flow(emitted), emitted, strict=True):
        _box(axes, place, greedy_top + 0.3, piece, COLOURS["base"], 0.12)

    done = sum(map(len, moment.before)) + (moment.accepted or 0)
    _line(axes, top, f"Blockwise decoding: {done} of {len(output)} tokens{_verdict(moment, done)}", bold=True)
    blocks = [number for number, block in enumerate(moment.before) for _ in block]
    pieces = _all_pieces(moment)
    for number, (place, piece) in enumerate(zip(flow(pieces), pieces, strict=True)):
        at_hand = number - len(blocks)
        if at_hand < 0:
            _box(axes, place, top + 0.3, piece, COLOURS["both"], 0.16 + 0.2 * (blocks[number] % 2))
        elif moment.accepted is None:
            _box(axes, place, top + 0.3, piece, COLOURS["both"], 0.0, dashed=True)
        elif at_hand < moment.accepted:
            _box(axes, place, top + 0.3, piece, COLOURS["both"], 0.16 + 0.2 * (len(moment.before) % 2))
        else:
            _box(axes, place, top + 0.3, piece, _REJECTED, 0.0, struck=True)
    figure.set_dpi(_DOTS_PER_INCH)
    figure.canvas.draw()
    return Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")


def _verdict(moment: Frame, done: int) -> str:
    if not moment.proposed:
        return f" in {moment.iteration} iterations, {done / moment.iteration:.2f} an iteration"
    if moment.accepted is None:
        return f"; predicts {len(moment.proposed)}"
    return f"; verifies, and accepts {moment.accepted}"


def _line(axes: Axes, y: float, text: str, *, bold: bool = False) -> None:
    weight = "bold" if bold else "normal"
    axes.text(_MARGIN_INCHES, y, text, fontsize=9, va="center", fontweight=weight, parse_math=False)


def _box(
    axes: Axes,
    place: tuple[float, int],
    top: float,
    piece: str,
    colour: str,
    fill: float,
    *,
    dashed: bool = False,
    struck: bool = False,
) -> None:
    from matplotlib.patches import Rectangle

    x, row = place
    y, width = top + _ROW_INCHES * row, piece_width(piece)
    axes.add_patch(Rectangle((x, y - 0.12), width, 0.24, facecolor=colour, alpha=fill, linewidth=0))
    style = "dashed" if dashed else "solid"
    axes.add_patch(Rectangle((x, y - 0.12), width, 0.24, fill=False, edgecolor=colour, linewidth=0.9, linestyle=style))
    axes.text(
        x + width / 2, y, shown_piece(piece), fontsize=8, va="center", ha="center", family="monospace",
        color=_REJECTED if struck else "#111111", parse_math=False,
    )  # fmt: skip
    if struck:
        axes.plot([x, x + width], [y, y], color=_REJECTED, linewidth=0.9)


def _one_above_the_other(pictures: Sequence[Image]) -> Image:
    from PIL import Image

    whole = Image.new("RGB", (pictures[0].width, sum(picture.height for picture in pictures)))
    for number, picture in enumerate(pictures):
        whole.paste(picture, (0, number * pictures[0].height))
    return whole
