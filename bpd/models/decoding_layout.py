"""Layouts of dense layers' weights that decoding wants: a few rows at a time, on a CPU."""

from __future__ import annotations

import torch
from torch import Tensor

# Below so many weights, calling oneDNN costs more than it saves.
_LEAST_PACKED = 2**17
_PACKED_LINEAR = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
_PACK = getattr(torch.ops.mkldnn, "_reorder_linear_weight", None)


class DecodingLayout:
    """A dense layer's weights laid out for decoding: the same numbers, up to rounding, in less time.

    PyTorch holds weights [outputs, inputs] row by row, and hands few rows of states to a routine made for many. On a
    CPU a single row is fastest over the columns of a wide layer, several rows over oneDNN's own blocks: verifying k
    tokens then costs far less than k times one. The copies take memory: as much again for each of the two.

    Small layers, other devices and other precisions are computed as ever.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        weight, self._bias = weight.detach(), None if bias is None else bias.detach()
        outputs, inputs = weight.shape
        here = weight.device.type == "cpu" and weight.dtype == torch.float32 and weight.numel() >= _LEAST_PACKED
        self._columns = weight.t().contiguous() if here and outputs >= 2 * inputs else weight.t()
        packs = here and _PACK is not None and torch.backends.mkldnn.is_available()
        self._packed = _PACK(weight.contiguous(), None) if packs else None

    def __call__(self, states: Tensor) -> Tensor:
        """Return the layer's output [*, outputs] for `states` [*, inputs]."""
        return self._linear(states, "none")

    def relu(self, states: Tensor) -> Tensor:
        """Return the layer's output after a ReLU."""
        return self._linear(states, "relu")

    def _linear(self, states: Tensor, activation: str) -> Tensor:
        rows = states.reshape(-1, states.shape[-1])
        if self._packed is not None and len(rows) > 1 and rows.dtype == torch.float32:
            made = _PACKED_LINEAR(rows, self._packed, self._bias, activation, [], "")
        else:
            made = torch.mm(rows, self._columns) if self._bias is None else torch.addmm(self._bias, rows, self._columns)
            if activation == "relu":
                made = made.relu_()
        return made.view(*states.shape[:-1], made.shape[-1])

    def added(self, residual: Tensor, states: Tensor) -> Tensor:
        """Return `residual` [*, outputs] plus the layer's output for `states` [*, inputs]."""
        if torch.is_autocast_enabled(states.device.type):
            # A sum within the product would have its lower precision.
            return residual + self(states)
        rows = states.reshape(-1, states.shape[-1])
        beside = residual.reshape(len(rows), -1)
        if self._packed is not None and len(rows) > 1:
            made = _PACKED_LINEAR.binary(rows, beside, self._packed, self._bias, "add")
        else:
            made = torch.addmm(beside, rows, self._columns)
            if self._bias is not None:
                made += self._bias
        return made.view(residual.shape)
