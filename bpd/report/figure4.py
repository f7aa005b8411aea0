"""Figure 4: wall-clock speedup against mean accepted block size, for both tasks and both protocols."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from bpd.report.labels import Label, Stroke, label_points
from bpd.report.published import PAPER, published, table1_cell
from bpd.report.row_table import RowTable
from bpd.report.style import new_figure
from bpd.report.table4 import printed_speedup
from bpd.report.timings import Timings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = (
    "task", "k", "protocol", "mean_accepted_block_size", "speedup", "speedup_low", "speedup_high", "efficiency",
    "published_mean_accepted_block_size", "published_speedup",
)  # fmt: skip
TASK_TITLES = {"translation": "Translation", "super_resolution": "Super-resolution"}
PROTOCOL_TITLES = {"recompute": "whole prefix at every step", "cached": "cached"}
_COLOURS = {"recompute": "#D55E00", "cached": "#0072B2", "published": "#444444"}
# Nearer than about two markers, points are crowded; the inset lies right of and below where ours would be then.
_NEAR_POINTS = 14.0
_INSET = (0.42, 0.1, 0.55, 0.3)
_MARKERS = {"recompute": "D", "cached": "o", "published": "s"}


def published_point(task: str, block_size: int) -> tuple[float, float] | None:
    """Return the published mean accepted block size and speedup, or none where the paper's text gives none.

    For translation these are column "Both" of Table 1 and Table 4; for super-resolution the peak named in section 7.3.
    """
    if task == "translation":
        cell, timed = table1_cell(block_size, "both"), published()["table4"]["ours"].get(block_size)
        return (cell[1], timed[1]) if cell and timed else None
    peak = published()["figure4"][task]
    return (peak["mean_accepted_block_size"], peak["speedup"]) if peak["k"] == block_size else None


def figure4_rows(timings: Sequence[Timings]) -> list[dict[str, Any]]:
    """Return a row for each task, block size and protocol: ours as timed, and the published point of the original's."""
    rows = []
    for task in timings:
        for timed in task.models:
            for protocol in PROTOCOL_TITLES:
                found = timed.speedup(protocol)
                theirs = published_point(task.task, timed.block_size) if protocol == "recompute" else None
                rows.append(
                    {
                        "task": task.task,
                        "k": timed.block_size,
                        "protocol": protocol,
                        "mean_accepted_block_size": found and found.mean_accepted_block_size,
                        "speedup": found and found.speedup,
                        "speedup_low": found and found.low,
                        "speedup_high": found and found.high,
                        "efficiency": found and found.efficiency,
                        "published_mean_accepted_block_size": theirs and theirs[0],
                        "published_speedup": theirs and theirs[1],
                    }
                )
    return rows


def figure4_table(timings: Sequence[Timings], scale: str) -> RowTable:
    """Return the numbers behind Figure 4, with the efficiency: speedup ÷ mean accepted block size."""
    rows = figure4_rows(timings)
    return RowTable(
        name="figure4",
        columns=COLUMNS,
        rows=tuple(tuple(row[name] for name in COLUMNS) for row in rows),
        shown=(
            ("Task", tuple(TASK_TITLES[row["task"]] for row in rows)),
            ("k", tuple(str(row["k"]) for row in rows)),
            ("Protocol", tuple(PROTOCOL_TITLES[row["protocol"]] for row in rows)),
            ("Block size", tuple(_number(row["mean_accepted_block_size"]) for row in rows)),
            ("Speedup", tuple(printed_speedup(row, "speedup") for row in rows)),
            ("Efficiency", tuple(_number(row["efficiency"]) for row in rows)),
            ("Block size, published", tuple(_number(row["published_mean_accepted_block_size"]) for row in rows)),
            ("Speedup, published", tuple(_number(row["published_speedup"], "×") for row in rows)),
        ),
        caption=f"Figure 4. Wall-clock speedup and mean accepted block size, one input at a time, scale {scale}",
        notes=tuple(_notes(timings)),
    )


def _number(value: float | None, unit: str = "") -> str:
    return "" if value is None else f"{value:.2f}{unit}"


def _notes(timings: Sequence[Timings]) -> list[str]:
    notes = [
        "Speedup: total greedy time ÷ total blockwise time, equally many tokens in both arms; in brackets the least "
        "and the largest of the repeats. Efficiency: speedup ÷ mean accepted block size of the timed inputs; its "
        "limit is 1, up to the noise of the timings.",
        f"Published: {PAPER}, whose decoder ran the whole prefix again at every step; for super-resolution its text "
        "names the peak only.",
    ]
    for task in timings:
        if task.models:
            rule = "exact" if task.criterion == "exact" else f"ε = {task.criterion.removeprefix('distance')}"
            notes.append(
                f"{TASK_TITLES[task.task]} ({task.set_name}, {rule}): {task.extent('recompute')}; cached: "
                f"{task.extent('cached')}. {task.provenance()}."
            )
    return notes


def figure4(timings: Sequence[Timings], scale: str) -> Figure:
    """Return the figure: a panel for each task, ours filled, published hollow, and the diagonal that is the limit."""
    rows = figure4_rows(timings)
    figure = new_figure(9.6, 4.9)
    panels = figure.subplots(1, len(timings), squeeze=False)[0]
    drawn = []
    for axes, task in zip(panels, timings):
        ours = [row for row in rows if row["task"] == task.task and row["speedup"]]
        _draw_ours(axes, ours)
        theirs = [(k, point) for k in range(1, 11) if (point := published_point(task.task, k))]
        axes.plot(
            [point[0] for _, point in theirs], [point[1] for _, point in theirs], color=_COLOURS["published"],
            marker=_MARKERS["published"], markerfacecolor="white", linestyle="--", linewidth=1.0,
            label=f"Published: {PAPER}, whole prefix",
        )  # fmt: skip
        published_labels = [Label(str(k), *point, _COLOURS["published"]) for k, point in theirs]
        labels = _labels(ours)
        furthest = max(label.x for line in (*labels, published_labels) for label in line) * 1.08
        axes.plot(
            [1, furthest], [1, furthest], color="#999999", linestyle=":", linewidth=1.0, label="Limit: block size"
        )
        axes.axhline(1.0, color="#999999", linewidth=0.8)
        axes.set_xlim(0.9, furthest)
        axes.set_ylim(bottom=0)
        axes.set_title(f"{TASK_TITLES[task.task]} ({task.set_name})", fontsize=10)
        axes.set_xlabel("Mean accepted block size (tokens per iteration)")
        axes.set_ylabel("Wall-clock speedup over greedy (×)")
        axes.grid(alpha=0.25)
        axes.set_axisbelow(True)
        drawn.append((axes, ours, labels, published_labels))
    handles = {label: handle for one in panels for handle, label in zip(*one.get_legend_handles_labels())}
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    figure.suptitle(
        f"Speedup, one input at a time, scale {scale}\npoints labelled with k; bars: least and largest of the repeats",
        fontsize=10,
    )
    # Where labels and insets belong is known once everything else has its place.
    for axes, ours, labels, published_labels in drawn:
        furthest = axes.get_xlim()[1]
        strokes = [[(0.9, 1.0), (furthest, 1.0)], [(1.0, 1.0), (furthest, furthest)]]
        figure.draw_without_rendering()
        if _is_crowded(axes, labels) and _is_free(axes, [*labels, published_labels]):
            label_points(axes, [published_labels], strokes)
            _enlarge(axes, ours)
        else:
            label_points(axes, [*labels, published_labels], [*strokes, *_bars(ours)])
    return figure


def _draw_ours(axes: Axes, ours: Sequence[dict[str, Any]]) -> None:
    for protocol, title in PROTOCOL_TITLES.items():
        found = [row for row in ours if row["protocol"] == protocol]
        if not found:
            continue
        spread = [
            [row["speedup"] - row["speedup_low"] for row in found],
            [row["speedup_high"] - row["speedup"] for row in found],
        ]
        axes.errorbar(
            [row["mean_accepted_block_size"] for row in found], [row["speedup"] for row in found], yerr=spread,
            color=_COLOURS[protocol], marker=_MARKERS[protocol], linewidth=1.0, capsize=2.5, elinewidth=0.9,
            label=f"This replication, {title}",
        )  # fmt: skip


def _labels(ours: Sequence[dict[str, Any]]) -> list[list[Label]]:
    return [
        [
            Label(str(row["k"]), row["mean_accepted_block_size"], row["speedup"], _COLOURS[protocol])
            for row in ours
            if row["protocol"] == protocol
        ]
        for protocol in PROTOCOL_TITLES
    ]


def _bars(ours: Sequence[dict[str, Any]]) -> list[Stroke]:
    return [[(row["mean_accepted_block_size"], row[end]) for end in ("speedup_low", "speedup_high")] for row in ours]


def _is_crowded(axes: Axes, labels: Sequence[Sequence[Label]]) -> bool:
    """Return whether two points of one line lie so near that nothing tells whose a label is."""
    near = _NEAR_POINTS * axes.get_figure().dpi / 72
    for line in labels:
        places = [axes.transData.transform((one.x, one.y)) for one in line]
        if any(math.dist(one, other) < near for one, other in combinations(places, 2)):
            return True
    return False


def _is_free(axes: Axes, labels: Sequence[Sequence[Label]]) -> bool:
    """Return whether no point lies where an inset would."""
    left, bottom, width, height = _INSET
    places = [axes.transAxes.inverted().transform(axes.transData.transform((one.x, one.y))) for line in labels
              for one in line]  # fmt: skip
    return not any(left - 0.1 < x < left + width and y < bottom + height + 0.07 for x, y in places)


def _enlarge(axes: Axes, ours: Sequence[dict[str, Any]]) -> None:
    """Draw our points again, larger and labelled, in an inset."""
    inset = axes.inset_axes(_INSET)
    _draw_ours(inset, ours)
    inset.margins(x=0.25, y=0.2)
    inset.locator_params(nbins=5)
    inset.tick_params(labelsize=7)
    inset.grid(alpha=0.25)
    inset.set_axisbelow(True)
    inset.set_title("Ours, enlarged", fontsize=8)
    axes.indicate_inset_zoom(inset, edgecolor="#999999")
    label_points(inset, _labels(ours), _bars(ours))
