"""The small protocol through which decoding knows models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor


class HeadScores(Protocol):
    """What the heads p₁ … p_k say about the block just advanced over."""

    def scoring(self) -> Tensor:
        """Return p₁'s logits at each position of the block, [batch, block, vocabulary]."""
        ...

    def proposing(self, positions: Tensor) -> Tensor:
        """Return the logits of p₁ … p_k at one position of the block for each row, [batch, k, vocabulary]."""
        ...


class Decoder(Protocol):
    """A batch of outputs under way; each row holds some decoder-input tokens, the begin symbol first."""

    def advance(self, tokens: Tensor) -> HeadScores:
        """Append `tokens` [batch, block] to the rows and return what the heads say at each of them."""
        ...

    def rewind(self, lengths: Sequence[int]) -> None:
        """Keep the first `lengths` [batch] tokens of each row."""
        ...

    def select(self, rows: Sequence[int]) -> None:
        """Keep, reorder or duplicate rows."""
        ...


class DecodableModel(Protocol):
    """A model that can be decoded: k = `block_size` heads, the ids of the begin and end symbols, and a device."""

    block_size: int
    begin_id: int
    end_id: int
    device: torch.device

    def start(self, inputs: Sequence[Sequence[int]], *, cached: bool = True) -> Decoder:
        """Encode the inputs, one row each, and return a decoder that holds no tokens yet."""
        ...
