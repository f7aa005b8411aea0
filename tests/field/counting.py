"""The counting corpus: the source is one number n, the target the numbers 1 … n, each a token of its own.

All is predictable, so that a tiny model learns it, every proposal can be right, and counts can be worked out by hand.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import torch

from bpd.commands.training_run import Inputs, run_training
from bpd.config import TrainSettings
from bpd.data.batches import TokenBatches
from bpd.data.encoded import EncodedPairs
from bpd.models.model_folder import build_model, load_translation_model
from bpd.models.translation_model import TranslationModel
from bpd.training.loop import Evaluate, Evaluation
from tests.training.conftest import make_settings

END, FIRST = 2, 4
LARGEST = 60
VOCABULARY_SIZE = FIRST + LARGEST + 1


def source_of(number: int) -> list[int]:
    """Return the source of `number`, as a model reads it."""
    return [FIRST + number, END]


def target_of(number: int) -> list[int]:
    """Return the tokens that a perfect model emits for `number`."""
    return [*range(FIRST + 1, FIRST + 1 + number), END]


def write_pairs(folder: Path, numbers: Sequence[int]) -> EncodedPairs:
    """Write one pair a number, without end symbols as encoded pairs are, and open them."""
    EncodedPairs.write(
        folder, [np.array([FIRST + n]) for n in numbers], [np.array(target_of(n)[:-1]) for n in numbers], {}
    )
    return EncodedPairs.open(folder)


def heads_of(block_size: int, **changes: object) -> dict:
    """Return fine-tuned heads, with some of their values changed."""
    values = {"first_head": "learned", "frozen": False, "base_dropout": True, "head_loss": "mean"}
    return {"block_size": block_size} | values | changes


def settings_for(heads: dict | None = None, *, width: int = 16, dropout: float = 0.0, **training) -> TrainSettings:
    """Return the settings of a tiny model of `width`, with those of its training changed."""
    settings = make_settings(heads, **training)
    changes = {"d_model": width, "d_ff": 2 * width, "residual_dropout": dropout, "relu_dropout": dropout}
    return settings.model_copy(update={"transformer": settings.transformer.model_copy(update=changes)})


def no_scores(model: TranslationModel) -> Evaluation:
    """Evaluate nothing."""
    return Evaluation({"dev_bleu": 0.0})


def train(
    pairs: EncodedPairs,
    settings: TrainSettings,
    folder: Path,
    *,
    base: Path | None = None,
    evaluate: Evaluate = no_scores,
) -> TranslationModel:
    """Train as `bpd train` does, on `pairs`: the model in `folder`/model, checkpoints in `folder`/work."""
    torch.manual_seed(settings.seed)
    run_training(
        build_model(settings, VOCABULARY_SIZE),
        settings,
        Inputs({"data": pairs.sha256}, {}, VOCABULARY_SIZE),
        lambda position: TokenBatches(pairs, settings.training.micro_batch_tokens, settings.seed, position),
        evaluate,
        base=base,
        output=folder / "model",
        work=folder / "work",
    )
    return load_translation_model(folder / "model").model


@cache
def half_trained(block_size: int = 10) -> TranslationModel:
    """Return a model stopped long before it has learned to count, so that proposals are often rejected."""
    with tempfile.TemporaryDirectory() as name:
        pairs = write_pairs(Path(name) / "pairs", [2 + index % (LARGEST - 1) for index in range(200)])
        schedule = {"kind": "linear", "peak": 0.01, "warmup_steps": 10}
        training = {"micro_batch_tokens": 600, "micro_batches": 1, "schedule": schedule, "log_every": 100}
        settings = settings_for(heads_of(block_size), steps=60, label_smoothing=0.0, checkpoint_every=100, **training)
        return train(pairs, settings, Path(name))
