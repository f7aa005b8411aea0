"""The acceptance map: how many tokens were accepted at each place of the image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bpd.data.raster import CHANNELS
from bpd.errors import BpdError
from bpd.evaluation.records import DecodeRecord
from bpd.report.style import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def accepted_at(records: Sequence[DecodeRecord], size: int) -> np.ndarray:
    """Return for each pixel [size, size] the mean size of the accepted block that its tokens came in.

    The mean is over images and over the pixel's three intensities. A block counts once for each of its tokens, so that
    the mean of the map lies above the mean accepted block size. Raises `BpdError` where a record is no such image.
    """
    total = np.zeros(size * size * CHANNELS)
    for record in records:
        sizes = np.repeat(record.block_sizes, record.block_sizes)
        if len(sizes) != len(total):
            raise BpdError(f"record {record.index}: {len(sizes)} tokens are no image of {size}×{size}; decode again")
        total += sizes
    return (total / max(1, len(records))).reshape(size, size, CHANNELS).mean(axis=-1)


def acceptance_map(
    decoded: dict[tuple[int, str], Sequence[DecodeRecord]],
    columns: dict[str, str],
    mean_target: np.ndarray,
    scale: str,
) -> Figure:
    """Return a map for each k and column of Table 2 (`decoded` by both), rows k, each with its own colours.

    The mean dev image, `mean_target` uint8 [size, size, 3], stands at the left for orientation. Where a decoding is
    not there, the panel says so.
    """
    block_sizes = sorted({block_size for block_size, _ in decoded}) or [1]
    size = len(mean_target)
    figure = new_figure(1.9 * (len(columns) + 1) + 0.7, 1.9 * len(block_sizes) + 0.7)
    panels = figure.subplots(len(block_sizes), len(columns) + 1, squeeze=False)
    for axes in panels.flat:
        axes.set_xticks([])
        axes.set_yticks([])
    for row, block_size in enumerate(block_sizes):
        panels[row, 0].imshow(mean_target, interpolation="nearest")
        panels[row, 0].set_ylabel(f"k = {block_size}", fontsize=9)
        maps = {
            column: accepted_at(decoded[block_size, column], size)
            for column in columns
            if (block_size, column) in decoded
        }
        highest = max((float(one.max()) for one in maps.values()), default=1.0)
        for place, column in enumerate(columns, start=1):
            axes = panels[row, place]
            if column not in maps:
                axes.text(0.5, 0.5, "no result", ha="center", va="center", transform=axes.transAxes, fontsize=8)
                continue
            image = axes.imshow(
                maps[column], cmap="cividis", vmin=1.0, vmax=max(highest, 1.01), interpolation="nearest"
            )
        if maps:
            bar = figure.colorbar(image, ax=list(panels[row, 1:]), shrink=0.9, pad=0.015)
            bar.set_label(f"Tokens of the block (k = {block_size})", fontsize=8)
            bar.ax.tick_params(labelsize=7)
    panels[0, 0].set_title("Mean dev image", fontsize=9)
    for place, title in enumerate(columns.values(), start=1):
        panels[0, place].set_title(title, fontsize=9)
    images = max(map(len, decoded.values()), default=0)
    figure.suptitle(f"Tokens accepted together at each place, mean of {images} dev images, scale {scale}", fontsize=11)
    return figure
