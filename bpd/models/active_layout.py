"""The weights behind a ReLU, laid out so that only those of the units that it left are read."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

# Reading every weight in turn is faster than picking rows once more than this share of the units is active.
_MOST_ACTIVE = 0.4
_LEAST_PICKED = 2**17


class ActiveLayout:
    """A dense layer over a hidden layer after its ReLU, for one row of it at a time on a CPU.

    In trained proposal heads a ReLU leaves between a sixth and a third of the units. The time of a product with one row
    is that of reading the weights, so the others' need not be read: the result is the layer's, up to rounding. The copy
    takes as much memory as the weights again.
    """

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        self._of_units = weight.detach().t().contiguous()
        self._bias = bias.detach()
        self._one_row = torch.zeros(1, dtype=torch.int64)

    @staticmethod
    def suits(weight: Tensor, hidden: Tensor) -> bool:
        """Return whether picking can save time, with a weight [outputs, inputs], for rows of `hidden` [*, inputs]."""
        in_full = weight.dtype == hidden.dtype == torch.float32
        return in_full and weight.device.type == "cpu" and weight.numel() >= _LEAST_PICKED

    def __call__(self, hidden: Tensor) -> Tensor | None:
        """Return the layer's output [1, outputs] for `hidden` [1, inputs], none where too many units are active."""
        units = hidden[0].nonzero().squeeze(1)
        if len(units) > _MOST_ACTIVE * hidden.shape[1]:
            return None
        picked = functional.embedding_bag(
            units, self._of_units, self._one_row, mode="sum", per_sample_weights=hidden[0].index_select(0, units)
        )
        return picked.add_(self._bias)
