"""Cross-entropy through the shared vocabulary projection, a few rows at a time."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

_CHUNK_ELEMENTS = {"cpu": 2**20, "cuda": 2**27}


class _OutputLoss(torch.autograd.Function):
    """Project, compare and differentiate in one pass, so that no more than one chunk of logits ever exists."""

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        token_weights: Tensor,
        smoothing: float,
    ) -> tuple[Tensor, Tensor]:
        vocabulary = weight.shape[0]
        low = smoothing / (vocabulary - 1)
        high = 1.0 - smoothing
        losses = torch.empty(len(states), dtype=torch.float32, device=states.device)
        need_states, need_weight, need_bias = ctx.needs_input_grad[:3]
        state_gradient = torch.empty_like(states) if need_states else None
        weight_gradient = torch.zeros_like(weight) if need_weight else None
        bias_gradient = torch.zeros_like(bias) if need_bias else None
        rows = max(16, _CHUNK_ELEMENTS.get(states.device.type, 2**20) // vocabulary)
        for first in range(0, len(states), rows):
            part = slice(first, first + rows)
            chunk, target = states[part], targets[part, None]
            scores = functional.linear(chunk, weight, bias).float()
            of_target = scores.gather(1, target).squeeze(1)
            of_all = scores.sum(dim=1)
            largest = scores.amax(dim=1, keepdim=True)
            probabilities = scores.sub_(largest).exp_()
            total = probabilities.sum(dim=1, keepdim=True)
            log_total = (total.log() + largest).squeeze(1)
            losses[part] = log_total - high * of_target - low * (of_all - of_target)
            if not (need_states or need_weight or need_bias):
                continue
            gradient = probabilities.div_(total).sub_(low)
            gradient.scatter_add_(1, target, torch.full_like(target, low - high, dtype=gradient.dtype))
            gradient.mul_(token_weights[part, None])
            if need_states:
                state_gradient[part] = (gradient @ weight).to(states.dtype)
            if need_weight:
                weight_gradient += (gradient.t() @ chunk).to(weight.dtype)
            if need_bias:
                bias_gradient += gradient.sum(dim=0).to(bias.dtype)
        ctx.save_for_backward(state_gradient, weight_gradient, bias_gradient)
        ctx.mark_non_differentiable(losses)
        return (losses * token_weights).sum(), losses

    @staticmethod
    def backward(ctx: Any, upstream: Tensor, _losses: Tensor) -> tuple[Tensor | None, ...]:
        scaled = [None if gradient is None else gradient * upstream for gradient in ctx.saved_tensors]
        return *scaled, None, None, None


def output_loss(
    states: Tensor,
    weight: Tensor,
    targets: Tensor,
    token_weights: Tensor,
    smoothing: float,
    bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the weighted sum of label-smoothed cross-entropies, and each token's own [tokens], without gradient.

    `states` [tokens, d_model] meet the projection `weight` [vocabulary, d_model], and its `bias` if it has one;
    `targets` [tokens] are the right ids. The target distribution is Tensor2Tensor's: 1 − `smoothing` on the right id,
    the rest evenly on the others.
    """
    return _OutputLoss.apply(states, weight, bias, targets, token_weights, smoothing)
