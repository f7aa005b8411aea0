"""The scatter plot beside Table 1: BLEU against mean accepted block size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bpd.grid import head_model_name
from bpd.report.published import PAPER, published, table1_cell
from bpd.report.scores import Scores
from bpd.report.style import COLOURS, MARKERS, new_figure
from bpd.report.tables import SETTING_TITLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Points = dict[str, list[tuple[int, float, float]]]


def table1_scatter(scores: Scores, block_sizes: Sequence[int], settings: Sequence[str], scale: str) -> Figure:
    """Return the plot: our points filled, on the left; the published ones hollow, on the right, on axes of their own.

    At the paper scale both lie on the same data, so that they share one pair of axes.
    """
    ours: Points = {setting: [] for setting in settings}
    theirs: Points = {setting: [] for setting in settings}
    for setting in settings:
        for block_size in block_sizes:
            score = scores.get(head_model_name(setting, block_size), "exact")
            if score:
                ours[setting].append((block_size, score["mean_accepted_block_size"], score["bleu"]))
            if cell := table1_cell(block_size, setting):
                theirs[setting].append((block_size, cell[1], cell[0]))
    base = scores.get("base", "exact")
    shared = scale == "paper"
    figure = new_figure(6.4 if shared else 9.6, 4.4)
    axes = figure.subplots(1, 1 if shared else 2, squeeze=False)[0]
    _draw(axes[0], ours, base["bleu"] if base else None, hollow=False)
    axes[0].set_title(f"This replication: {scores.set_name()}, scale {scale}", fontsize=10)
    _draw(axes[-1], theirs, published()["table1"]["baseline_bleu"], hollow=True)
    if not shared:
        axes[1].set_title(f"Published: {PAPER}, newstest2013", fontsize=10)
    for one in axes:
        one.set_xlabel("Mean accepted block size (tokens per iteration)")
        one.set_ylabel("BLEU (sacreBLEU 13a)" if one is axes[0] else "BLEU (as published)")
        one.grid(alpha=0.25)
        one.set_axisbelow(True)
    handles, labels = axes[0].get_legend_handles_labels()
    if shared:
        labels = [label for label in labels]
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=9)
    return figure


def _draw(axes: Axes, points: Points, baseline: float | None, *, hollow: bool) -> None:
    suffix = ", published" if hollow else ""
    for setting, found in points.items():
        if not found:
            continue
        colour = COLOURS[setting]
        axes.plot(
            [block for _, block, _ in found],
            [bleu for _, _, bleu in found],
            color=colour,
            marker=MARKERS[setting],
            markerfacecolor="white" if hollow else colour,
            markersize=6,
            linewidth=1.0,
            linestyle="--" if hollow else "-",
            label=SETTING_TITLES[setting] + suffix,
        )
        for place, (block_size, block, bleu) in enumerate(found):
            # Neighbours of a cluster get their labels above and below in turn.
            offset = (5, 5) if place % 2 == 0 else (5, -12)
            axes.annotate(
                f"{block_size}", (block, bleu), xytext=offset, textcoords="offset points", fontsize=8, color=colour
            )
    if baseline is not None:
        label = "Baseline, greedy" + suffix
        axes.axhline(baseline, color=COLOURS["base"], linewidth=0.9, linestyle=":", label=label)
    axes.margins(x=0.08, y=0.12)
