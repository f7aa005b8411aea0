"""Training curves: loss and dev scores of every model against its steps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bpd.errors import BpdError
from bpd.report.style import COLOURS, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WINDOW = 9
_NUMBERS = {
    "step": ("loss",),
    "evaluation": ("dev_bleu", "dev_bits_per_dimension", "dev_psnr", "dev_mean_accepted_block_size"),
}


def read_journal(path: Path) -> list[dict[str, Any]]:
    """Return the records of a `training.jsonl`; raise `BpdError` naming the first bad line."""
    records = []
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        raise BpdError(f"{path}: missing or damaged training journal; train the model again") from None
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line.decode("utf-8"))
            numbers = [record["step"], *(record[name] for name in _NUMBERS.get(record["event"], ()) if name in record)]
            if (record["event"] == "step" and "loss" not in record) or not all(map(_is_number, numbers)):
                raise ValueError
            records.append(record)
        except (ValueError, KeyError, TypeError):
            raise BpdError(f"{path}, line {number}: not a journal record; train the model again") from None
    return records


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def training_curves(
    journals: Mapping[str, Path],
    scale: str,
    *,
    score: str = "dev_bleu",
    score_title: str = "Dev BLEU (first sentences)",
    token: str = "token",
) -> Figure:
    """Return a figure with a panel for each kind of model; lines are smoothed over nine records, scores are dots.

    `score` is the evaluations' value to show, called `score_title`; losses are in nats per `token`.
    """
    kinds: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for model, path in journals.items():
        kind = model.split("_k")[0] if "_k" in model else "base"
        kinds.setdefault(kind, {})[model] = read_journal(path)
    figure = new_figure(3.1 * max(2, len(kinds)), 5.4)
    panels = figure.subplots(2, max(1, len(kinds)), squeeze=False, sharex="col")
    for column, (kind, models) in enumerate(kinds.items()):
        for place, (model, records) in enumerate(models.items()):
            _draw(panels[:, column], model, records, _shade(kind, place, len(models)), score)
        panels[0, column].set_title(_title(kind, models), fontsize=10)
        panels[0, column].legend(fontsize=7, frameon=False)
        panels[1, column].set_xlabel("Step")
        for one in panels[:, column]:
            one.grid(alpha=0.25)
        panels[1, column].set_xlim(left=0)
    panels[0, 0].set_ylabel(f"Training loss (nats per {token})", fontsize=8.5)
    panels[1, 0].set_ylabel(score_title, fontsize=8.5)
    figure.suptitle(f"Training, scale {scale}", fontsize=11)
    return figure


def _title(kind: str, models: Mapping[str, Any]) -> str:
    if kind == "base":
        return "Base and teacher" if "teacher" in models else "Base"
    return kind.replace("_", " ").title()


def _draw(panels: list[Axes], model: str, records: list[dict[str, Any]], colour: tuple[float, ...], score: str) -> None:
    steps = [record for record in records if record["event"] == "step"]
    values = [record["loss"] for record in steps]
    smooth = [sum(part) / len(part) for part in (values[max(0, i - _WINDOW + 1) : i + 1] for i in range(len(values)))]
    panels[0].plot([record["step"] for record in steps], smooth, color=colour, linewidth=1.2, label=model)
    found = [record for record in records if record["event"] == "evaluation" and score in record]
    panels[1].plot(
        [record["step"] for record in found],
        [record[score] for record in found],
        color=colour,
        marker="o",
        markersize=3.5,
        linewidth=1.0,
    )


def _shade(kind: str, place: int, count: int) -> tuple[float, ...]:
    """Return a shade of the kind's colour: the larger the block, the darker."""
    from matplotlib.colors import to_rgb

    strength = 1.0 if count == 1 else 0.45 + 0.55 * place / (count - 1)
    return tuple(1 - strength * (1 - part) for part in to_rgb(COLOURS.get(kind, "#444444")))
