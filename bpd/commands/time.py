"""`bpd time`: wall-clock time of one model's blockwise decoding against the base model's greedy decoding."""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch

from bpd.atomic import write_json
from bpd.commands.prepared_images import PreparedImages, input_tokens, require_sizes_of
from bpd.commands.text_set import TextSet
from bpd.config import TimedSetConfig, TimeSettings, TimingConfig
from bpd.decoding.acceptance import Acceptance
from bpd.device import prepare_device
from bpd.errors import BpdError
from bpd.evaluation.meta import fingerprint
from bpd.evaluation.time_records import PROTOCOLS, TimeRecord, write_time_records
from bpd.evaluation.time_shares import time_shares
from bpd.evaluation.timing import WARM_UP_BATCHES, time_decoding
from bpd.models.model_folder import StoredModel, load_model
from bpd.provenance import commit, machine

Inputs = tuple[list[list[int]], list[int]]


def time_model(settings: TimeSettings, model: Path, base: Path, data: Path, output: Path, threads: int) -> None:
    """Time the model in `model` against `base` by both protocols and over batch sizes, on `threads` CPU threads.

    Writes the timings to `output`/set/criterion.jsonl, and beside them what was timed where and where the time went.
    Where the set holds fewer inputs than asked for, all are timed, and the record says how many these are. Raises
    `BpdError` before anything is timed where the two models are not of one kind, where `output` cannot be written
    into, or where a batch cannot be filled.
    """
    path = Path(output) / settings.set_name / f"{settings.criterion}.jsonl"
    torch.set_num_threads(threads)
    device = prepare_device()
    stored, plain = load_model(model, device), load_model(base, device)
    if plain.model.heads is not None or plain.settings.task != stored.settings.task:
        raise BpdError(f"{base}: greedy decoding is timed on the base model; give the folder of {stored.settings.task}")
    if stored.provenance.get("base_sha256") != plain.checkpoint_sha256:
        raise BpdError(
            f"{base}: {stored.settings.model} was not trained from this base model; give the one it stands on"
        )
    acceptance = Acceptance.parse(settings.criterion)
    rows, limits = _inputs(settings, stored, Path(data))
    timing = _within(settings.timing, len(rows))
    _require_folder(path.parent)
    half = settings.precision == "bf16" and device.type == "cuda" and torch.cuda.is_bf16_supported()
    records: list[TimeRecord] = []
    plans = [
        ("recompute", 1, timing.recompute),
        ("cached", 1, timing.cached),
        *(("batches", size, timing.batches) for size in timing.batches.sizes),
    ]
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=half):
        for protocol, batch_rows, part in plans:
            inputs, bounds = _first(rows, limits, part)
            title = f"{stored.settings.model} {protocol}" + (f" of {batch_rows}" if protocol == "batches" else "")
            records += time_decoding(
                plain.model,
                stored.model,
                inputs,
                bounds,
                acceptance=acceptance,
                protocol=protocol,
                batch_rows=batch_rows,
                repeats=timing.repeats,
                title=title,
            )
        shares = time_shares(stored.model, *_first(rows, limits, timing.cached), acceptance)
    meta = {
        "task": stored.settings.task,
        "model": stored.settings.model,
        "set": settings.set_name,
        "criterion": settings.criterion,
        "block_size": stored.model.block_size,
        "baseline": "greedy",
        "timing": timing.model_dump(mode="json"),
        "warm_up_batches": {"greedy": WARM_UP_BATCHES, "blockwise": "all"},
        "synchronised": "before and after each measurement",
        "shares": shares,
        "checkpoint_sha256": stored.checkpoint_sha256,
        "config_sha256": stored.provenance["config_sha256"],
        "base_checkpoint_sha256": plain.checkpoint_sha256,
        "seed": stored.settings.seed,
        **commit(),
        **machine(str(device), "bf16" if half else "fp32"),
    }
    path.with_suffix(".meta.json").unlink(missing_ok=True)
    write_time_records(path, records)
    write_json(path.with_suffix(".meta.json"), meta | fingerprint(path))


def _inputs(settings: TimeSettings, stored: StoredModel, data: Path) -> Inputs:
    """Return all inputs of the set as the model reads them, blank lines left out, and their length limits."""
    if stored.settings.task == "super_resolution":
        images = PreparedImages(data).images(settings.set_name)
        require_sizes_of(stored, images)
        rows = input_tokens(images, len(images))
        return rows, [stored.model.transformer.output_length] * len(rows)
    text = TextSet(data)
    text.require_vocabulary_of(stored)
    source, _ = text.lines(settings.set_name)
    encoded = text.vocabulary.encode_lines([line for line in source if line.strip()])
    rows = [[*ids, stored.model.end_id] for ids in encoded]
    return rows, [len(ids) + (settings.max_extra_tokens or 0) for ids in encoded]


def _within(timing: TimingConfig, available: int) -> TimingConfig:
    """Return `timing` with the number of inputs that each part will have: what it asks for, or all there are."""
    largest = max(timing.batches.sizes)
    if largest > available:
        raise BpdError(f"timing.batches.sizes asks for batches of {largest}, but the set has {available}; lower it")
    parts = {name: getattr(timing, name) for name in PROTOCOLS}
    return timing.model_copy(
        update={
            name: part.model_copy(update={"inputs": min(part.inputs or available, available)})
            for name, part in parts.items()
        }
    )


def _require_folder(folder: Path) -> None:
    """Raise `BpdError` unless files can be written into `folder`, which is made if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise BpdError(f"{folder}: cannot be written into: {error.strerror}; give another --output") from None


def _first(rows: list[list[int]], limits: list[int], part: TimedSetConfig) -> Inputs:
    bounds = limits[: part.inputs]
    return rows[: part.inputs], bounds if part.tokens is None else [min(limit, part.tokens) for limit in bounds]
