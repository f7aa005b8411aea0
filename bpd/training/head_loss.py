"""The loss of the k heads (section 6): one of them drawn a step, one a position, or the mean of all."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bpd.config import HeadSpec
from bpd.models.combined_model import CombinedModel
from bpd.training.output_loss import output_loss


@dataclass(frozen=True)
class StepHeads:
    """Which heads a step trains, and how much each target counts.

    `counts` are the real targets of each of `heads` in the whole step, `shares` the weight of one of them. `drawn`
    holds for each micro-batch the head [rows, length] of each position, where positions draw their own.
    """

    heads: tuple[int, ...]
    counts: tuple[int, ...]
    shares: tuple[float, ...]
    drawn: tuple[np.ndarray, ...] | None


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
    if spec is None or spec.head_loss != "sampled":
        return heads
    return (random.Random(f"head of step {step}, seed {seed}").choice(heads),)


def plan_step(spec: HeadSpec | None, seed: int, step: int, targets: Sequence[np.ndarray], pad_id: int) -> StepHeads:
    """Return what step `step` trains on its micro-batches' `targets` [rows, length], padded on the right.

    A head's loss is a mean over its targets in the step, and the heads that have any count the same. Where each
    position draws its head, the loss is the mean over all positions whose head has a target.
    """
    heads = heads_of_step(spec, seed, step)
    if spec is not None and spec.head_loss == "sampled_per_position":
        random_numbers = np.random.default_rng([seed, step])
        drawn = tuple(random_numbers.choice(heads, size=target.shape) for target in targets)
        counts = tuple(
            sum(
                int(np.count_nonzero((heads_drawn == head) & (_aims(target, head, pad_id) != pad_id)))
                for heads_drawn, target in zip(drawn, targets)
            )
            for head in heads
        )
        total = sum(counts)
        return StepHeads(heads, counts, tuple(1.0 / total if total else 0.0 for _ in heads), drawn)
    counts = tuple(sum(part) for part in zip(*(count_targets(target, heads, pad_id) for target in targets)))
    present = sum(count > 0 for count in counts)
    return StepHeads(heads, counts, tuple(1.0 / (count * present) if count else 0.0 for count in counts), None)


def head_targets(target: Tensor, head: int, pad_id: int) -> Tensor:
    """Return the targets [batch, length] of `head`: at position j the token j + head, padding past the end."""
    shifted = torch.full_like(target, pad_id)
    kept = target.shape[1] - (head - 1)
    if kept > 0:
        shifted[:, :kept] = target[:, head - 1 :]
    return shifted


def _aims(target: np.ndarray, head: int, pad_id: int) -> np.ndarray:
    return head_targets(torch.from_numpy(target), head, pad_id).numpy()


def count_targets(target: np.ndarray, heads: tuple[int, ...], pad_id: int) -> list[int]:
    """Return how many real targets each head has in `target` [batch, length], whose padding is on the right."""
    return [int(np.count_nonzero(target[:, head - 1 :] != pad_id)) for head in heads]


def head_losses(
    model: CombinedModel, states: Tensor, target: Tensor, step: StepHeads, micro_batch: int, smoothing: float
) -> HeadLosses:
    """Return the losses of a micro-batch's heads for the decoder's output `states` [batch, length, d_model].

    `micro_batch` is its place in the step. A head without targets gives no loss instead of a mean over nothing.
    """
    if step.drawn is None:
        outputs, targets, which = _all_positions(model, states, target, step.heads)
    else:
        outputs, targets, which = _drawn_positions(model, states, target, step, micro_batch)
    shares = torch.tensor(step.shares, device=states.device)[which]
    loss, losses = output_loss(outputs, model.output_weight, targets, shares, smoothing, model.output_bias)
    sums = torch.zeros(len(step.heads), device=losses.device).index_add_(0, which, losses)
    return HeadLosses(loss, sums)


def _all_positions(
    model: CombinedModel, states: Tensor, target: Tensor, heads: tuple[int, ...]
) -> tuple[Tensor, Tensor, Tensor]:
    """Return outputs [tokens, d_model], targets and places in `heads` [tokens] of each head at each position."""
    pad_id = model.pad_id
    targets = torch.stack([head_targets(target, head, pad_id) for head in heads], dim=-1)
    places = (targets[..., 0] != pad_id).flatten().nonzero().squeeze(1)
    targets = targets.flatten(0, 1)[places]
    outputs = _outputs(model, states.flatten(0, 1)[places], heads).flatten(0, -2)
    real = (targets != pad_id).flatten().nonzero().squeeze(1)
    if len(real) < len(outputs):
        outputs = outputs[real]
    return outputs, targets.flatten()[real], real % len(heads)


def _drawn_positions(
    model: CombinedModel, states: Tensor, target: Tensor, step: StepHeads, micro_batch: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return outputs [tokens, d_model], targets and places in the heads [tokens], one head a position."""
    drawn = torch.from_numpy(step.drawn[micro_batch]).to(target.device).flatten()
    states = states.flatten(0, 1)
    transformed = model.heads.transform(states)
    outputs, targets, which = [], [], []
    for place, head in enumerate(step.heads):
        wanted = head_targets(target, head, model.pad_id).flatten()
        positions = ((drawn == head) & (wanted != model.pad_id)).nonzero().squeeze(1)
        outputs.append(model.heads.head(head, states[positions], transformed[positions]))
        targets.append(wanted[positions])
        which.append(torch.full_like(positions, place))
    return torch.cat(outputs), torch.cat(targets), torch.cat(which)


def _outputs(model: CombinedModel, states: Tensor, heads: tuple[int, ...]) -> Tensor:
    """Return the outputs [places, heads, d_model] of the heads wanted."""
    if model.heads is None:
        return states.unsqueeze(1)
    transformed = model.heads.transform(states)
    if len(heads) == 1:
        return model.heads.head(heads[0], states, transformed).unsqueeze(1)
    return model.heads.all_heads(states, transformed)[:, heads[0] - 1 :]
