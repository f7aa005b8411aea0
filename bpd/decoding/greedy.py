"""Greedy decoding: the argmax of p₁, one token a model call."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from bpd.decoding.acceptance import best_token
from bpd.decoding.protocol import DecodableModel
from bpd.decoding.results import Decoded


@torch.inference_mode()
def greedy(
    model: DecodableModel, inputs: Sequence[Sequence[int]], max_lengths: Sequence[int], *, cached: bool = True
) -> list[Decoded]:
    """Decode each of `inputs` greedily, to at most `max_lengths` tokens (end symbol included).

    Every token is a block of its own. `cached` false runs the whole prefix through the model at every step.
    """
    decoder = model.start(inputs, cached=cached)
    outputs: list[list[int]] = [[] for _ in inputs]
    live = list(range(len(inputs)))
    tokens = [[model.begin_id] for _ in live]
    while live:
        scores = decoder.advance(torch.tensor(tokens, device=model.device)).scoring()
        chosen = best_token(scores[:, -1]).tolist()
        for row, token in zip(live, chosen, strict=True):
            outputs[row].append(token)
        kept = [
            place
            for place, (row, token) in enumerate(zip(live, chosen, strict=True))
            if token != model.end_id and len(outputs[row]) < max_lengths[row]
        ]
        if len(kept) < len(live):
            live = [live[place] for place in kept]
            if live:
                decoder.select(kept)
        tokens = [[chosen[place]] for place in kept]
    return [
        Decoded(output, [1] * len(output), len(output), "end" if output[-1] == model.end_id else "length")
        for output in outputs
    ]
