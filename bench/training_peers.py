"""Training in tokens a second: our base model, heads over a frozen base, and the same model with transformers.

Beside the heads' ratio stands the limit that arithmetic sets: the matrix products' multiplications of the two steps.
"""

from __future__ import annotations

from bench.findings import Findings
from bench.interleave import interleave
from bench.models import Dimensions, RandomBatches, dimensions
from bench.options import Options
from bench.peers import missing_peer
from bench.training_steps import frozen_heads, hugging_face_step, translation_step

LENGTH = 32
LEAST_OVER_TRANSFORMERS, LEAST_SAMPLED = 1.2, 2.0
BLOCK_SIZE = 4
# Tokens a side and micro-batch. At the base dimensions, few: a step takes seconds on a CPU.
TOKENS = {"mini": 1024, "small": 1024, "base": 384}


def measure(options: Options) -> Findings:
    """Time a step of each kind, in turns."""
    findings = Findings()
    for name in ("mini",) if options.quick else ("mini", "small", "base"):
        shape = dimensions(name)
        tokens = 256 if options.quick else TOKENS[name] * (8 if options.device.type == "cuda" else 1)
        batches = RandomBatches(tokens // LENGTH, LENGTH, shape.vocabulary_size)
        arms = {
            "base": translation_step(shape, batches, options.device),
            "frozen_sampled": translation_step(shape, batches, options.device, frozen_heads(BLOCK_SIZE, "sampled")),
            "frozen_mean": translation_step(shape, batches, options.device, frozen_heads(BLOCK_SIZE, "mean")),
        }
        problem = missing_peer("transformers")
        if problem is None:
            arms["transformers"] = hugging_face_step(shape, batches.batch, options.device)
        else:
            findings.skipped.append(f"{name}: {problem}")
        timings = interleave(arms, repeats=3 if options.quick else options.repeats, device=options.device)
        if "transformers" in arms:
            ratio = timings.ratio("transformers", "base")
            findings.add(f"{name}: our base ÷ transformers, tokens/s", ratio, at_least=LEAST_OVER_TRANSFORMERS)
        for loss, least in (("sampled", LEAST_SAMPLED), ("mean", None)):
            ratio = timings.ratio("base", f"frozen_{loss}")
            title = f"{name}: our frozen heads, k = {BLOCK_SIZE}, {loss} ÷ our base, tokens/s"
            limit = base_work(shape) / frozen_work(shape, BLOCK_SIZE, 1 if loss == "sampled" else BLOCK_SIZE)
            findings.add(title, ratio, at_least=least, limit=limit)
        findings.record(
            dimensions=name,
            tokens=tokens,
            tokens_per_second={arm: round(tokens / timings.median(arm), 1) for arm in arms},
            seconds=timings.summary(),
        )
    return findings


def base_work(shape: Dimensions) -> int:
    """Return the multiplications per pair of tokens of a base model's step: forward, and twice as much backward."""
    return 3 * (_forward(shape) + shape.vocabulary_size * shape.transformer.d_model)


def frozen_work(shape: Dimensions, block_size: int, trained: int) -> int:
    """Return those of a step that trains `trained` of k = `block_size` heads (section 6) over a frozen base.

    The base runs forward alone; the hidden layer of size k·d_ff needs no gradient of what it reads, and the shared
    vocabulary projection none of its weights.
    """
    d_model, d_ff = shape.transformer.d_model, shape.transformer.d_ff
    hidden = 2 * d_model * block_size * d_ff
    outputs = 3 * block_size * d_ff * trained * d_model
    return _forward(shape) + hidden + outputs + 2 * trained * shape.vocabulary_size * d_model


def _forward(shape: Dimensions) -> int:
    layers = shape.transformer
    attention, feed_forward = 4 * layers.d_model**2, 2 * layers.d_model * layers.d_ff
    encoder = layers.encoder_layers * (attention + feed_forward)
    return encoder + layers.decoder_layers * (2 * attention + feed_forward)
