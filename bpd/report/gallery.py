"""The gallery (section 7.4): input, greedy image, approximate image of the largest block, and target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bpd.data.image_set import ImageSet
from bpd.data.raster import to_image
from bpd.errors import BpdError
from bpd.evaluation.records import DecodeRecord
from bpd.report.style import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LONGEST_NAME = 20


def gallery(
    images: ImageSet, decoded: dict[str, Sequence[DecodeRecord]], rows: int, scale: str, columns_of_rows: int = 2
) -> Figure:
    """Return `rows` dev images, from the first, side by side: input, what each of `decoded` made of it, and target.

    `decoded` maps a column's title to the records behind it. Below each output stands the image's own mean accepted
    block size. The rows are set in `columns_of_rows` groups, and fewer where fewer images were decoded. Raises
    `BpdError` where a record is of another image.
    """
    titles = ["Input", *decoded, "Target"]
    rows = min(rows, len(images), *map(len, decoded.values()))
    groups = max(1, min(columns_of_rows, rows))
    lines = -(-rows // groups)
    # An empty column stands between two groups.
    widths = [*([1.0] * len(titles) + [0.12]) * (groups - 1), *[1.0] * len(titles)]
    figure = new_figure(1.12 * sum(widths), 1.21 * lines + 0.75)
    places = figure.add_gridspec(max(1, lines), len(widths), width_ratios=widths)
    for index in range(rows):
        group, line = divmod(index, lines)
        for column, title in enumerate(titles):
            axes = figure.add_subplot(places[line, group * (len(titles) + 1) + column])
            axes.set_xticks([])
            axes.set_yticks([])
            shown, below = _panel(images, decoded, title, index)
            axes.imshow(shown, interpolation="nearest", vmin=0, vmax=255)
            axes.set_xlabel(below, fontsize=6, labelpad=1.5)
            for spine in axes.spines.values():
                spine.set_linewidth(0.4)
            if line == 0:
                axes.set_title(title, fontsize=7)
    small, large = images.input_size, images.output_size
    figure.suptitle(
        f"Dev images, {small}×{small} to {large}×{large}, scale {scale}\nbelow outputs: mean accepted block size",
        fontsize=8.5,
    )
    return figure


def _panel(
    images: ImageSet, decoded: dict[str, Sequence[DecodeRecord]], title: str, index: int
) -> tuple[np.ndarray, str]:
    if title == "Input":
        name = images.names[index]
        return np.asarray(images.inputs[index]), name if len(name) <= _LONGEST_NAME else ""
    if title == "Target":
        return np.asarray(images.targets[index]), ""
    record = decoded[title][index]
    if record.text != images.names[index]:
        raise BpdError(
            f"{title}: record {index} is of {record.text}, but {images.folder} has {images.names[index]}; decode again"
        )
    mean = len(record.token_ids) / record.iterations
    return to_image(record.token_ids, images.output_size), f"{mean:.2f}"
