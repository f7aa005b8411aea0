"""How often head i is right about the token i places ahead, measured offline on whole outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from bpd.decoding.acceptance import best_token
from bpd.models.combined_model import CombinedModel

# Marks places beyond an output: no token, not even the padding that a model may emit, has this id.
_BEYOND = -1


@torch.inference_mode()
def head_accuracy(
    model: CombinedModel, sources: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]], batch_rows: int
) -> dict[str, Any]:
    """Return how often each head's argmax is the token of `outputs` that it aims at, after every prefix of them.

    `sources` and `outputs` are ragged rows of ids, as the model reads and writes them; empty ones are passed over. With
    p₁'s own greedy outputs the first head is always right, and the number of heads right from the first on, at a
    position, is the block that exact decoding would accept there: `runs` counts the positions by this number, 0 … k. A
    target beyond the output is not counted. Returns `right` and `total` by head, and `runs`.
    """
    k = model.block_size
    right, total = [0] * k, [0] * k
    runs = torch.zeros(k + 1, dtype=torch.int64)
    rows = sorted((place for place, output in enumerate(outputs) if output), key=lambda place: len(outputs[place]))
    for first in range(0, len(rows), batch_rows):
        places = rows[first : first + batch_rows]
        source = _padded([sources[place] for place in places], max(model.pad_id, 0), model.device)
        target = _padded([outputs[place] for place in places], _BEYOND, model.device)
        states = model.training_states(source, target.clamp(min=0))
        going = target != _BEYOND
        run = torch.zeros_like(target)
        for head, aimed, hit in _heads(model, states, target):
            right[head] += int(hit.sum())
            total[head] += int(aimed.sum())
            going = going & hit
            run += going
        runs += run[target != _BEYOND].bincount(minlength=k + 1).cpu()
    return {"right": right, "total": total, "runs": runs.tolist()}


def _heads(model: CombinedModel, states: Tensor, target: Tensor) -> Iterator[tuple[int, Tensor, Tensor]]:
    """Yield each head's place, where it has a target, and where it is right, both [rows, length]."""
    length = target.shape[1]
    transformed = None if model.heads is None else model.heads.transform(states)
    for head in range(model.block_size):
        outputs = states if model.heads is None else model.heads.head(head + 1, states, transformed)
        bias = model.output_bias
        found = best_token(functional.linear(outputs, model.output_weight, bias))
        aims = torch.full_like(target, _BEYOND)
        aims[:, : max(0, length - head)] = target[:, head:]
        aimed = aims != _BEYOND
        yield head, aimed, aimed & (found == aims)


def _padded(rows: Sequence[Sequence[int]], pad_id: int, device: torch.device) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[pad_id] * (longest - len(row))] for row in rows], device=device)
