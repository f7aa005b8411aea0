"""The most memory that each stage takes at a model's full dimensions: a fresh process a stage, a few steps each."""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from bench.random_models import DIMENSIONS, random_model, sentences
from bench.training_speed import our_step
from bpd.config import HeadSpec
from bpd.decoding.beam import beam
from bpd.decoding.blockwise import blockwise
from bpd.decoding.greedy import greedy

HEADS = 10
# Target tokens of a training step here, and sentences decoded at once.
TOKENS, LENGTH, ROWS = 1024, 32, 16


def train(size: str, heads: int, frozen: bool, head_loss: str) -> None:
    """Take two optimizer steps."""
    chance = np.random.default_rng(3)
    shape = (TOKENS // LENGTH, LENGTH)
    source, target = (chance.integers(3, DIMENSIONS[size].vocabulary - 1, shape) for _ in range(2))
    spec = None
    if heads:
        spec = HeadSpec(block_size=heads, first_head="learned", frozen=frozen, base_dropout=False, head_loss=head_loss)
    step = our_step(random_model(size, heads, dropout=0.1), source, target, spec)
    step()
    step()


def decode(size: str, heads: int, how: Callable[..., Any]) -> None:
    """Decode a batch of sentences."""
    how(random_model(size, heads), sentences(size, ROWS), [LENGTH] * ROWS)


STAGES: dict[str, Callable[[str], None]] = {
    "start": lambda size: None,
    "train base": lambda size: train(size, 0, False, "mean"),
    "train heads, frozen, k = 10, one drawn": lambda size: train(size, HEADS, True, "sampled"),
    "train heads, frozen, k = 10, mean": lambda size: train(size, HEADS, True, "mean"),
    "fine-tune, k = 10, one drawn": lambda size: train(size, HEADS, False, "sampled"),
    "fine-tune, k = 10, mean": lambda size: train(size, HEADS, False, "mean"),
    "decode greedily": lambda size: decode(size, 0, greedy),
    "decode blockwise, k = 10": lambda size: decode(size, HEADS, blockwise),
    "distil, beam 4": lambda size: decode(size, 0, lambda *words: beam(*words, beam_size=4, length_penalty=0.6)),
}


def memory(quick: bool) -> list[dict[str, Any]]:
    """Run every stage in a process of its own; return a row for each, its largest resident memory in GB."""
    size = "mini" if quick else "base"
    rows = []
    for stage in STAGES:
        command = [sys.executable, "-m", "bench.memory", "--size", size, "--stage", stage]
        made = subprocess.run(command, check=True, capture_output=True, text=True)
        rows.append({"size": size, "stage": stage, "gigabytes": json.loads(made.stdout)})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=list(DIMENSIONS), default="base")
    parser.add_argument("--stage", choices=list(STAGES), required=True)
    words = parser.parse_args()
    torch.set_num_threads(1)
    STAGES[words.stage](words.size)
    # Kilobytes, but on macOS, which counts bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9)


if __name__ == "__main__":
    main()
