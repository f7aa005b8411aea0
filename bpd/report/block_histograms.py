"""Histograms of accepted block sizes, one panel a decoding of a model with heads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from bpd.grid import head_model_name
from bpd.report.scores import Scores
from bpd.report.style import COLOURS, new_figure
from bpd.report.tables import SETTING_TITLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ANY_COLOUR = "#56B4E9"


def _exact(setting: str, block_size: int) -> tuple[str, str]:
    return head_model_name(setting, block_size), "exact"


def block_histograms(
    scores: Scores,
    block_sizes: Sequence[int],
    settings: Sequence[str],
    scale: str,
    *,
    titles: Mapping[str, str] = SETTING_TITLES,
    source: Callable[[str, int], tuple[str, str]] = _exact,
    criterion: str = "exact criterion",
) -> Figure:
    """Return the share of iterations that accepted each number of tokens: rows are k > 1, columns settings.

    `source` gives the model and the criterion behind a setting and k; `criterion` says in words what they are. The
    dotted line is the mean accepted block size. Where this scale has no such model, the panel says so.
    """
    sizes = [size for size in block_sizes if size > 1] or list(block_sizes)
    figure = new_figure(2.5 * len(settings) + 0.6, 1.5 * len(sizes) + 1.0)
    panels = figure.subplots(len(sizes), len(settings), squeeze=False, sharey="row")
    for row, size in enumerate(sizes):
        highest = 1.0
        for column, setting in enumerate(settings):
            axes = panels[row, column]
            score = scores.get(*source(setting, size))
            if score is None:
                axes.text(0.5, 0.5, "no result", ha="center", va="center", transform=axes.transAxes, fontsize=8)
            else:
                counts = {int(accepted): count for accepted, count in score["block_size_counts"].items()}
                total = sum(counts.values())
                places = range(1, size + 1)
                shares = [100 * counts.get(place, 0) / total for place in places]
                highest = max(highest, *shares)
                axes.bar(places, shares, color=COLOURS.get(setting, _ANY_COLOUR), width=0.8)
                mean = score["mean_accepted_block_size"]
                axes.axvline(mean, color="#222222", linestyle=":", linewidth=1.2)
                axes.text(0.97, 0.92, f"mean {mean:.2f}", ha="right", va="top", transform=axes.transAxes, fontsize=8)
            axes.set_xticks(range(1, size + 1))
            axes.set_xlim(0.4, size + 0.6)
            axes.tick_params(labelsize=7)
            if row == 0:
                axes.set_title(titles[setting], fontsize=10)
            if column == 0:
                axes.set_ylabel(f"k = {size}\n% of iterations", fontsize=8)
        # Above the highest bar there is room for the mean, whichever bar it stands over.
        panels[row, 0].set_ylim(0, 1.3 * highest)
        panels[row, 0].set_yticks([tick for tick in panels[row, 0].get_yticks() if tick <= min(100, 1.3 * highest)])
    seeds = f", {len(scores.seeds)} seeds" if len(scores.seeds) > 1 else ""
    figure.supxlabel("Accepted tokens per iteration (dotted: mean)", fontsize=9)
    figure.suptitle(f"Accepted block sizes on {scores.set_name()}, {criterion}, scale {scale}{seeds}", fontsize=11)
    return figure
