"""Layouts of dense layers' weights that decoding wants: a few rows at a time, on a CPU."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

# Below so many weights, calling oneDNN costs more than it saves.
_LEAST_PACKED = 2**17
# oneDNN takes longer for two or three rows than for four.
_LEAST_PACKED_ROWS = 4
# Up to so many weights, by the number of rows, these are fastest as columns, on the other side of the weights.
_MOST_TURNED = {2: 2**20, 3: 2**18, 4: 2**18}
_MOST_TURNED_INPUTS = 512
_PACKED_LINEAR = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
_PACK = getattr(torch.ops.mkldnn, "_reorder_linear_weight", None)


class DecodingLayout:
    """A dense layer's weights laid out for decoding: the same numbers, up to rounding, in less time.

    PyTorch holds weights [outputs, inputs] row by row, and hands few rows of states to a routine made for many. On a
    CPU a single row is fastest over the columns of a wide layer, two to four rows as columns beside a small layer's
    weights, several rows over oneDNN's own blocks of a large one's: verifying k tokens then costs far less than k times
    one. The copies take memory: as much again for columns and for blocks.

    Other devices and other precisions are computed as ever.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self._weight, self._bias = weight.detach(), None if bias is None else bias.detach()
        outputs, inputs = weight.shape
        here = weight.device.type == "cpu" and weight.dtype == torch.float32
        large = here and weight.numel() >= _LEAST_PACKED
        self._turns = here and inputs <= _MOST_TURNED_INPUTS
        self._columns = self._weight.t().contiguous() if large and outputs >= 2 * inputs else self._weight.t()
        packs = large and _PACK is not None and torch.backends.mkldnn.is_available()
        self._packed = _PACK(self._weight.contiguous(), None) if packs else None

    def __call__(self, states: Tensor) -> Tensor:
        """Return the layer's output [*, outputs] for `states` [*, inputs]."""
        return self._linear(states, "none")

    def relu(self, states: Tensor) -> Tensor:
        """Return the layer's output after a ReLU."""
        return self._linear(states, "relu")

    def _linear(self, states: Tensor, activation: str) -> Tensor:
        rows = states.reshape(-1, states.shape[-1])
        if self._packed is not None and not self._turned(rows) and len(rows) > 1 and rows.dtype == torch.float32:
            made = _PACKED_LINEAR(_padded(rows), self._packed, self._bias, activation, [], "")[: len(rows)]
        else:
            made = self._product(rows)
            if activation == "relu":
                made = made.relu_()
        return made.reshape(*states.shape[:-1], made.shape[-1])

    def added(self, residual: Tensor, states: Tensor) -> Tensor:
        """Return `residual` [*, outputs] plus the layer's output for `states` [*, inputs]."""
        if torch.is_autocast_enabled(states.device.type):
            # A sum within the product would have its lower precision.
            return residual + self(states)
        rows = states.reshape(-1, states.shape[-1])
        beside = residual.reshape(len(rows), -1)
        if self._packed is not None and not self._turned(rows) and len(rows) > 1:
            made = _PACKED_LINEAR.binary(_padded(rows), _padded(beside), self._packed, self._bias, "add")[: len(rows)]
        elif self._turned(rows):
            made = self._product(rows).add_(beside)
        else:
            made = torch.addmm(beside, rows, self._columns)
            if self._bias is not None:
                made += self._bias
        return made.reshape(residual.shape)

    def _turned(self, rows: Tensor) -> bool:
        most = _MOST_TURNED.get(len(rows), 0)
        return self._turns and self._weight.numel() <= most and rows.dtype == torch.float32

    def _product(self, rows: Tensor) -> Tensor:
        if self._turned(rows):
            made = torch.mm(self._weight, rows.t()).t().contiguous()
            return made if self._bias is None else made.add_(self._bias)
        return torch.mm(rows, self._columns) if self._bias is None else torch.addmm(self._bias, rows, self._columns)


def _padded(rows: Tensor) -> Tensor:
    """Return at least as many rows as oneDNN is fast for, the added ones zero."""
    missing = _LEAST_PACKED_ROWS - len(rows)
    return functional.pad(rows, (0, 0, 0, missing)) if missing > 0 else rows
