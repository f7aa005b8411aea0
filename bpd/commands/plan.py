"""`bpd plan` and `bpd rates`: what a run will take, and how fast a run was."""

from __future__ import annotations

import io
from pathlib import Path

from bpd.config import load_config
from bpd.planning.jobs import STAGES
from bpd.planning.plan import Plan, StagePlan, make_plan
from bpd.planning.rates import Measured, read_assumed, read_measured

_GIGABYTE = 1e9
_UNITS = (
    ("train", "tokens trained"),
    ("greedy", "tokens greedy"),
    ("blockwise", "tokens blockwise"),
    ("beam", "tokens by beam"),
    ("time", "tokens timed"),
    ("prepared_pairs", "pairs"),
    ("prepared_images", "images"),
    ("merged_pairs", "pairs merged"),
    ("scored_sentences", "sentences"),
    ("scored_images", "images"),
)


def plan(config: Path, gpus: int, gpus_per_training: int, measured: Path | None) -> Plan:
    """Return the plan of a config file's run; raise `BpdError` for what cannot be read or be done."""
    rates = None if measured is None else read_measured(measured)
    return make_plan(load_config(config), read_assumed(), rates, gpus=gpus, gpus_per_training=gpus_per_training)


def plan_text(made: Plan, width: int) -> str:
    """Return a plan as a Markdown table with its totals and what it rests on, in lines of `width` characters."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.MARKDOWN)
    titles = ("Stage", "Jobs", "Work", "GPU-hours", "CPU-hours", "GB kept", "Rates")
    numbers = {"Jobs", "GPU-hours", "CPU-hours", "GB kept"}
    for title in titles:
        table.add_column(title, justify="right" if title in numbers else "left")
    for stage in made.stages():
        table.add_row(
            STAGES[stage.stage],
            f"{sum(stage.jobs.values()):,}",
            _work(stage),
            f"{stage.gpu_hours:,.1f}" if stage.gpu_hours else "",
            f"{stage.cpu_hours:,.1f}" if stage.cpu_hours else "",
            _gigabytes(stage.kept_bytes),
            ", ".join(stage.bases),
        )
    totals = (f"{made.gpu_hours:,.1f}", f"{made.cpu_hours:,.1f}", _gigabytes(made.kept_bytes), "")
    table.add_row("In all", f"{len(made.jobs):,}", "", *totals)
    console = Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False)
    cards = f"{made.gpus} GPU(s), {made.gpus_per_training} for each training"
    console.print(f"Plan of the {made.scale} scale on {cards}: an estimate.")
    console.print(table)
    console.print(
        f"Wall time about {_hours(made.wall_hours)}; no number of GPUs brings it below "
        f"{_hours(made.critical_path_hours)}: {' → '.join(made.critical_path)}."
    )
    console.print(
        f"Disk: {_gigabytes(made.kept_bytes)} GB kept, and at most {_gigabytes(made.temporary_bytes)} GB more on the "
        "way (checkpoints of running trainings, unpacked corpora)."
    )
    for note in made.notes:
        console.print(f"- {note}")
    return console.file.getvalue()


def rates_text(measured: Measured) -> str:
    """Return how many rates were found of what."""
    kinds = sorted({(rate.task, rate.kind) for rate in measured.rates})
    lines = []
    for task, kind in kinds:
        found = [rate for rate in measured.rates if (rate.task, rate.kind) == (task, kind)]
        speeds = sorted(rate.per_second for rate in found)
        spread = f"{speeds[0]:,.0f}" if len(speeds) == 1 else f"{speeds[0]:,.0f} to {speeds[-1]:,.0f}"
        unit = "pairs" if kind == "prepared_pairs" else "tokens"
        lines.append(f"{task} {kind}: {spread} {unit}/s, {len(found)} record(s)")
    return "\n".join([*lines, *(f"on {device}" for device in measured.devices)])


def _work(stage: StagePlan) -> str:
    parts = []
    for start, unit in _UNITS:
        amount = sum(amount for kind, amount in stage.work.items() if kind.startswith(start))
        if amount:
            parts.append(f"{_short(amount)} {unit}")
    return ", ".join(parts)


def _short(amount: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if amount >= size:
            return f"{amount / size:.3g} {letter}"
    return f"{amount:.0f}"


def _gigabytes(size: float) -> str:
    return f"{size / _GIGABYTE:,.1f}" if size >= _GIGABYTE / 20 else f"{size / _GIGABYTE:.2f}"


def _hours(hours: float) -> str:
    if hours < 2:
        return f"{60 * hours:.0f} minutes"
    return f"{hours:.0f} hours" if hours < 48 else f"{hours:,.0f} hours ({hours / 24:.1f} days)"
