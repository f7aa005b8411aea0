"""What the heads say about a block, computed only as far as it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor


class Heads(Protocol):
    """The proposal heads, as they are or laid out for decoding."""

    def transform(self, states: Tensor) -> Tensor:
        """Return the hidden layer [*, k·d_ff] for `states` [*, d_model]."""
        ...

    def first_head(self, states: Tensor, transformed: Tensor) -> Tensor:
        """Return p₁'s output [*, d_model]."""
        ...

    def other_heads(self, states: Tensor, transformed: Tensor) -> Tensor:
        """Return the outputs [*, k − 1, d_model] of p₂ … p_k."""
        ...


class HeadScores:
    """What the heads say about the block just advanced over, computed only as far as it is asked for.

    Verification needs p₁ at every position, prediction needs p₁ … p_k at one: k² logits are never formed, and p₁'s
    output there, which verification had, is not computed again. `logits` turns outputs of the decoder, or of the
    heads, into logits: [*, d_model] into [*, vocabulary].
    """

    def __init__(self, logits: Callable[[Tensor], Tensor], heads: Heads | None, states: Tensor) -> None:
        self._logits = logits
        self._heads = heads
        self._states = states
        self._transformed = None if heads is None else heads.transform(states)
        self._first: Tensor | None = states if heads is None else None

    def scoring(self) -> Tensor:
        """Return p₁'s logits [batch, block, vocabulary] at each position of the block."""
        if self._first is None:
            self._first = self._heads.first_head(self._states, self._transformed)
        return self._logits(self._first)

    def proposing(self, positions: Tensor) -> Tensor:
        """Return the logits [batch, k, vocabulary] of p₁ … p_k at one position of the block for each row."""
        if self._heads is None:
            return self._logits(_at(self._states, positions)).unsqueeze(1)
        states, transformed = _at(self._states, positions), _at(self._transformed, positions)
        first = self._heads.first_head(states, transformed) if self._first is None else _at(self._first, positions)
        return self._logits(torch.cat([first.unsqueeze(1), self._heads.other_heads(states, transformed)], dim=1))


def _at(states: Tensor, positions: Tensor) -> Tensor:
    if states.shape[1] == 1:
        return states[:, 0]
    return states[torch.arange(len(states), device=states.device), positions]
