"""One stage of a run at the paper's dimensions, in a process of its own, which tells its largest memory.

    python -m bench.memory_stages fine_tuning_mean --dimensions base --tokens 1024

prints a JSON line. `nothing` only imports what the stages do.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import torch

from bench.models import (
    Dimensions,
    RandomBatches,
    RandomImages,
    dimensions,
    head_spec,
    image_config,
    sentences,
    translation_model,
)
from bench.resident_memory import peak_bytes
from bench.training_steps import Step, frozen_heads, image_step, translation_step
from bpd.decoding.beam import beam
from bpd.decoding.blockwise import blockwise
from bpd.decoding.greedy import greedy
from bpd.device import prepare_device
from bpd.evaluation.timing import WithoutEnd

BLOCK_SIZE = 10
BEAM_SIZE, LENGTH_PENALTY = 4, 0.6
LENGTH = 32
DECODED_TOKENS = 32
DECODED_ROWS = 16


def _train(shape: Dimensions, tokens: int, heads=None) -> Step:
    return translation_step(shape, RandomBatches(tokens // LENGTH, LENGTH, shape.vocabulary_size), heads=heads)


def _images(shape: Dimensions, tokens: int, heads=None) -> Step:
    config = image_config("paper" if shape.name == "base" else "mini")
    # An image is 3,072 tokens: with fewer asked for, it is one image all the same.
    rows = max(1, tokens // 3072)
    return image_step(config, 32, RandomImages(rows, (8, 32)), heads=heads)


def _decode(shape: Dimensions, kind: str) -> Step:
    model = translation_model(shape, BLOCK_SIZE if kind == "blockwise" else None)
    source = sentences(DECODED_ROWS, LENGTH, shape.vocabulary_size)
    limits = [DECODED_TOKENS] * DECODED_ROWS
    endless = WithoutEnd(model)
    if kind == "beam":
        return lambda: beam(model, source, limits, beam_size=BEAM_SIZE, length_penalty=LENGTH_PENALTY)
    return lambda: (blockwise if kind == "blockwise" else greedy)(endless, source, limits)


def _fine_tuning(head_loss: str):
    return head_spec(BLOCK_SIZE, frozen=False, head_loss=head_loss)


# Each returns what takes one step, for dimensions and tokens a micro-batch.
STAGES: dict[str, Callable[[Dimensions, int], Step]] = {
    "nothing": lambda shape, tokens: lambda: None,
    "base": _train,
    "frozen_sampled": lambda shape, tokens: _train(shape, tokens, frozen_heads(BLOCK_SIZE, "sampled")),
    "frozen_mean": lambda shape, tokens: _train(shape, tokens, frozen_heads(BLOCK_SIZE, "mean")),
    "fine_tuning_sampled": lambda shape, tokens: _train(shape, tokens, _fine_tuning("sampled")),
    "fine_tuning_mean": lambda shape, tokens: _train(shape, tokens, _fine_tuning("mean")),
    "greedy": lambda shape, tokens: _decode(shape, "greedy"),
    "blockwise": lambda shape, tokens: _decode(shape, "blockwise"),
    "beam": lambda shape, tokens: _decode(shape, "beam"),
    "image_base": _images,
    "image_fine_tuning": lambda shape, tokens: _images(shape, tokens, _fine_tuning("sampled_per_position")),
}


def main() -> None:
    """Take the steps of one stage and print what they took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("--dimensions", default="base", help="mini, small or base")
    parser.add_argument("--tokens", type=int, default=1024, help="tokens a side and micro-batch")
    parser.add_argument("--steps", type=int, default=2)
    options = parser.parse_args()
    prepare_device("cpu")
    step = STAGES[options.stage](dimensions(options.dimensions), options.tokens)
    built = peak_bytes()
    start = time.perf_counter()
    for _ in range(options.steps):
        step()
    measured = {
        "stage": options.stage,
        "dimensions": options.dimensions,
        "tokens": options.tokens,
        "steps": options.steps,
        "seconds": round(time.perf_counter() - start, 2),
        "threads": torch.get_num_threads(),
        "built_bytes": built,
        "peak_bytes": peak_bytes(),
    }
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
