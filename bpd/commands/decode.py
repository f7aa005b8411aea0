"""`bpd decode`: one model's records on the dev and test sets, by each criterion."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import torch

from bpd.atomic import write_json
from bpd.commands.text_set import TextSet
from bpd.config import DecodeSettings
from bpd.decoding.acceptance import Acceptance
from bpd.decoding.batched import DecodeBatch, Timed, decode_set
from bpd.decoding.beam import beam
from bpd.decoding.blockwise import blockwise
from bpd.decoding.greedy import greedy
from bpd.device import prepare_device
from bpd.evaluation.head_accuracy import head_accuracy
from bpd.evaluation.measured_heads import heads_path
from bpd.evaluation.meta import fingerprint
from bpd.evaluation.records import DecodeRecord, write_records
from bpd.models.model_folder import StoredModel, load_translation_model
from bpd.processes import Processes, joined_processes
from bpd.provenance import commit, machine

_ACCURACY_ROWS = 16


def decoder_of(stored: StoredModel, criterion: str, length_penalty: float) -> DecodeBatch:
    """Return the decoding of `criterion`: `exact`, `top2`, `minimum2` … blockwise, or `beam4` by beam search.

    A model without heads decodes greedily under `exact`: that is blockwise decoding with k = 1.
    """
    model = stored.model
    if criterion.startswith("beam"):
        size = int(criterion.removeprefix("beam"))
        return lambda rows, limits: beam(model, rows, limits, beam_size=size, length_penalty=length_penalty)
    if model.heads is None and criterion == "exact":
        return lambda rows, limits: greedy(model, rows, limits)
    acceptance = Acceptance.parse(criterion)
    return lambda rows, limits: blockwise(model, rows, limits, acceptance=acceptance)


def decode(settings: DecodeSettings, model: Path, data: Path, output: Path, batch_rows: int) -> None:
    """Decode the dev and test sets by all of the model's criteria, each into `output`/set/criterion.jsonl.

    Exact blockwise decoding is compared with greedy decoding of the same model, and the number of sentences that
    differ is stored: none in fp32. `heads.json` beside the dev set's records holds the heads' accuracy. Where
    `torchrun` started several processes, they share the batches, and one of them writes.
    """
    device = prepare_device()
    with joined_processes(device) as processes:
        _decode(settings, model, TextSet(data), device, output, batch_rows, processes)


def _decode(
    settings: DecodeSettings,
    model: Path,
    text: TextSet,
    device: torch.device,
    output: Path,
    batch_rows: int,
    processes: Processes,
) -> None:
    stored = load_translation_model(model, device)
    text.require_vocabulary_of(stored)
    half = settings.precision == "bf16" and device.type == "cuda" and torch.cuda.is_bf16_supported()
    precision = "bf16" if half else "fp32"

    def run(decode_batch: DecodeBatch, inputs: list[list[int]], title: str) -> list[Timed]:
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=half):
            return decode_set(
                decode_batch,
                inputs,
                end_id=stored.model.end_id,
                max_extra_tokens=settings.max_extra_tokens,
                batch_rows=batch_rows,
                title=f"{stored.settings.model} {title}",
                processes=processes,
            )

    for role, criteria in (("dev", settings.dev_criteria), ("test", settings.test_criteria)):
        name = text.sets[role]
        source, references = text.lines(name)
        inputs = text.vocabulary.encode_lines(source)
        # A line of white space has subwords but nothing to translate: it stays blank, like an empty one.
        inputs = [row if line.strip() else [] for row, line in zip(inputs, source, strict=True)]

        for criterion in criteria:
            results = run(decoder_of(stored, criterion, settings.length_penalty), inputs, f"{name} {criterion}")
            differing = None
            if criterion == "exact":
                plain = results
                if stored.model.block_size > 1:
                    plain = run(partial(greedy, stored.model), inputs, f"{name} greedy, to compare")
                differing = sum(_tokens(one) != _tokens(other) for one, other in zip(results, plain, strict=True))
            if not processes.writes:
                continue
            records = [_record(index, timed, text) for index, timed in enumerate(results)]
            path = Path(output) / name / f"{criterion}.jsonl"
            meta = {
                "model": stored.settings.model,
                "set": name,
                "role": role,
                "criterion": criterion,
                "block_size": stored.model.block_size,
                "sentences": len(records),
                "sentences_unlike_greedy": differing,
                "batch_rows": batch_rows,
                "max_extra_tokens": settings.max_extra_tokens,
                "length_penalty": settings.length_penalty if criterion.startswith("beam") else None,
                "checkpoint_sha256": stored.checkpoint_sha256,
                "config_sha256": stored.provenance["config_sha256"],
                "vocabulary_sha256": text.vocabulary.sha256,
                "seed": stored.settings.seed,
                **commit(),
                **machine(str(device), precision),
            }
            path.with_suffix(".meta.json").unlink(missing_ok=True)
            write_records(path, records)
            write_json(path.with_suffix(".meta.json"), meta | fingerprint(path))
            if (role, criterion) == ("dev", "exact") and stored.model.block_size > 1:
                measured = _head_accuracies(stored, text, inputs, references, records)
                write_json(heads_path(path.parent), meta | measured)


def _head_accuracies(
    stored: StoredModel, text: TextSet, inputs: list[list[int]], references: list[str], records: list[DecodeRecord]
) -> dict[str, Any]:
    """Return the heads' accuracy on the model's own outputs and on the references."""
    end_id = stored.model.end_id
    sources = [[*row, end_id] for row in inputs]
    own = [record.token_ids for record in records]
    human = [[*ids, end_id] if row else [] for ids, row in zip(text.vocabulary.encode_lines(references), inputs)]
    return {
        "own_output": head_accuracy(stored.model, sources, own, _ACCURACY_ROWS),
        "reference": head_accuracy(stored.model, sources, human, _ACCURACY_ROWS),
    }


def _tokens(timed: Timed) -> list[int] | None:
    return None if timed.decoded is None else timed.decoded.token_ids


def _record(index: int, timed: Timed, text: TextSet) -> DecodeRecord:
    decoded = timed.decoded
    if decoded is None:
        return DecodeRecord(index, [], [], 0, 0, "empty", 0.0, "")
    return DecodeRecord(
        index=index,
        token_ids=decoded.token_ids,
        block_sizes=decoded.block_sizes,
        iterations=decoded.iterations,
        calls=decoded.calls,
        stop=decoded.stop,
        seconds=round(timed.seconds, 6),
        text=text.vocabulary.decode(decoded.token_ids),
    )
