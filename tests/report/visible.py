"""What of a figure would be cut off at its edges."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox


def text_box(text: Text) -> Bbox:
    """Return where the letters of `text` are, without the line from a label to its point."""
    # An annotation finds its place only when it is asked as one.
    text.get_window_extent()
    return Text.get_window_extent(text)


def texts_out_of_sight(figure: Figure) -> list[str]:
    """Return the texts of `figure` that reach over its edges."""
    figure.draw_without_rendering()
    width, height = figure.get_size_inches() * figure.dpi
    # Axes keep labels of ticks beyond their limits, which are never drawn.
    ticks = {id(label) for axes in figure.findobj(Axes) for label in (*axes.get_xticklabels(), *axes.get_yticklabels())}
    found = []
    for text in figure.findobj(Text):
        if id(text) in ticks or not text.get_text().strip():
            continue
        box = text.get_window_extent()
        if box.x0 < 0 or box.y0 < 0 or box.x1 > width or box.y1 > height:
            found.append(text.get_text())
    return found
