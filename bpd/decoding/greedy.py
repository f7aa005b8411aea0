"""Greedy decoding: the argmax of p₁, one token a model call."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from bpd.decoding.acceptance import best_token
from bpd.decoding.protocol import DecodableModel, require_limits
from bpd.decoding.results import Decoded


@torch.inference_mode()
def greedy(
    model: DecodableModel, inputs: Sequence[Sequence[int]], max_lengths: Sequence[int], *, cached: bool = True
) -> list[Decoded]:
    """Decode each of `inputs` greedily, to at most `max_lengths` tokens (end symbol included).

    Every token is a block of its own. `cached` false runs the whole prefix through the model at every step. Raises
    `BpdError` where a length limit is missing or leaves no room for a token.
    """
    require_limits(inputs, max_lengths)
    if not inputs:
        return []
    decoder = model.start(inputs, cached=cached)
    outputs: list[list[int]] = [[] for _ in inputs]
    live = list(range(len(inputs)))
    tokens = torch.full((len(inputs), 1), model.begin_id, device=model.device)
    while live:
        tokens = best_token(decoder.advance(tokens).scoring())
        # The one transfer to the host of each step.
        for row, (token,) in zip(live, tokens.tolist(), strict=True):
            outputs[row].append(token)
        kept = [
            place
            for place, row in enumerate(live)
            if outputs[row][-1] != model.end_id and len(outputs[row]) < max_lengths[row]
        ]
        if 0 < len(kept) < len(live):
            tokens = tokens[kept]
            decoder.select(kept)
        live = [live[place] for place in kept]
    return [
        Decoded(output, [1] * len(output), len(output), "end" if output[-1] == model.end_id else "length")
        for output in outputs
    ]
