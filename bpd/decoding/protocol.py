"""The small protocol through which decoding knows models, and what may be asked of a model through it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from bpd.errors import BpdError


class HeadScores(Protocol):
    """What the heads p₁ … p_k say about the block just advanced over."""

    def scoring(self) -> Tensor:
        """Return p₁'s logits at each position of the block, [batch, block, vocabulary]."""
        ...

    def proposing(self, positions: Tensor) -> Tensor:
        """Return the logits of p₁ … p_k at one position of the block for each row, [batch, k, vocabulary]."""
        ...


class Decoder(Protocol):
    """A batch of outputs under way; each row holds some decoder-input tokens, the begin symbol first.

    A row alone is never made to hold more tokens than its output may have. Beside rows with more to read it may be,
    by k − 1 tokens at most; what the heads say there is never used.
    """

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


def require_limits(inputs: Sequence[Sequence[int]], max_lengths: Sequence[int]) -> None:
    """Raise `BpdError` unless each of `inputs` has a length limit that leaves room for at least one token."""
    if len(inputs) != len(max_lengths):
        raise BpdError(
            f"{len(inputs)} inputs were given, but {len(max_lengths)} length limits; give one for each input"
        )
    for index, limit in enumerate(max_lengths):
        if limit < 1:
            raise BpdError(f"max_lengths[{index}] is {limit}, but an output has at least 1 token; raise the limit")
