"""Our greedy and blockwise decoding against what one would decode with otherwise, in tokens a second.

Same dimensions, same number of source and output tokens, same threads, fp32; random weights on all sides. Blockwise
decoding has perfect proposals: it is what a model would reach whose heads are always right.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from bench.findings import Findings
from bench.interleave import interleave
from bench.models import Dimensions, dimensions, sentences, translation_model
from bench.options import Options
from bench.peers import CTranslate2Greedy, HuggingFaceGreedy, Peer, marian_ids, marian_model, missing_peer
from bench.perfect_proposals import PerfectProposals
from bpd.decoding.blockwise import blockwise
from bpd.decoding.greedy import greedy
from bpd.evaluation.timing import WithoutEnd

BLOCK_SIZE = 8
SOURCE_LENGTH = 30
# Tokens a second, ours ÷ theirs; of a single sentence, other shapes and batches have to be as fast.
LEAST_OVER_TRANSFORMERS = {"small": 2.0, "base": 1.5}
LEAST_OVER_CTRANSLATE2 = 0.6


def measure(options: Options) -> Findings:
    """Time all that is installed, batch by batch."""
    findings = Findings()
    names, batches, tokens = (("mini",), (1, 4), 16) if options.quick else (("small", "base"), (1, 16), 64)
    for name in names:
        shape = dimensions(name)
        peers = _peers(findings, options, shape, tokens)
        for rows in batches:
            _measure_batch(findings, options, shape, rows, tokens, peers)
        if options.device.type == "cuda":
            torch.cuda.empty_cache()
    return findings


def _measure_batch(
    findings: Findings, options: Options, shape: Dimensions, rows: int, tokens: int, peers: dict[str, Peer]
) -> None:
    source = sentences(rows, SOURCE_LENGTH, shape.vocabulary_size)
    limits = [tokens] * rows
    base = WithoutEnd(translation_model(shape, device=options.device))
    perfect = PerfectProposals(translation_model(shape, BLOCK_SIZE, options.device), source, tokens)
    arms: dict[str, Callable[[], object]] = {
        "greedy": partial(greedy, base, source, limits),
        "blockwise": partial(blockwise, perfect, source, limits),
    }
    title = f"{shape.name}, batch {rows}"
    arms |= {name: partial(peer, marian_ids(source, shape), tokens) for name, peer in peers.items()}
    for name in peers:
        lengths = {len(row) for row in arms[name]()}
        if lengths != {tokens}:
            raise RuntimeError(f"{name} emitted {sorted(lengths)} tokens a sentence instead of {tokens}")
    timings = interleave(arms, repeats=options.turns(0.01 * tokens * rows**0.5), device=options.device)

    # A ratio of tokens a second is the inverse ratio of seconds: all arms emit the same number of tokens.
    alone = rows == 1
    if "transformers" in arms:
        least = LEAST_OVER_TRANSFORMERS.get(shape.name, 1.0) if alone else 1.0
        findings.add(f"{title}: our greedy ÷ transformers", timings.ratio("transformers", "greedy"), at_least=least)
        name = f"{title}: our blockwise, k = {BLOCK_SIZE}, perfect proposals ÷ transformers"
        findings.add(name, timings.ratio("transformers", "blockwise"))
    if "ctranslate2" in arms:
        least = LEAST_OVER_CTRANSLATE2 if alone else None
        findings.add(f"{title}: our greedy ÷ CTranslate2", timings.ratio("ctranslate2", "greedy"), at_least=least)
        name = f"{title}: our blockwise, k = {BLOCK_SIZE}, perfect proposals ÷ CTranslate2 greedy"
        least = 1.0 if alone else None
        findings.add(name, timings.ratio("ctranslate2", "blockwise"), at_least=least)
    findings.add(f"{title}: our blockwise ÷ our greedy", timings.ratio("greedy", "blockwise"))
    findings.record(
        dimensions=shape.name,
        batch=rows,
        tokens=tokens,
        tokens_per_second={arm: round(rows * tokens / timings.median(arm), 1) for arm in arms},
        seconds=timings.summary(),
    )


def _peers(findings: Findings, options: Options, shape: Dimensions, tokens: int) -> dict[str, Peer]:
    """Return the peers that are installed and can compute here; note the others as skipped."""
    problem = missing_peer("transformers")
    if problem is not None:
        findings.skipped.append(f"{shape.name}: {problem}")
        return {}
    model = marian_model(shape, 2 * max(tokens, SOURCE_LENGTH), options.device)
    peers: dict[str, Peer] = {"transformers": HuggingFaceGreedy(model)}
    problem = missing_peer("ctranslate2")
    if problem is None:
        try:
            peer = CTranslate2Greedy(model)
            peer(marian_ids(sentences(1, SOURCE_LENGTH, shape.vocabulary_size), shape), 1)
            peers["ctranslate2"] = peer
        except RuntimeError as error:
            # A card of a kind, or CUDA libraries of a version, that its build does not know.
            problem = f"CTranslate2 cannot compute here: {str(error).splitlines()[0]}"
    if problem is not None:
        findings.skipped.append(f"{shape.name}: {problem}")
    return peers
