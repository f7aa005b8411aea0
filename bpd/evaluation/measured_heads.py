"""What decoding measured of a model's heads: their accuracies on its own outputs and on the references."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bpd.errors import BpdError
from bpd.stored_json import read_json

TEXTS = ("own_output", "reference")


@dataclass(frozen=True)
class MeasuredHeads:
    """Accuracies of heads 1 … k by text: how often `right` of how many in `total`, and `runs` of right heads."""

    block_size: int
    measured: dict[str, dict[str, list[int]]]

    def accuracies(self, text: str) -> list[float | None]:
        """Return the share of places at which each head is right, none where it never had a target."""
        found = self.measured[text]
        return [right / total if total else None for right, total in zip(found["right"], found["total"])]

    @property
    def mean_run(self) -> float:
        """How many heads are right from the first on, over all places of the model's own outputs."""
        runs = self.measured["own_output"]["runs"]
        return sum(length * count for length, count in enumerate(runs)) / sum(runs)


def heads_path(folder: Path) -> Path:
    """Return where the accuracies belong: beside the records of a set, in `folder`."""
    return Path(folder) / "heads.json"


def read_heads(path: Path) -> MeasuredHeads:
    """Return what decoding measured of a model's heads; raise `BpdError` where it is missing or damaged."""
    try:
        values = read_json(path)
        block_size = values["block_size"]
        sound = all(
            len(values[text]["right"]) == len(values[text]["total"]) == block_size
            and len(values[text]["runs"]) == block_size + 1
            and all(type(count) is int for name in ("right", "total", "runs") for count in values[text][name])
            and sum(values[text]["runs"]) > 0
            for text in TEXTS
        )
    except (OSError, ValueError, KeyError, TypeError):
        sound = False
    if not sound:
        raise BpdError(f"{path}: missing or damaged accuracies of heads; decode again")
    return MeasuredHeads(block_size, {text: values[text] for text in TEXTS})
