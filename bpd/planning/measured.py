"""Rates of a run, from its own records: journals of trainings, decode records, timings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import harmonic_mean
from typing import Any

from bpd.config import ImageTrainSettings, TrainSettings
from bpd.data.batches import TokenBatches
from bpd.data.encoded import EncodedPairs
from bpd.errors import BpdError
from bpd.evaluation.job_records import read_job_record
from bpd.evaluation.meta import require_fingerprint
from bpd.evaluation.records import read_records
from bpd.evaluation.time_records import read_time_records
from bpd.models.model_folder import PROVENANCE, SETTINGS, read_settings
from bpd.planning.data_size import CHANNELS, CountedText
from bpd.planning.model_size import ModelSize, model_size
from bpd.planning.rates import Measured, MeasuredRate
from bpd.planning.work import timing_kind, training_kind

TASKS = ("translation", "super_resolution")


def measure(results: Path) -> Measured:
    """Return the rates of the finished models, decodings and timings below `results`, such as results/mini.

    A training that still runs has not said on what: it is passed over. Raises `BpdError` where nothing has finished.
    """
    results = Path(results)
    folders = [
        folder
        for root in (results, *sorted(results.glob("seed_*")))
        for task in TASKS
        for folder in sorted((root / task).glob("*"))
        if (folder / PROVENANCE).is_file() and (folder / SETTINGS).is_file()
    ]
    settings = {folder: read_settings(folder) for folder in folders}
    budgets = {one.training.micro_batch_tokens for one, _ in settings.values() if isinstance(one, TrainSettings)}
    text = _counted_text(results / "data" / "translation", budgets)
    rates = [rate for folder, (one, size) in settings.items() for rate in _Model(folder, one, size, text).rates()]
    rates += _preparations(results)
    if not rates:
        raise BpdError(f"{results}: no finished training, decoding or timing below it; name a folder as results/mini")
    return Measured(results=str(results), text=text, rates=tuple(rates))


class _Model:
    """The rates of one model, from its folder."""

    def __init__(
        self,
        folder: Path,
        settings: TrainSettings | ImageTrainSettings,
        vocabulary_size: int | None,
        text: CountedText | None,
    ) -> None:
        self.folder = folder
        self.settings = settings
        self.text = text
        self.size = model_size(settings, vocabulary_size)
        self.base_size = model_size(settings.model_copy(update={"heads": None}), vocabulary_size)

    def rates(self) -> Iterator[MeasuredRate]:
        yield from self._training()
        for path in sorted(self.folder.glob("decode/*/*.meta.json")):
            yield from self._decoding(path)
        for path in sorted(self.folder.glob("time/*/*.meta.json")):
            yield from self._timing(path)

    def _training(self) -> Iterator[MeasuredRate]:
        path = self.folder / "training.jsonl"
        steps = [line["tokens_per_second"] for line in _json_lines(path) if line.get("event") == "step"]
        # The first interval also loads and compiles.
        steps = [speed for speed in steps[1:] or steps if speed > 0]
        if steps:
            about = _json(self.folder / PROVENANCE)
            # Every interval has as many steps: the harmonic mean is all tokens over all time, of all cards together.
            speed = harmonic_mean(steps) / about.get("processes", 1)
            yield self._rate(training_kind(self.settings), speed, self.size, self.size.training, 1, about, path)

    def _decoding(self, meta_path: Path) -> Iterator[MeasuredRate]:
        meta = _json(meta_path)
        path = meta_path.with_name(meta_path.name.removesuffix(".meta.json") + ".jsonl")
        require_fingerprint(path, meta, "decode again")
        records = [record for record in read_records(path) if record.seconds > 0]
        if not records:
            return
        criterion = meta["criterion"]
        if criterion.startswith("beam"):
            kind, flops = "beam", self.size.beam(int(criterion.removeprefix("beam")))
        elif self.size.block_size > 1:
            kind, flops = "blockwise", self.size.blockwise
        else:
            kind, flops = "greedy", self.size.greedy
        speed = sum(len(record.token_ids) for record in records) / sum(record.seconds for record in records)
        yield self._rate(kind, speed, self.size, flops, min(meta["batch_rows"], len(records)), meta, path)

    def _timing(self, meta_path: Path) -> Iterator[MeasuredRate]:
        meta = _json(meta_path)
        path = meta_path.with_name(meta_path.name.removesuffix(".meta.json") + ".jsonl")
        groups: dict[tuple[str, int, str], list[Any]] = {}
        require_fingerprint(path, meta, "run `bpd time` again")
        for record in read_time_records(path):
            groups.setdefault((record.protocol, record.batch_rows, record.arm), []).append(record)
        for (protocol, rows, arm), records in groups.items():
            size = self.size if arm == "blockwise" else self.base_size
            flops = size.blockwise if arm == "blockwise" else size.greedy
            if protocol == "recompute":
                inputs = len(records)
                length = self._length(meta["timing"][protocol]["tokens"], sum(one.tokens for one in records) / inputs)
                flops = size.recompute(length / 2, block=arm == "blockwise")
            speed = sum(record.tokens for record in records) / sum(record.seconds for record in records)
            yield self._rate(timing_kind(protocol, arm), speed, size, flops, rows, meta, path)

    def _length(self, at_most: int | None, mean: float) -> float:
        """Return how many tokens an output is planned to have, so that the plan's operations are these."""
        if isinstance(self.settings, ImageTrainSettings):
            length = float(self.settings.output_size**2 * CHANNELS)
        else:
            length = mean if self.text is None else self.text.target_subwords + 1
        return length if at_most is None else min(length, at_most)

    def _rate(
        self, kind: str, speed: float, size: ModelSize, flops: float, at_once: int, about: dict[str, Any], path: Path
    ) -> MeasuredRate:
        return MeasuredRate(
            task=self.settings.task,
            kind=kind,
            model=self.settings.model,
            per_second=speed,
            flops=flops,
            at_once=at_once,
            parameters=size.parameters,
            device=about["device"],
            precision=about["precision"],
            threads=about["threads"],
            records=str(path),
        )


def _preparations(results: Path) -> Iterator[MeasuredRate]:
    """Yield how fast data was prepared, from the records of jobs, its start included."""
    counted = {
        "prepare_text": ("translation", "prepared_pairs", "train_read"),
        "prepare_images": ("super_resolution", "prepared_images", None),
    }
    for rule, (task, kind, which) in counted.items():
        path = results / "benchmarks" / f"{rule}.jsonl"
        record = read_job_record(path)
        if record is None:
            continue
        counts = _json(results / "data" / task / "report.json")["counts"]
        amount = sum(counts.values()) if which is None else counts[which]
        speed = amount / record.seconds
        yield MeasuredRate(task=task, kind=kind, per_second=speed, at_once=amount, device="cpu", records=str(path))


def _counted_text(folder: Path, budgets: set[int]) -> CountedText | None:
    """Return what the preparation in `folder` counted, or none where there is none."""
    if not (folder / "report.json").is_file():
        return None
    report = _json(folder / "report.json")
    data = report["settings"]
    pairs = EncodedPairs.open(folder / "train")
    tokens = int(pairs.target_lengths.sum()) + len(pairs)
    filled = {
        str(budget): tokens / TokenBatches(pairs, budget, seed=1).batches_per_epoch / budget
        for budget in sorted(budgets)
    }
    return CountedText(
        source=data["source"],
        vocabulary_size=data["vocabulary"]["size"],
        max_subwords=data["max_subwords"],
        read=report["counts"]["train_read"],
        pairs=len(pairs),
        source_subwords=float(pairs.source_lengths.mean()),
        target_subwords=float(pairs.target_lengths.mean()),
        filled=filled,
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BpdError(f"{path}: missing or damaged ({error}); nothing says what was measured on what") from None


def _json_lines(path: Path) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise BpdError(f"{path}: missing or damaged ({error}); train the model again") from None
