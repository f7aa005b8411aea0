"""What the heads say about a block, computed only as far as it is asked for."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from bpd.models.proposal_heads import ProposalHeads


class Projection(Protocol):
    """What turns outputs of the decoder, or of the heads, into logits."""

    def logits(self, states: Tensor) -> Tensor:
        """Return the logits [*, vocabulary] of `states` [*, d_model]."""
        ...


class HeadScores:
    """What the heads say about the block just advanced over, computed only as far as it is asked for.

    Verification needs p₁ at every position, prediction needs p₁ … p_k at one: k² logits are never formed.
    """

    def __init__(self, projection: Projection, heads: ProposalHeads | None, states: Tensor) -> None:
        self._projection = projection
        self._heads = heads
        self._states = states
        self._transformed = None if heads is None else heads.transform(states)

    def scoring(self) -> Tensor:
        """Return p₁'s logits [batch, block, vocabulary] at each position of the block."""
        states = self._states if self._heads is None else self._heads.head(1, self._states, self._transformed)
        return self._projection.logits(states)

    def proposing(self, positions: Tensor) -> Tensor:
        """Return the logits [batch, k, vocabulary] of p₁ … p_k at one position of the block for each row."""
        if self._heads is None:
            return self._projection.logits(_at(self._states, positions)).unsqueeze(1)
        states, transformed = _at(self._states, positions), _at(self._transformed, positions)
        return self._projection.logits(self._heads.all_heads(states, transformed))


def _at(states: Tensor, positions: Tensor) -> Tensor:
    if states.shape[1] == 1:
        return states[:, 0]
    return states[torch.arange(len(states), device=states.device), positions]
