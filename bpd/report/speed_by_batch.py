"""Speedup against batch size: how the gain of blockwise decoding fades where greedy decoding fills the machine too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bpd.report.figure4 import TASK_TITLES
from bpd.report.row_table import RowTable
from bpd.report.style import new_figure
from bpd.report.table4 import printed_speedup
from bpd.report.timings import Timings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = (
    "task", "k", "batch_rows", "mean_accepted_block_size", "speedup", "speedup_low", "speedup_high", "efficiency",
    "greedy_tokens_per_second", "blockwise_tokens_per_second",
)  # fmt: skip


def speed_by_batch_rows(timings: Sequence[Timings]) -> list[dict[str, Any]]:
    """Return a row for each task, block size and batch size, by the cached protocol."""
    rows = []
    for task in timings:
        for timed in task.models:
            for batch_rows in timed.batch_sizes:
                found = timed.speedup("batches", batch_rows)
                values = (
                    task.task, timed.block_size, batch_rows, found.mean_accepted_block_size, found.speedup, found.low,
                    found.high, found.efficiency, 1 / found.greedy_seconds, 1 / found.blockwise_seconds,
                )  # fmt: skip
                rows.append(dict(zip(COLUMNS, values)))
    return rows


def speed_by_batch_table(timings: Sequence[Timings], scale: str) -> RowTable:
    """Return speedups and throughputs by batch size."""
    rows = speed_by_batch_rows(timings)
    return RowTable(
        name="speed_by_batch",
        columns=COLUMNS,
        rows=tuple(tuple(row.values()) for row in rows),
        shown=(
            ("Task", tuple(TASK_TITLES[row["task"]] for row in rows)),
            ("k", tuple(str(row["k"]) for row in rows)),
            ("Batch", tuple(str(row["batch_rows"]) for row in rows)),
            ("Block size", tuple(f"{row['mean_accepted_block_size']:.2f}" for row in rows)),
            ("Speedup", tuple(printed_speedup(row, "speedup") for row in rows)),
            ("Greedy, tokens/s", tuple(f"{row['greedy_tokens_per_second']:.0f}" for row in rows)),
            ("Blockwise, tokens/s", tuple(f"{row['blockwise_tokens_per_second']:.0f}" for row in rows)),
        ),
        caption=f"Speedup against batch size, cached protocol, scale {scale}",
        notes=tuple(_notes(timings)),
    )


def _notes(timings: Sequence[Timings]) -> list[str]:
    notes = ["The paper gives no such numbers. In brackets the least and the largest of the repeats."]
    for task in timings:
        if task.models:
            notes.append(f"{TASK_TITLES[task.task]} ({task.set_name}): {task.extent('batches')}. {task.provenance()}.")
    return notes


def speed_by_batch(timings: Sequence[Timings], scale: str) -> Figure:
    """Return the figure: a panel for each task, a line for each k, above the line at 1 where blockwise is faster."""
    rows = speed_by_batch_rows(timings)
    figure = new_figure(9.2, 4.2)
    panels = figure.subplots(1, len(timings), squeeze=False)[0]
    block_sizes = sorted({timed.block_size for task in timings for timed in task.models})
    for axes, task in zip(panels, timings):
        sizes = sorted({row["batch_rows"] for row in rows if row["task"] == task.task})
        for timed in task.models:
            place = block_sizes.index(timed.block_size)
            found = [row for row in rows if (row["task"], row["k"]) == (task.task, timed.block_size)]
            spread = [
                [row["speedup"] - row["speedup_low"] for row in found],
                [row["speedup_high"] - row["speedup"] for row in found],
            ]
            axes.errorbar(
                [row["batch_rows"] for row in found], [row["speedup"] for row in found], yerr=spread,
                color=_shade(place, len(block_sizes)),
                marker="osD^v*"[place % 6], linewidth=1.2, capsize=2.5, elinewidth=0.9, label=f"k = {timed.block_size}",
            )  # fmt: skip
        axes.axhline(1.0, color="#222222", linestyle=":", linewidth=1.0, label="greedy")
        axes.set_xscale("log", base=2)
        axes.set_xticks(sizes, [str(size) for size in sizes])
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        axes.set_title(f"{TASK_TITLES[task.task]} ({task.set_name})", fontsize=10)
        axes.set_xlabel("Inputs decoded at once")
        axes.set_ylabel("Wall-clock speedup over greedy (×)")
        axes.grid(alpha=0.25)
    handles = {label: handle for one in panels for handle, label in zip(*one.get_legend_handles_labels())}
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=8, frameon=False, fontsize=8)
    figure.suptitle(
        f"Speedup against batch size, both arms cached, scale {scale}\nbars: least and largest of the repeats",
        fontsize=10,
    )
    return figure


def _shade(place: int, count: int) -> tuple[float, ...]:
    """Return a blue, the darker the larger the block, that nothing shines through."""
    strength = 0.35 + 0.65 * (place + 1) / count
    return tuple(1 - strength * (1 - part) for part in (0.0, 0.27, 0.7))
