"""Accuracy of head i for the token i places ahead, and what it says of the mean accepted block size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bpd.evaluation.measured_heads import TEXTS, MeasuredHeads
from bpd.report.figure4 import TASK_TITLES
from bpd.report.row_table import RowTable
from bpd.report.style import COLOURS, MARKERS, new_figure
from bpd.report.tables import SETTING_TITLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = (
    "task", "setting", "k", "head", "own_output_accuracy", "reference_accuracy", "mean_run",
    "mean_accepted_block_size",
)  # fmt: skip


@dataclass(frozen=True)
class ModelHeads:
    """A model's heads beside its mean accepted block size by the exact criterion."""

    task: str
    setting: str
    heads: MeasuredHeads
    mean_accepted_block_size: float


def head_accuracy_table(models: Sequence[ModelHeads], scale: str) -> RowTable:
    """Return a row for each model in Markdown, its heads side by side, and a row for each head in the CSV."""
    rows = [
        (model.task, model.setting, model.heads.block_size, head, own, reference, model.heads.mean_run,
         model.mean_accepted_block_size)
        for model in models
        for head, (own, reference) in enumerate(zip(*map(model.heads.accuracies, TEXTS)), start=1)
    ]  # fmt: skip
    return RowTable(
        name="head_accuracy",
        columns=COLUMNS,
        rows=tuple(rows),
        shown=(
            ("Task", tuple(TASK_TITLES[model.task] for model in models)),
            ("Setting", tuple(SETTING_TITLES[model.setting] for model in models)),
            ("k", tuple(str(model.heads.block_size) for model in models)),
            ("Heads 1 … k, own output", tuple(_percents(model.heads.accuracies("own_output")) for model in models)),
            ("Heads 1 … k, reference", tuple(_percents(model.heads.accuracies("reference")) for model in models)),
            ("Mean run of right heads", tuple(f"{model.heads.mean_run:.2f}" for model in models)),
            ("Mean accepted block size", tuple(f"{model.mean_accepted_block_size:.2f}" for model in models)),
        ),
        caption=f"Accuracy of head i for the token i places ahead, percent, dev sets, scale {scale}",
        notes=(
            "Measured after every prefix of the model's own greedy outputs, on which p₁ is right by definition, up to "
            "ties at the last bit, and of the references. A run is the number of heads right from the first on: "
            "the block that the exact criterion would accept there. Its mean is over all places, the mean accepted "
            "block size over the places at which blocks begin: the two differ by what follows a rejection.",
        ),
    )


def _percents(accuracies: Sequence[float | None]) -> str:
    return " ".join("–" if value is None else f"{100 * value:.0f}" for value in accuracies)


def head_accuracy_figure(models: Sequence[ModelHeads], scale: str) -> Figure:
    """Return the figure: accuracy by head of each task's largest k, and block size against the mean run for all."""
    figure = new_figure(12.0, 4.3)
    panels = figure.subplots(1, 3)
    for axes, task in zip(panels, TASK_TITLES):
        largest = max((model.heads.block_size for model in models if model.task == task), default=1)
        for model in models:
            if (model.task, model.heads.block_size) != (task, largest):
                continue
            for text, style, size in (("own_output", "-", 6.0), ("reference", "--", 3.5)):
                accuracies = enumerate(model.heads.accuracies(text), start=1)
                places = [(head, value) for head, value in accuracies if value is not None]
                title = f"{SETTING_TITLES[model.setting]}, {'own output' if text == 'own_output' else 'reference'}"
                axes.plot(
                    [head for head, _ in places], [100 * value for _, value in places], style,
                    color=COLOURS[model.setting], marker=MARKERS[model.setting], markersize=size, linewidth=1.1,
                    label=title,
                )  # fmt: skip
        axes.set_title(f"{TASK_TITLES[task]}, k = {largest}", fontsize=10)
        axes.set_xlabel("Head i: the token i places ahead")
        axes.set_ylabel("Right (% of places)")
        axes.set_xticks(range(1, largest + 1))
        axes.set_ylim(0, 102)
        axes.grid(alpha=0.25)
        axes.legend(fontsize=6.5, frameon=False)
    axes = panels[2]
    furthest = max((max(model.heads.mean_run, model.mean_accepted_block_size) for model in models), default=1.0) + 0.2
    axes.plot([1, furthest], [1, furthest], color="#999999", linestyle=":", linewidth=1.0, label="equal")
    # Hollow markers are for published numbers: images are told from text by an edge.
    for task, name, edge in (("translation", "text", None), ("super_resolution", "images", "#000000")):
        for setting in SETTING_TITLES:
            found = [model for model in models if (model.task, model.setting) == (task, setting)]
            axes.plot(
                [model.heads.mean_run for model in found], [model.mean_accepted_block_size for model in found],
                linestyle="none", marker=MARKERS[setting], color=COLOURS[setting], markersize=6,
                markeredgecolor=edge or COLOURS[setting], label=f"{SETTING_TITLES[setting]}, {name}" if found else None,
            )  # fmt: skip
    axes.set_title("All k, exact criterion", fontsize=10)
    axes.set_xlabel("Mean run of right heads (all places)")
    axes.set_ylabel("Mean accepted block size")
    axes.set_xlim(0.95, furthest)
    axes.set_ylim(0.95, furthest)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=6.5, frameon=False)
    figure.suptitle(f"How far the heads see, dev sets, scale {scale}", fontsize=11)
    return figure
