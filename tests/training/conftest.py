"""A tiny training run to vary: the counting task, whose targets a small model can learn by heart."""

from pathlib import Path

import numpy as np
import pytest

from bpd.config import TrainSettings, validate_section
from bpd.data.encoded import EncodedPairs

TRAINING = {
    "steps": 30,
    "micro_batch_tokens": 60,
    "micro_batches": 2,
    "label_smoothing": 0.1,
    "adam": {"beta1": 0.9, "beta2": 0.98, "epsilon": 1e-9},
    "schedule": {"kind": "linear", "peak": 0.01, "warmup_steps": 5},
    "precision": "fp32",
    "log_every": 1,
    "checkpoint_every": 13,
    "evaluate_every": 1000,
    "evaluate_sentences": 5,
}
TRANSFORMER = {
    "d_model": 16,
    "d_ff": 32,
    "attention_heads": 2,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "residual_dropout": 0.1,
    "attention_dropout": 0.0,
    "relu_dropout": 0.1,
}
VOCABULARY_SIZE = 24


def make_settings(heads: dict | None = None, **training) -> TrainSettings:
    values = {
        "task": "translation",
        "model": "base" if heads is None else f"fine_tuning_k{heads['block_size']}",
        "seed": 5,
        "corpus": "gold",
        "transformer": TRANSFORMER,
        "training": TRAINING | training,
        "heads": heads,
    }
    return validate_section(TrainSettings, values, "test")


@pytest.fixture
def counting_pairs(tmp_path: Path) -> EncodedPairs:
    """Source: one number n; target: the n numbers 1 … n, each a token of its own."""
    numbers = [2 + index % 17 for index in range(68)]
    folder = tmp_path / "pairs"
    EncodedPairs.write(
        folder, [np.array([4 + n]) for n in numbers], [np.arange(5, 5 + n) for n in numbers], {"corpus": "counting"}
    )
    return EncodedPairs.open(folder)
