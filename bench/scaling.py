"""How time grows: decoding with length, batch and k, image decoding with the image, training with the batch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

from bench.findings import Findings
from bench.interleave import Timings, interleave
from bench.models import RandomBatches, dimensions, image_config, image_model, sentences, translation_model
from bench.options import Options
from bench.perfect_proposals import PerfectProposals
from bench.training_steps import translation_step
from bpd.decoding.blockwise import blockwise
from bpd.decoding.greedy import greedy
from bpd.evaluation.timing import WithoutEnd

BLOCK_SIZE = 8
SOURCE_LENGTH = 30
TRAINING_LENGTH = 32


def measure(options: Options) -> Findings:
    """Time each growth over its range; the sizes take turns."""
    findings = Findings()
    _lengths(findings, options)
    _batches(findings, options)
    _block_sizes(findings, options)
    _images(findings, options)
    _training(findings, options)
    return findings


def growth(sizes: Mapping[int, float]) -> float:
    """Return the exponent with which time grows: the slope of log seconds over log size, by least squares.

    1 is in proportion, 0 is not at all. `sizes` gives seconds by size, two sizes at least.
    """
    points = [(math.log(size), math.log(seconds)) for size, seconds in sizes.items()]
    middle = [sum(values) / len(points) for values in zip(*points)]
    rise = sum((size - middle[0]) * (seconds - middle[1]) for size, seconds in points)
    return rise / sum((size - middle[0]) ** 2 for size, _ in points)


def _shape(options: Options):
    return dimensions("mini" if options.quick else "small")


def _lengths(findings: Findings, options: Options) -> None:
    shape = _shape(options)
    lengths = (8, 16, 32) if options.quick else (16, 32, 64, 128, 256)
    source = sentences(1, SOURCE_LENGTH, shape.vocabulary_size)
    base = WithoutEnd(translation_model(shape, device=options.device))
    perfect = PerfectProposals(translation_model(shape, BLOCK_SIZE, options.device), source, lengths[-1])
    arms = {f"greedy {length}": partial(greedy, base, source, [length]) for length in lengths}
    arms |= {f"blockwise {length}": partial(blockwise, perfect, source, [length]) for length in lengths}
    timings = interleave(arms, repeats=_turns(options), device=options.device)
    for arm in ("greedy", "blockwise"):
        _note(findings, timings, f"{arm}, length", {length: f"{arm} {length}" for length in lengths}, at_most=1.1)


def _batches(findings: Findings, options: Options) -> None:
    shape, tokens = _shape(options), 8 if options.quick else 32
    batches = (1, 4) if options.quick else (1, 4, 16, 64)
    source = sentences(batches[-1], SOURCE_LENGTH, shape.vocabulary_size)
    base = WithoutEnd(translation_model(shape, device=options.device))
    perfect = PerfectProposals(translation_model(shape, BLOCK_SIZE, options.device), source, tokens)
    arms = {f"greedy {rows}": partial(greedy, base, source[:rows], [tokens] * rows) for rows in batches}
    first = {rows: perfect.first(rows) for rows in batches}
    arms |= {f"blockwise {rows}": partial(blockwise, first[rows], source[:rows], [tokens] * rows) for rows in batches}
    timings = interleave(arms, repeats=_turns(options), device=options.device)
    for arm in ("greedy", "blockwise"):
        _note(findings, timings, f"{arm}, batch", {rows: f"{arm} {rows}" for rows in batches}, at_most=1.0)
    for rows in batches:
        ratio = timings.ratio(f"greedy {rows}", f"blockwise {rows}")
        findings.add(f"batch {rows}: speedup, perfect proposals, k = {BLOCK_SIZE}", ratio)


def _block_sizes(findings: Findings, options: Options) -> None:
    shape = _shape(options)
    sizes = (2, 4) if options.quick else (1, 2, 4, 6, 8, 10)
    tokens = 24 if options.quick else 120
    source = sentences(1, SOURCE_LENGTH, shape.vocabulary_size)
    models = {
        k: PerfectProposals(translation_model(shape, k, options.device), source, tokens).spoiled(1) for k in sizes
    }
    arms = {str(k): partial(blockwise, model, source, [tokens]) for k, model in models.items()}
    timings = interleave(arms, repeats=_turns(options), device=options.device)
    # One token is accepted at each iteration, whatever k: what grows is the cost of an iteration.
    _note(findings, timings, "cost of an iteration, k", {k: str(k) for k in sizes}, at_most=1.0)


def _images(findings: Findings, options: Options) -> None:
    config = image_config("mini")
    sizes = (8 * 2,) if options.quick else (16, 24, 32)
    part = 16 if options.quick else 1
    arms = {}
    source = [[128] * (8 * 8 * 3)]
    for size in sizes:
        tokens = size * size * 3 // part
        base = WithoutEnd(image_model(config, size, device=options.device))
        perfect = PerfectProposals(image_model(config, size, BLOCK_SIZE, options.device), source, tokens)
        arms[f"greedy {size}"] = partial(greedy, base, source, [tokens])
        arms[f"blockwise {size}"] = partial(blockwise, perfect, source, [tokens])
    timings = interleave(arms, repeats=_turns(options, few=True), warm_ups=0, device=options.device)
    for arm in ("greedy", "blockwise"):
        if len(sizes) > 1:
            # Pixels a side: time in proportion to the tokens grows with exponent 2.
            _note(findings, timings, f"image {arm}, side", {size: f"{arm} {size}" for size in sizes}, at_most=2.2)
    for size in sizes:
        ratio = timings.ratio(f"greedy {size}", f"blockwise {size}")
        findings.add(f"image {size}: speedup, perfect proposals, k = {BLOCK_SIZE}", ratio)


def _training(findings: Findings, options: Options) -> None:
    shape = dimensions("mini")
    sizes = (128, 256) if options.quick else (256, 512, 1024, 2048, 4096)
    arms = {}
    for tokens in sizes:
        batches = RandomBatches(tokens // TRAINING_LENGTH, TRAINING_LENGTH, shape.vocabulary_size)
        arms[str(tokens)] = translation_step(shape, batches, options.device)
    timings = interleave(arms, repeats=_turns(options), device=options.device)
    _note(findings, timings, "training, tokens a batch", {tokens: str(tokens) for tokens in sizes}, at_most=1.1)


def _turns(options: Options, few: bool = False) -> int:
    return 1 if options.quick else 3 if few else options.repeats


def _note(findings: Findings, timings: Timings, name: str, arms: dict[int, str], *, at_most: float) -> None:
    """Note how time grows over `arms`, by size, and the seconds behind it; the exponent is to be `at_most` that."""
    seconds = {size: timings.median(arm) for size, arm in arms.items()}
    findings.add(f"{name}: exponent of growth", growth(seconds), at_most=at_most)
    findings.record(growth=name, seconds={str(size): round(value, 6) for size, value in seconds.items()})
