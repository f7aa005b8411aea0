"""The timings that speedups are computed from, model by model, with where and on what they were measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bpd.errors import BpdError
from bpd.evaluation.meta import require_fingerprint
from bpd.evaluation.speedup import Speedup, speedup, timed_batch_sizes
from bpd.evaluation.time_records import PARTS, PROTOCOLS, TimeRecord, read_time_records, require_complete
from bpd.report.scores import Scores
from bpd.stored_json import read_json


@dataclass(frozen=True)
class TimedModel:
    """One model's timings, and what `bpd time` wrote beside them."""

    path: Path
    name: str
    block_size: int
    records: Sequence[TimeRecord]
    meta: dict[str, Any]

    def speedup(self, protocol: str, batch_rows: int = 1) -> Speedup | None:
        """Return the speedup by one protocol and batch size, or none where it was not timed."""
        return speedup(self.records, protocol, batch_rows)

    @property
    def batch_sizes(self) -> list[int]:
        """The batch sizes that were compared, smallest first."""
        return timed_batch_sizes(self.records)

    def shares(self) -> dict[str, float]:
        """Return milliseconds an iteration by part."""
        found = self.meta["shares"]
        return {part: 1000 * found["seconds"][part] / found["iterations"] for part in PARTS}


class Timings:
    """The timings of a task's timed models, in the order of their block sizes."""

    def __init__(self, results: Path, task: str, set_name: str, criterion: str, models: Sequence[str]) -> None:
        self.task = task
        self.set_name = set_name
        self.criterion = criterion
        paths = [time_path(results, task, model, set_name, criterion) for model in models]
        self.models = sorted((_read(path) for path in paths), key=lambda model: model.block_size)

    def require_models_of(self, scores: Scores) -> None:
        """Raise `BpdError` where a timed model, or the base model it was timed against, is not the one scored."""
        for timed in self.models:
            beside = timed.path.with_suffix(".meta.json")
            for model, name in ((timed.name, "checkpoint_sha256"), ("base", "base_checkpoint_sha256")):
                for scored in scores.checkpoints(model):
                    if scored != timed.meta[name]:
                        raise BpdError(
                            f"{beside}: timed with the checkpoint {timed.meta[name][:12]} of {model}, but scored was "
                            f"{scored[:12]}; run `bpd time` again"
                        )

    def get(self, model: str) -> TimedModel | None:
        """Return the timings of one model, or none where it was not timed."""
        return next((timed for timed in self.models if timed.name == model), None)

    def provenance(self) -> str:
        """Return one line on where the timings were measured."""

        def all_of(name: str) -> str:
            return ", ".join(sorted({str(timed.meta.get(name)) for timed in self.models}))

        torch = ", ".join(sorted({str(timed.meta["versions"].get("torch")) for timed in self.models}))
        commits = ", ".join(sorted({str(timed.meta.get("commit"))[:12] for timed in self.models}))
        return (
            f"Timed on {all_of('device')}; threads {all_of('threads')}; precision {all_of('precision')}; "
            f"PyTorch {torch}; commit {commits}"
        )

    def extent(self, protocol: str) -> str:
        """Return on how much one protocol was timed, such as `100 inputs, 3 repeats`."""
        told = []
        for timed in self.models:
            part = timed.meta["timing"][protocol]
            count = part["inputs"]
            cut = "" if part["tokens"] is None else f", the first {part['tokens']} tokens of each"
            told.append(f"{count} input{'s' * (count > 1)}{cut}, {timed.meta['timing']['repeats']} repeats")
        return "; ".join(dict.fromkeys(told))


def time_path(results: Path, task: str, model: str, set_name: str, criterion: str) -> Path:
    """Return where `bpd time` writes the timings of a model."""
    return Path(results) / task / model / "time" / set_name / f"{criterion}.jsonl"


def _read(path: Path) -> TimedModel:
    beside = path.with_suffix(".meta.json")
    try:
        meta = read_json(beside)
        sound = (
            all(isinstance(meta[name], str) for name in ("model", "checkpoint_sha256", "base_checkpoint_sha256"))
            and _is_count(meta["block_size"])
            and isinstance(meta["versions"], dict)
            and all(isinstance(meta["shares"]["seconds"][part], float) for part in PARTS)
            and meta["shares"]["iterations"] > 0
            and _is_count(meta["timing"]["repeats"])
            and all(_is_part(meta["timing"][protocol]) for protocol in PROTOCOLS)
            and all(map(_is_count, meta["timing"]["batches"]["sizes"]))
        )
    except FileNotFoundError:
        raise BpdError(f"{beside}: no such timing; run `bpd time` first") from None
    except (OSError, ValueError, KeyError, TypeError):
        sound = False
    if not sound:
        raise BpdError(f"{beside}: damaged; run `bpd time` again")
    said = {"model": path.parts[-4], "set": path.parent.name, "criterion": path.stem}
    for name, wanted in said.items():
        if meta.get(name) != wanted:
            raise BpdError(f"{beside}: a timing of {name} {meta.get(name)}, not {wanted}; run `bpd time` again")
    records = read_time_records(path)
    require_complete(path, records, meta["timing"])
    require_fingerprint(path, meta, "run `bpd time` again")
    return TimedModel(path, meta["model"], meta["block_size"], records, meta)


def _is_count(value: Any) -> bool:
    return type(value) is int and value > 0


def _is_part(part: dict[str, Any]) -> bool:
    return all(part[name] is None or _is_count(part[name]) for name in ("inputs", "tokens"))
