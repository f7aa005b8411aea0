"""What an iteration of blockwise decoding costs beside the bare forward passes in it, and what that leaves to gain.

One sentence, cached. Proposals are perfect: every block is accepted whole, or, as stated, its first half.
"""

from __future__ import annotations

from functools import partial

from bench.bare_forward import AlreadyStarted, RecordedCalls, replay, started
from bench.findings import Findings
from bench.interleave import interleave
from bench.models import Dimensions, dimensions, sentences, translation_model
from bench.options import Options
from bench.perfect_proposals import PerfectProposals
from bpd.decoding.blockwise import blockwise
from bpd.decoding.greedy import greedy
from bpd.evaluation.timing import WithoutEnd
from bpd.models.translation_model import TranslationModel

BLOCK_SIZES = (1, 2, 4, 6, 8, 10)
SOURCE_LENGTH = 30
LARGEST_LOOP_COST = 1.10


def measure(options: Options) -> Findings:
    """Time decoding loops against their bare forward passes, and greedy against blockwise decoding."""
    findings = Findings()
    names, sizes = (("mini",), (1, 4)) if options.quick else (("mini", "base"), BLOCK_SIZES)
    for name in names:
        tokens = 24 if options.quick else 40 if name == "base" and options.device.type == "cpu" else 60
        shape = dimensions(name)
        base = translation_model(shape, device=options.device)
        for block_size in sizes:
            _measure_block_size(findings, options, shape, base, block_size, tokens)
    return findings


def _measure_block_size(
    findings: Findings, options: Options, shape: Dimensions, base: TranslationModel, block_size: int, tokens: int
) -> None:
    """Add one block size at one shape; outputs have about `tokens` tokens, a whole number of blocks."""
    tokens = -(-tokens // block_size) * block_size
    limits, source = [tokens], sentences(1, SOURCE_LENGTH, shape.vocabulary_size)
    model = translation_model(shape, block_size, options.device)
    half = -(-block_size // 2)
    perfect = PerfectProposals(model, source, tokens)
    halved = perfect.spoiled(half)
    plain = WithoutEnd(base)

    recorded = RecordedCalls(perfect)
    (decoded,) = blockwise(recorded, source, limits)
    block_calls = list(recorded.calls)
    (halved_decoded,) = blockwise(halved, source, limits)
    recorded = RecordedCalls(plain)
    greedy(recorded, source, limits)
    single_calls = list(recorded.calls)
    # The first call reads the begin symbol alone, and the last one less than a block.
    whole_calls = block_calls[1:-1]
    # Encoding is left out: decoders are rewound instead of started, all arms alike.
    bare_base, bare_model = started(base, source), started(model, source)
    replay(bare_model, block_calls)
    arms = {
        "greedy": partial(greedy, AlreadyStarted(plain, source), source, limits),
        "bare_greedy": partial(replay, bare_base, single_calls),
        "blockwise": partial(blockwise, AlreadyStarted(perfect, source), source, limits),
        "bare_blockwise": partial(replay, bare_model, block_calls),
        "bare_blocks": partial(replay, bare_model, whole_calls),
    }
    if block_size > 1:
        arms["blockwise_halved"] = partial(blockwise, AlreadyStarted(halved, source), source, limits)
    estimate = tokens * (0.004 if shape.name == "mini" else 0.1)
    timings = interleave(arms, repeats=options.turns(estimate), device=options.device)

    title = f"{shape.name}, k = {block_size}"
    if block_size == 1:
        cost = timings.ratio("greedy", "bare_greedy")
        findings.add(f"{shape.name}: greedy ÷ its bare forward", cost, at_most=LARGEST_LOOP_COST)
    cost = timings.ratio("blockwise", "bare_blockwise")
    findings.add(f"{title}: iteration ÷ its bare forward", cost, at_most=LARGEST_LOOP_COST)
    # Seconds a call: the bare forward of one token by the base model, of k tokens by the model with k heads.
    limit = timings.ratio("bare_greedy", "bare_blocks") * (len(whole_calls) / len(single_calls))
    findings.add(f"{title}: limit of efficiency, cost(1) ÷ cost(k) of the bare forward", limit)
    accepted = tokens / decoded.iterations
    findings.add(f"{title}: speedup, {accepted:.2g} accepted", timings.ratio("greedy", "blockwise"))
    efficiency = timings.ratio("greedy", "blockwise") / accepted
    findings.add(f"{title}: efficiency, {accepted:.2g} accepted", efficiency, limit=limit.value)
    if block_size > 1:
        accepted_halved = tokens / halved_decoded.iterations
        efficiency = timings.ratio("greedy", "blockwise_halved") / accepted_halved
        findings.add(f"{title}: efficiency, {accepted_halved:.2g} accepted", efficiency, limit=limit.value)
    findings.record(
        dimensions=shape.name,
        block_size=block_size,
        tokens=tokens,
        iterations=decoded.iterations,
        calls=len(block_calls),
        seconds=timings.summary(),
    )
