"""Training tokens per second: ours against a plain Hugging Face step, frozen heads against our own base."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from bench.arms import measure, ratio
from bench.marian import marian, missing_peers
from bench.random_models import DEVICE, DIMENSIONS, random_model
from bpd.config import HeadSpec
from bpd.models.translation_model import TranslationModel
from bpd.training.head_loss import head_losses, plan_step

DROPOUT, SMOOTHING = 0.1, 0.1
HEADS = 4
LEAST_OVER_TRANSFORMERS, LEAST_FROZEN = 1.2, 2.0
# Sentence pairs of so many tokens on each side make a batch.
LENGTH = 32
ROWS = {"mini": 32, "small": 32, "base": 16}


def training_speed(quick: bool) -> list[dict[str, Any]]:
    """Measure whole optimizer steps on one batch; return a row for each size.

    Ratios are target tokens per second: our base ÷ Marian, in the same precision, on the same batch and with the same
    dropout and label smoothing; and heads over a frozen base (k = 4, one drawn a step, as in the paper) ÷ our base.
    """
    return [_row(size, rounds=3 if quick else 5) for size in (("mini",) if quick else ("mini", "small", "base"))]


def _row(size: str, rounds: int) -> dict[str, Any]:
    vocabulary = DIMENSIONS[size].vocabulary
    chance = np.random.default_rng(3)
    source, target = (chance.integers(3, vocabulary - 1, (ROWS[size], LENGTH)) for _ in range(2))
    heads = HeadSpec(block_size=HEADS, first_head="learned", frozen=True, base_dropout=False, head_loss="sampled")
    arms = {
        "base": our_step(random_model(size, dropout=DROPOUT), source, target),
        "frozen": our_step(random_model(size, HEADS, dropout=DROPOUT), source, target, heads),
    }
    if not missing_peers():
        arms["transformers"] = their_step(size, source, target)
    measured = measure(arms, rounds)
    row: dict[str, Any] = {
        "size": size,
        "batch_tokens": int(target.size),
        "frozen_over_base": ratio(measured, "base", "frozen"),
        "frozen_over_base_target": LEAST_FROZEN,
        "seconds": {name: one.as_json() for name, one in measured.items()},
    }
    if "transformers" in arms:
        row["base_over_transformers"] = ratio(measured, "transformers", "base")
        row["base_over_transformers_target"] = LEAST_OVER_TRANSFORMERS
    return row


def our_step(
    model: TranslationModel, source: np.ndarray, target: np.ndarray, spec: HeadSpec | None = None
) -> Callable[[], None]:
    """Return one optimizer step of `model`, whose heads are `spec`, on [rows, length] ids, as the loop takes it."""
    frozen = spec is not None and spec.frozen
    model.train()
    if frozen:
        model.transformer.requires_grad_(False)
        model.transformer.eval()
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(parameters, lr=1e-4, fused=True)
    sources, targets = (torch.from_numpy(part).to(DEVICE) for part in (source, target))
    step = iter(range(1, 10**6))

    def take() -> None:
        plan = plan_step(spec, 1, next(step), [target], model.pad_id)
        optimizer.zero_grad(set_to_none=True)
        with torch.set_grad_enabled(not frozen):
            states = model.training_states(sources, targets)
        result = head_losses(model, states, targets, plan, 0, SMOOTHING)
        result.loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, float("inf"))
        optimizer.step()

    return take


def their_step(size: str, source: np.ndarray, target: np.ndarray) -> Callable[[], None]:
    """Return one plain optimizer step of the Marian model of the same dimensions."""
    model = marian(size, DROPOUT).to(DEVICE).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    sources, targets = (torch.from_numpy(part).to(DEVICE) for part in (source, target))
    starts = torch.full_like(targets[:, :1], model.config.decoder_start_token_id)
    decoder_input = torch.cat([starts, targets[:, :-1]], dim=1)

    def take() -> None:
        optimizer.zero_grad(set_to_none=True)
        logits = model(input_ids=sources, decoder_input_ids=decoder_input).logits
        loss = functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), label_smoothing=SMOOTHING)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), float("inf"))
        optimizer.step()

    return take
