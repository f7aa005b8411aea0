"""Blockwise decoding against our own greedy decoding: what an iteration costs, and what is left of a block's gain."""

from __future__ import annotations

from typing import Any

import torch

from bench.arms import measure, ratio
from bench.perfect_proposals import PerfectProposals
from bench.random_models import random_model, sentences
from bpd.decoding.blockwise import blockwise
from bpd.decoding.greedy import greedy
from bpd.models.translation_model import TranslationModel

BLOCK_SIZES = (1, 2, 4, 6, 8, 10)
SIZES = ("mini", "small", "base")
TOKENS = 60
MOST_ITERATION_COST = 1.10


def blockwise_costs(quick: bool) -> list[dict[str, Any]]:
    """Measure a batch of one, cached, at every k; return a row for each size and k.

    `iteration_cost` is the time of blockwise decoding with perfect proposals ÷ that of bare forward passes over the
    same blocks (the decoder over k tokens, p₁'s logits at each, all heads' at one), the encoder in both. `limit` is the
    time of the base model's bare passes over single tokens ÷ that of the bare passes over blocks: no decoding can gain
    more by full blocks here. `speedup` is what full blocks gave over greedy decoding, `efficiency` that ÷ block size.
    """
    rows = []
    for size in ("mini",) if quick else SIZES:
        for block_size in (1, 4) if quick else BLOCK_SIZES:
            rows.append(_row(size, block_size, rounds=3 if quick else 9))
    return rows


def _row(size: str, block_size: int, rounds: int) -> dict[str, Any]:
    base, model = random_model(size), random_model(size, block_size)
    source = sentences(size, 1)
    (known,) = greedy(model, source, [TOKENS])
    told = PerfectProposals(model, [known.token_ids])
    (decoded,) = blockwise(told, source, [TOKENS])
    arms = {
        "blockwise": lambda: blockwise(told, source, [TOKENS]),
        "bare": lambda: bare_passes(model, source, known.token_ids, block_size),
        "greedy": lambda: greedy(base, source, [TOKENS]),
        "bare_greedy": lambda: bare_passes(base, source, known.token_ids, 1),
    }
    measured = measure(arms, rounds)
    block = TOKENS / decoded.iterations
    speedup = ratio(measured, "greedy", "blockwise")
    return {
        "size": size,
        "k": block_size,
        "block_size": block,
        "iteration_cost": ratio(measured, "blockwise", "bare"),
        "iteration_cost_target": MOST_ITERATION_COST,
        "limit": ratio(measured, "bare_greedy", "bare"),
        "speedup": speedup,
        "efficiency": speedup / block,
        "seconds": {name: one.as_json() for name, one in measured.items()},
    }


@torch.inference_mode()
def bare_passes(model: TranslationModel, source: list[list[int]], known: list[int], block_size: int) -> None:
    """Run the decoder over `known` in blocks: nothing is compared, nothing leaves the device."""
    decoder = model.start(source)
    decoder_input = torch.tensor([[model.begin_id, *known[:-1]]], device=model.device)
    scores = decoder.advance(decoder_input[:, :1])
    last = torch.zeros(1, dtype=torch.int64, device=model.device)
    scores.proposing(last)
    for first in range(1, decoder_input.shape[1], block_size):
        block = decoder_input[:, first : first + block_size]
        scores = decoder.advance(block)
        scores.scoring()
        if block_size > 1:
            scores.proposing(last + block.shape[1] - 1)
