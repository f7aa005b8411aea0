"""The loss of the k heads (section 6): one of them drawn a step, or the mean of all."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bpd.config import HeadSpec
from bpd.models.translation_model import PAD_ID, TranslationModel
from bpd.training.output_loss import output_loss


@dataclass(frozen=True)
class HeadLosses:
    """What one micro-batch adds to a step: the loss to differentiate, and the sum of token losses of each head."""

    loss: Tensor
    sums: Tensor


def trained_heads(spec: HeadSpec | None) -> tuple[int, ...]:
    """Return the heads, counted from 1, that have something to learn.

    An identity first head over a frozen base has not: it is the base model's own output.
    """
    if spec is None:
        return (1,)
    first = 2 if spec.frozen and spec.first_head == "identity" else 1
    return tuple(range(first, spec.block_size + 1))


def heads_of_step(spec: HeadSpec | None, seed: int, step: int) -> tuple[int, ...]:
    """Return the heads whose losses step `step` averages.

    A drawn head depends on seed and step alone, so that every process of a run draws the same, resumed or not.
    """
    heads = trained_heads(spec)
    if spec is None or spec.head_loss == "mean":
        return heads
    return (random.Random(f"head of step {step}, seed {seed}").choice(heads),)


def head_targets(target: Tensor, head: int) -> Tensor:
    """Return the targets [batch, length] of `head`: at position j the token j + head, padding past the end."""
    shifted = torch.full_like(target, PAD_ID)
    kept = target.shape[1] - (head - 1)
    if kept > 0:
        shifted[:, :kept] = target[:, head - 1 :]
    return shifted


def count_targets(target: np.ndarray, heads: tuple[int, ...]) -> list[int]:
    """Return how many real targets each head has in `target` [batch, length], whose padding is on the right."""
    return [int(np.count_nonzero(target[:, head - 1 :] != PAD_ID)) for head in heads]


def head_losses(
    model: TranslationModel,
    states: Tensor,
    target: Tensor,
    heads: tuple[int, ...],
    step_counts: list[int],
    smoothing: float,
) -> HeadLosses:
    """Return the losses of `heads` for the decoder's output `states` [batch, length, d_model].

    `step_counts` are the real targets of each head in the whole step: a head's loss is a mean over them, and the
    heads that have any count the same. A head without targets gives no loss instead of a mean over nothing.
    """
    present = sum(count > 0 for count in step_counts)
    shares = torch.tensor([1.0 / (count * present) if count else 0.0 for count in step_counts], device=states.device)
    targets = torch.stack([head_targets(target, head) for head in heads], dim=-1)
    places = (targets[..., 0] != PAD_ID).flatten().nonzero().squeeze(1)
    targets = targets.flatten(0, 1)[places]
    states = states.flatten(0, 1)[places]
    outputs = _outputs(model, states, heads)
    real = (targets != PAD_ID).flatten().nonzero().squeeze(1)
    which = real % len(heads)
    outputs = outputs.flatten(0, -2)
    if len(real) < len(outputs):
        outputs = outputs[real]
    loss, losses = output_loss(outputs, model.output_weight, targets.flatten()[real], shares[which], smoothing)
    sums = torch.zeros(len(heads), device=losses.device).index_add_(0, which, losses)
    return HeadLosses(loss, sums)


def _outputs(model: TranslationModel, states: Tensor, heads: tuple[int, ...]) -> Tensor:
    """Return the outputs [places, heads, d_model] of the heads wanted."""
    if model.heads is None:
        return states.unsqueeze(1)
    transformed = model.heads.transform(states)
    if len(heads) == 1:
        return model.heads.head(heads[0], states, transformed).unsqueeze(1)
    return model.heads.all_heads(states, transformed)[:, heads[0] - 1 :]
