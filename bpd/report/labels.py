"""Labels of points in a plot, placed where they cover nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = 8
_MARKER = 7.0
_LINE = 1.5
# From this distance on a label is tied to its point by a line.
_FAR = 13
_DISTANCES = (4, 8, _FAR, 20, 28)
_DIRECTIONS = ((1, 1), (1, -1), (-1, 1), (-1, -1), (0, 1), (0, -1), (1, 0), (-1, 0))


class Label(NamedTuple):
    """The text beside the point (`x`, `y`), in data coordinates."""

    text: str
    x: float
    y: float
    colour: str


Stroke = Sequence[tuple[float, float]]


class _Box(NamedTuple):
    x: float
    y: float
    width: float
    height: float

    def overlap(self, other: _Box) -> float:
        width = (self.width + other.width) / 2 - abs(self.x - other.x)
        height = (self.height + other.height) / 2 - abs(self.y - other.y)
        return max(0.0, width) * max(0.0, height)


def label_points(axes: Axes, lines: Sequence[Sequence[Label]], strokes: Sequence[Stroke] = ()) -> None:
    """Write the label of each point of each line beside it, near, and off markers, lines and earlier labels.

    `strokes` are what else is drawn, such as error bars. Everything else must have been drawn, for the places depend on
    the limits of `axes`.
    """
    figure = axes.get_figure()
    figure.draw_without_rendering()
    points = 72 / figure.dpi
    places = [[tuple(points * axes.transData.transform((one.x, one.y))) for one in line] for line in lines]
    drawn = [[tuple(points * axes.transData.transform(end)) for end in stroke] for stroke in strokes]
    taken = [_Box(x, y, _MARKER, _MARKER) for line in places for x, y in line]
    for line in (*places, *drawn):
        for (x, y), (next_x, next_y) in pairwise(line):
            steps = max(1, int(max(abs(next_x - x), abs(next_y - y)) / 4))
            taken += [
                _Box(x + (next_x - x) * step / steps, y + (next_y - y) * step / steps, _LINE, _LINE)
                for step in range(1, steps)
            ]
    for line, found in zip(lines, places):
        for label, (x, y) in zip(line, found):
            width = 0.65 * _SIZE * len(label.text)
            offsets = [
                (across * (away + width / 2), up * (away + _SIZE / 2))
                for away in _DISTANCES
                for across, up in _DIRECTIONS
            ]
            boxes = [_Box(x + right, y + up, width, _SIZE) for right, up in offsets]
            best = min(range(len(boxes)), key=lambda n: sum(boxes[n].overlap(box) for box in taken))
            taken.append(boxes[best])
            far = best >= _DISTANCES.index(_FAR) * len(_DIRECTIONS)
            axes.annotate(
                label.text, (label.x, label.y), xytext=offsets[best], textcoords="offset points", fontsize=_SIZE,
                color=label.colour, ha="center", va="center",
                arrowprops={"arrowstyle": "-", "color": label.colour, "linewidth": 0.5} if far else None,
            )  # fmt: skip
