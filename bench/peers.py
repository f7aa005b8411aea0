"""Our greedy and blockwise decoding against what one would pick instead, of the same dimensions."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from bench.arms import measure, ratio
from bench.marian import ctranslate2_decoder, generate, marian
from bench.perfect_proposals import PerfectProposals
from bench.random_models import DEVICE, random_model, sentences
from bpd.decoding.blockwise import blockwise
from bpd.decoding.greedy import greedy

TOKENS = 64
BLOCK_SIZE = 8
BATCHES = (1, 16)
LEAST_OVER_TRANSFORMERS = {("base", 1): 1.5, ("small", 1): 2.0, ("base", 16): 1.0, ("small", 16): 1.0}
LEAST_OVER_CTRANSLATE2 = 0.6


def peers(quick: bool) -> list[dict[str, Any]]:
    """Measure decoding of as many tokens from the same sentences; return a row for each size and batch.

    Ratios are tokens per second, ours ÷ theirs: of greedy decoding, and of blockwise decoding with k = 8 and perfect
    proposals against CTranslate2's greedy decoding. All compute in fp32 on as many threads.
    """
    rows = []
    for size in ("small",) if quick else ("small", "base"):
        theirs = marian(size).to(DEVICE)
        with tempfile.TemporaryDirectory() as folder:
            converted = ctranslate2_decoder(theirs, Path(folder), DEVICE.type)
            for batch in (1,) if quick else BATCHES:
                rows.append(_row(size, batch, theirs, converted, rounds=3 if quick else 5))
    return rows


def _row(size: str, batch: int, theirs: Any, converted: Any, rounds: int) -> dict[str, Any]:
    base, model = random_model(size), random_model(size, BLOCK_SIZE)
    source = sentences(size, batch)
    # Their end symbol has the id 0.
    their_source = [[*row[:-1], 0] for row in source]
    limits = [TOKENS] * batch
    known = [decoded.token_ids for decoded in greedy(model, source, limits)]
    told = PerfectProposals(model, known)
    measured = measure(
        {
            "greedy": lambda: greedy(base, source, limits),
            "blockwise": lambda: blockwise(told, source, limits),
            "transformers": lambda: generate(theirs, their_source, TOKENS),
            "ctranslate2": lambda: converted(their_source, TOKENS),
        },
        rounds,
    )
    return {
        "size": size,
        "batch": batch,
        "tokens": TOKENS,
        "greedy_over_transformers": ratio(measured, "transformers", "greedy"),
        "greedy_over_transformers_target": LEAST_OVER_TRANSFORMERS[size, batch],
        "greedy_over_ctranslate2": ratio(measured, "ctranslate2", "greedy"),
        "greedy_over_ctranslate2_target": LEAST_OVER_CTRANSLATE2 if batch == 1 else None,
        "blockwise_over_ctranslate2": ratio(measured, "ctranslate2", "blockwise"),
        "blockwise_over_ctranslate2_target": 1.0 if batch == 1 else None,
        "seconds": {name: one.as_json() for name, one in measured.items()},
    }
