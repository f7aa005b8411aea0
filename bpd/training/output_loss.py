"""Cross-entropy through the shared vocabulary projection, a few rows at a time."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

# So many logits at once: on a CPU products of fewer rows are slow, and more leave its cache.
_CHUNK_ELEMENTS = {"cpu": 2**22, "cuda": 2**27}


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
            largest = scores.amax(dim=1, keepdim=True)
            shifted = scores.sub_(largest)
            of_target = shifted.gather(1, target)
            of_all = shifted.sum(dim=1, keepdim=True) if low else 0.0
            exponentials = shifted.exp_()
            total = exponentials.sum(dim=1, keepdim=True)
            log_total = total.log()
            own = (high - low) * (log_total - of_target) + low * (vocabulary * log_total - of_all)
            losses[part] = own.squeeze(1)
            if not (need_states or need_weight or need_bias):
                continue
            # The logits' gradient is this times `factor`, which is taken up where there is less to do. What smoothing
            # takes off is taken off here: of sums, it would leave little but rounding where p₁ is as smooth.
            gradient = exponentials.sub_(low * total) if low else exponentials
            gradient.scatter_add_(1, target, (low - high) * total)
            factor = token_weights[part, None] / total
            if need_states:
                state_gradient[part] = (gradient @ weight) * factor
            if need_weight:
                _add_product(weight_gradient, gradient, chunk * factor)
            if need_bias:
                bias_gradient += (factor.t() @ gradient).squeeze(0).to(bias.dtype)
        ctx.save_for_backward(state_gradient, weight_gradient, bias_gradient)
        ctx.mark_non_differentiable(losses)
        return (losses * token_weights).sum(), losses

    @staticmethod
    def backward(ctx: Any, upstream: Tensor, _losses: Tensor) -> tuple[Tensor | None, ...]:
        scaled = [None if gradient is None else gradient * upstream for gradient in ctx.saved_tensors]
        return *scaled, None, None, None


def _add_product(total: Tensor, gradient: Tensor, states: Tensor) -> None:
    """Add `gradient`ᵀ `states` to `total`, in place where all have one precision."""
    if torch.is_autocast_enabled(total.device.type) or not total.dtype == gradient.dtype == states.dtype:
        total += (gradient.t() @ states).to(total.dtype)
    else:
        total.addmm_(gradient.t(), states)


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
