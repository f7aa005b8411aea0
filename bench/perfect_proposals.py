"""A model whose proposals are right, for timing full acceptance without a trained model.

All the work of a real model is done: its heads propose, and p₁ verifies. Only what p₂ … p_k propose is overruled; what
p₁ says, proposing and verifying, is its own, so that outputs are the model's greedy ones whatever it is told.
"""

from __future__ import annotations

import math
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
        decoded = greedy(WithoutEnd(model), inputs, [tokens] * len(inputs))
        self.outputs = [one.token_ids for one in decoded]
        known = torch.tensor(self.outputs, device=self.device)
        # What is proposed beyond the end is never accepted: any token will do.
        known = torch.nn.functional.pad(known, (0, 2 * self.block_size))
        # Made before the clock runs: [rows, tokens read, k − 1], what p₂ … p_k are to propose there.
        self._told = None if self.block_size == 1 else known[:, 1:].unfold(1, self.block_size - 1, 1).contiguous()

    def first(self, rows: int) -> PerfectProposals:
        """Return the same for the first `rows` inputs alone."""
        fewer = copy(self)
        fewer.outputs = self.outputs[:rows]
        fewer._told = None if self._told is None else self._told[:rows]
        return fewer

    def spoiled(self, right: int) -> PerfectProposals:
        """Return the same, but for each block's proposals beyond the first `right`, which are wrong.

        Raises `ValueError` for less than 1: the first proposal is p₁'s own.
        """
        if right < 1:
            raise ValueError(f"{right} right proposals: the first is p₁'s own, and always right")
        other = copy(self)
        if self._told is not None:
            other._told = self._told.clone()
            other._told[..., right - 1 :] = (self._told[..., right - 1 :] == 0).long()
        return other

    def start(self, inputs: Sequence[Sequence[int]], *, cached: bool = True) -> Decoder:
        """Encode the inputs, one row each, and return a decoder that holds no tokens yet."""
        decoder = self._model.start(inputs, cached=cached)
        return decoder if self._told is None else _OverruledDecoder(decoder, self._told)


class _OverruledDecoder:
    """A decoder whose heads p₂ … p_k propose what they are told."""

    def __init__(self, decoder: Decoder, told: Tensor) -> None:
        self._decoder = decoder
        self._told = told
        self._rows = torch.arange(len(told), device=told.device)
        self._lengths = [0] * len(told)

    def advance(self, tokens: Tensor) -> HeadScores:
        scores = self._decoder.advance(tokens)
        lengths = self._lengths
        # A number where all rows are equally long: what is not the model's own work is to take as little as it can.
        same = min(lengths) == max(lengths)
        before = lengths[0] if same else torch.tensor(lengths, device=tokens.device)
        self._lengths = [length + tokens.shape[1] for length in lengths]
        return _OverruledScores(scores, self._told, self._rows, before)

    def rewind(self, lengths: Sequence[int]) -> None:
        self._decoder.rewind(lengths)
        self._lengths = list(lengths)

    def select(self, rows: Sequence[int]) -> None:
        self._decoder.select(rows)
        self._told = self._told[list(rows)]
        self._rows = self._rows[: len(rows)]
        self._lengths = [self._lengths[row] for row in rows]


@dataclass(frozen=True)
class _OverruledScores:
    """What the heads say, but for which token is the best of p₂ … p_k."""

    scores: HeadScores
    told: Tensor
    rows: Tensor
    before: int | Tensor

    def scoring(self) -> Tensor:
        return self.scores.scoring()

    def proposing(self, positions: Tensor) -> Tensor:
        logits = self.scores.proposing(positions)
        tokens = self.told[self.rows, positions + self.before]
        logits[:, 1:].scatter_(-1, tokens.unsqueeze(-1), math.inf)
        return logits
