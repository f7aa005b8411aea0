"""A model whose proposals are right, for timing full acceptance without a trained model.

All the work of a real model is done: its heads propose, and p₁ verifies. Only what the heads propose is overruled.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

import torch
from torch import Tensor

from bpd.decoding.greedy import greedy
from bpd.decoding.protocol import DecodableModel, Decoder, HeadScores
from bpd.evaluation.timing import WithoutEnd


class PerfectProposals:
    """`model` without an end symbol, whose proposals for the inputs it was made for are its own greedy outputs.

    Outputs have `tokens` tokens; the first row of inputs belongs to the first row of known outputs, and so on.
    """

    end_id = -1

    def __init__(
        self,
        model: DecodableModel,
        inputs: Sequence[Sequence[int]],
        tokens: int,
    ) -> None:
        self.block_size = model.block_size
        self.begin_id = model.begin_id
        self.device = model.device
        self._model = model
        outputs = greedy(WithoutEnd(model), inputs, [tokens] * len(inputs))
        known = torch.tensor([one.token_ids for one in outputs], device=self.device)
        # What is proposed beyond the end is never accepted: any token will do.
        self._known = torch.nn.functional.pad(known, (0, 2 * self.block_size))
        self._spoiling = torch.zeros(self.block_size, dtype=torch.int64, device=self.device)

    def first(self, rows: int) -> PerfectProposals:
        """Return the same for the first `rows` inputs alone."""
        fewer = copy(self)
        fewer._known = self._known[:rows]
        return fewer

    def spoiled(self, right: int) -> PerfectProposals:
        """Return the same, but for each block's proposals beyond the first `right`, which are wrong."""
        other = copy(self)
        other._spoiling = (torch.arange(self.block_size, device=self.device) >= right).long()
        return other

    @property
    def outputs(self) -> list[list[int]]:
        """The known outputs, row by row."""
        return self._known[:, : self._known.shape[1] - 2 * self.block_size].tolist()

    def start(self, inputs: Sequence[Sequence[int]], *, cached: bool = True) -> Decoder:
        """Encode the inputs, one row each, and return a decoder that holds no tokens yet."""
        decoder = self._model.start(inputs, cached=cached)
        return _OverruledDecoder(decoder, self._known, self._spoiling)


class _OverruledDecoder:
    """A decoder whose heads propose what is known."""

    def __init__(self, decoder: Decoder, known: Tensor, spoiling: Tensor) -> None:
        self._decoder = decoder
        self._known = known
        self._spoiling = spoiling
        self._lengths = [0] * len(known)

    def advance(self, tokens: Tensor) -> HeadScores:
        scores = self._decoder.advance(tokens)
        before = torch.tensor(self._lengths, device=tokens.device)
        self._lengths = [length + tokens.shape[1] for length in self._lengths]
        return _OverruledScores(scores, self._known, before, self._spoiling)

    def rewind(self, lengths: Sequence[int]) -> None:
        self._decoder.rewind(lengths)
        self._lengths = list(lengths)

    def select(self, rows: Sequence[int]) -> None:
        self._decoder.select(rows)
        self._known = self._known[list(rows)]
        self._lengths = [self._lengths[row] for row in rows]


@dataclass(frozen=True)
class _OverruledScores:
    """What the heads say, but for which token of each is the best."""

    scores: HeadScores
    known: Tensor
    before: Tensor
    spoiling: Tensor

    def scoring(self) -> Tensor:
        return self.scores.scoring()

    def proposing(self, positions: Tensor) -> Tensor:
        logits = self.scores.proposing(positions)
        # A row that holds the begin symbol and j outputs has read j + 1 tokens, and proposes outputs j + 1, j + 2 …
        first = self.before + positions
        places = first[:, None] + torch.arange(logits.shape[1], device=logits.device)
        tokens = self.known.gather(1, places.clamp(max=self.known.shape[1] - 1))
        tokens = (tokens + self.spoiling) % logits.shape[-1]
        return logits.scatter_(-1, tokens.unsqueeze(-1), float("inf"))
