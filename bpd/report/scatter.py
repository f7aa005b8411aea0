"""The scatter plot beside Table 1: BLEU against mean accepted block size."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bpd.config import FROZEN_SETTINGS
from bpd.grid import head_model_name
from bpd.report.labels import Label, Stroke, label_points
from bpd.report.published import PAPER, published, table1_cell
from bpd.report.scores import Scores
from bpd.report.style import COLOURS, MARKERS, new_figure
from bpd.report.tables import SETTING_TITLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PUBLISHED = ", published"

Points = dict[str, list[tuple[int, float, float]]]


def table1_scatter(scores: Scores, block_sizes: Sequence[int], settings: Sequence[str], scale: str) -> Figure:
    """Return the plot: our points filled, on the left; the published ones hollow, on the right, on axes of their own.

    The published are there whether this scale runs them or not. Crosses and the baseline's band are standard
    deviations, where there are several seeds. At the paper scale both lie on the same data, so that they share one pair
    of axes.
    """
    ours: Points = {setting: [] for setting in settings}
    theirs: Points = {
        setting: [
            (block_size, cell[1], cell[0])
            for block_size in published()["table1"]["rows"]
            if (cell := table1_cell(block_size, setting))
        ]
        for setting in SETTING_TITLES
    }
    gaps = []
    for setting in settings:
        for block_size in block_sizes:
            score = scores.get(head_model_name(setting, block_size), "exact")
            if score:
                ours[setting].append((block_size, score["mean_accepted_block_size"], score["bleu"]))
            elif block_size > 1 or setting in FROZEN_SETTINGS:
                gaps.append(f"{SETTING_TITLES[setting]}, k = {block_size}")
    base = scores.get("base", "exact")
    shared = scale == "paper"
    figure = new_figure(9.6, 6.0 if shared else 4.6)
    axes = figure.subplots(1, 1 if shared else 2, squeeze=False)[0]
    _draw_spread(axes[0], scores, ours, base)
    _draw(axes[0], ours, base["bleu"] if base else None, hollow=False)
    filled = " (filled), and published (hollow)" if shared else ""
    title = f"This replication{filled}: {scores.set_name()}, scale {scale}"
    if len(scores.seeds) > 1:
        title += f"\nBars and band: ± one standard deviation over {len(scores.seeds)} seeds"
    axes[0].set_title(title, fontsize=10)
    _draw(axes[-1], theirs, published()["table1"]["baseline_bleu"], hollow=True)
    if not shared:
        axes[1].set_title(f"Published: {PAPER}, newstest2013", fontsize=10)
    for one in axes:
        one.set_xlabel("Mean accepted block size (tokens per iteration)")
        one.set_ylabel("BLEU (sacreBLEU 13a)" if one is axes[0] else "BLEU (as published)")
        one.grid(alpha=0.25)
        one.set_axisbelow(True)
    if gaps:
        said = textwrap.fill("No result: " + "; ".join(gaps), 100 if shared else 60)
        axes[0].annotate(said, (0.02, 0.02), xycoords="axes fraction", fontsize=7, color=COLOURS["base"])
    _legend(figure, list(axes))
    strokes = _strokes(scores, ours)
    if shared:
        label_points(axes[0], [*_labels(ours), *_labels(theirs)], strokes)
    else:
        label_points(axes[0], _labels(ours), strokes)
        label_points(axes[1], _labels(theirs))
    return figure


def _legend(figure: Figure, axes: list[Axes]) -> None:
    """Explain each line once: below two plots ours stand for both, below one ours stand above the published."""
    handles = {label: handle for one in axes for handle, label in zip(*one.get_legend_handles_labels())}
    own = [label for label in handles if not label.endswith(_PUBLISHED)]
    other = [label for label in handles if label.endswith(_PUBLISHED)]
    if len(axes) > 1:
        shown = own + [label for label in other if label.removesuffix(_PUBLISHED) not in own]
    else:
        # Legends are filled column by column.
        titles = dict.fromkeys(label.removesuffix(_PUBLISHED) for label in (*own, *other))
        shown = [label for title in titles for label in (title, title + _PUBLISHED) if label in handles]
    figure.legend(
        [handles[label] for label in shown],
        shown,
        loc="outside lower center",
        ncols=5,
        frameon=False,
        fontsize=9,
        columnspacing=1.2,
    )


def _labels(points: Points) -> list[list[Label]]:
    return [
        [Label(str(block_size), block, bleu, COLOURS[setting]) for block_size, block, bleu in found]
        for setting, found in points.items()
    ]


def _strokes(scores: Scores, points: Points) -> list[Stroke]:
    """Return both strokes of each point's cross, where it has one."""
    strokes: list[Stroke] = []
    for setting, found in points.items():
        for block_size, block, bleu in found:
            if spread := scores.get(head_model_name(setting, block_size), "exact").get("sd"):
                across, up = spread["mean_accepted_block_size"], spread["bleu"]
                strokes += [[(block - across, bleu), (block + across, bleu)], [(block, bleu - up), (block, bleu + up)]]
    return strokes


def _draw_spread(axes: Axes, scores: Scores, points: Points, base: dict[str, Any] | None) -> None:
    """Draw one standard deviation each way over several seeds: a cross behind each point, the baseline's band."""
    if base and (spread := base.get("sd")):
        low, high = base["bleu"] - spread["bleu"], base["bleu"] + spread["bleu"]
        axes.axhspan(low, high, color=COLOURS["base"], alpha=0.12, linewidth=0, zorder=0)
    for setting, found in points.items():
        for block_size, block, bleu in found:
            score = scores.get(head_model_name(setting, block_size), "exact")
            if spread := score.get("sd"):
                axes.errorbar(
                    block, bleu, xerr=spread["mean_accepted_block_size"], yerr=spread["bleu"], fmt="none",
                    ecolor=COLOURS[setting], elinewidth=0.9, capsize=2, alpha=0.6,
                )  # fmt: skip


def _draw(axes: Axes, points: Points, baseline: float | None, *, hollow: bool) -> None:
    suffix = _PUBLISHED if hollow else ""
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
    if baseline is not None:
        label = "Baseline, greedy" + suffix
        axes.axhline(baseline, color=COLOURS["base"], linewidth=0.9, linestyle=":", label=label)
    axes.margins(x=0.08, y=0.12)
