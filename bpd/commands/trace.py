"""`bpd trace`: one sentence decoded step by step (section 7.4)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from bpd.atomic import write_json
from bpd.commands.text_set import TextSet
from bpd.config import TraceSettings
from bpd.decoding.blockwise import Step, blockwise
from bpd.errors import BpdError
from bpd.trained_model import TrainedModel


def trace(settings: TraceSettings, model: Path, data: Path, output: Path) -> None:
    """Write the steps of exact blockwise decoding of the configured sentence by the model in `model` as JSON."""
    text = TextSet(data)
    trained = TrainedModel(model)
    text.require_vocabulary_of(trained.stored)
    source, target = text.lines(text.sets["dev"])
    chosen = settings.trace
    if chosen.sentence is not None:
        sentence = chosen.sentence
        reference = target[source.index(sentence)] if sentence in source else None
    elif chosen.dev_index is not None and chosen.dev_index < len(source):
        sentence, reference = source[chosen.dev_index], target[chosen.dev_index]
    else:
        raise BpdError(f"trace.dev_index is {chosen.dev_index}, but the dev set has {len(source)} sentences")
    steps: list[Step] = []
    row = [*trained.vocabulary.encode(sentence), trained.model.end_id]
    limit = len(row) - 1 + settings.max_extra_tokens
    with torch.inference_mode():
        (decoded,) = blockwise(trained.model, [row], [limit], on_step=steps.append)
    write_json(output, trace_values(trained, sentence, reference, decoded.token_ids, steps))
    print(json.dumps({"accepted": decoded.block_sizes}))


def trace_values(
    trained: TrainedModel, sentence: str, reference: str | None, token_ids: list[int], steps: list[Step]
) -> dict[str, Any]:
    """Return what the report shows of a trace: the pieces proposed and accepted at each step, and the texts."""
    pieces = trained.vocabulary.pieces
    return {
        "model": trained.stored.settings.model,
        "block_size": trained.block_size,
        "criterion": "exact",
        "checkpoint_sha256": trained.stored.checkpoint_sha256,
        "source": sentence,
        "reference": reference,
        "translation": trained.vocabulary.decode(token_ids),
        "steps": [
            {"proposed": pieces(step.proposed), "accepted": pieces(step.proposed[: step.accepted])} for step in steps
        ],
    }
