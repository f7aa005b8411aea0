"""The original protocol of decoding: the whole prefix runs through the decoder at every step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from bpd.models.head_scores import HeadScores
from bpd.models.proposal_heads import ProposalHeads


class PrefixDecoder(Protocol):
    """The decoder half of a model, which reads whole prefixes."""

    def decode(self, prefix: Tensor, memory: Tensor, beside: Tensor | None) -> Tensor:
        """Return the decoder's output [batch, length, d_model] for its input `prefix` [batch, length]."""
        ...

    def logits(self, states: Tensor) -> Tensor:
        """Return the logits [*, vocabulary] of `states` [*, d_model]."""
        ...


class RecomputingDecoder:
    """Decoding without a cache, of text and images alike.

    `memory` [batch, source, d_model] is the encoder's output; `beside` [batch, …] is what else the decoder needs of
    the source: the mask of its padding, or the small image itself.
    """

    def __init__(
        self, transformer: PrefixDecoder, heads: ProposalHeads | None, memory: Tensor, beside: Tensor | None
    ) -> None:
        self._transformer = transformer
        self._heads = heads
        self._memory = memory
        self._beside = beside
        self._rows: list[list[int]] = [[] for _ in range(len(memory))]

    @property
    def lengths(self) -> list[int]:
        """The number of decoder-input tokens that each row holds."""
        return [len(row) for row in self._rows]

    def advance(self, tokens: Tensor) -> HeadScores:
        """Append `tokens` [batch, block] after each row's length and return what the heads say about them."""
        block = tokens.shape[1]
        self._rows = [row + new for row, new in zip(self._rows, tokens.tolist(), strict=True)]
        lengths = self.lengths
        longest = max(lengths)
        prefix = torch.tensor([row + [0] * (longest - len(row)) for row in self._rows], device=self._memory.device)
        states = self._transformer.decode(prefix, self._memory, self._beside)
        ends = torch.tensor(lengths, device=states.device)
        columns = ends[:, None] + torch.arange(-block, 0, device=states.device)
        rows = torch.arange(len(lengths), device=states.device)[:, None]
        return HeadScores(self._transformer.logits, self._heads, states[rows, columns])

    def rewind(self, lengths: Sequence[int] | Tensor) -> None:
        """Keep the first `lengths` [batch] decoder-input tokens of each row."""
        self._rows = [row[:length] for row, length in zip(self._rows, on_host(lengths), strict=True)]

    def select(self, rows: Sequence[int] | Tensor) -> None:
        """Keep, reorder or duplicate rows."""
        rows = on_host(rows)
        index = torch.tensor(rows, device=self._memory.device)
        self._memory = self._memory.index_select(0, index)
        if self._beside is not None:
            self._beside = self._beside.index_select(0, index)
        self._rows = [list(self._rows[row]) for row in rows]


def on_host(values: Sequence[int] | Tensor) -> list[int]:
    """Return whole numbers as a list, wherever they are."""
    return values.tolist() if isinstance(values, Tensor) else list(values)
