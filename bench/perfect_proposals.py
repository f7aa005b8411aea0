"""A model whose proposals are always right: what blockwise decoding costs and gains where every block is accepted."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from bpd.decoding.protocol import Decoder, HeadScores
from bpd.models.translation_model import TranslationModel


class PerfectProposals:
    """`model`, its heads told what to say: each row of `known` holds the tokens that p₁ itself will want.

    All that the heads compute is computed; only then are the logits of p₂ … p_k at the known tokens raised above all
    others. What p₁ says, and so verification, is its own. Decodes rows in the order of `known`, without an end.
    """

    def __init__(self, model: TranslationModel, known: Sequence[Sequence[int]]) -> None:
        self._model = model
        self.block_size, self.begin_id, self.end_id = model.block_size, model.begin_id, model.end_id
        self.device = model.device
        longest = max(map(len, known)) + model.block_size
        padded = [list(row) + [0] * (longest - len(row)) for row in known]
        self._known = torch.tensor(padded, device=model.device)

    def start(self, inputs: Sequence[Sequence[int]], *, cached: bool = True) -> Decoder:
        """Encode the inputs and return a decoder that holds no tokens yet."""
        return _ToldDecoder(self._model.start(inputs, cached=cached), self._known, self.block_size)


class _ToldDecoder:
    def __init__(self, decoder: Decoder, known: Tensor, block_size: int) -> None:
        self._decoder, self._known = decoder, known
        self._steps = torch.arange(block_size, device=known.device)

    def advance(self, tokens: Tensor) -> HeadScores:
        held = torch.tensor(self._decoder.lengths, device=self._known.device)
        return _ToldScores(self._decoder.advance(tokens), self._known, held, self._steps)

    def rewind(self, lengths: Sequence[int]) -> None:
        self._decoder.rewind(lengths)

    def select(self, rows: Sequence[int]) -> None:
        self._decoder.select(rows)
        self._known = self._known[list(rows)]


class _ToldScores:
    def __init__(self, scores: HeadScores, known: Tensor, held: Tensor, steps: Tensor) -> None:
        self._scores, self._known, self._held, self._steps = scores, known, held, steps

    def scoring(self) -> Tensor:
        return self._scores.scoring()

    def proposing(self, positions: Tensor) -> Tensor:
        logits = self._scores.proposing(positions)
        # With n decoder inputs up to a position, begin symbol included, n − 1 tokens are out.
        places = (self._held + positions)[:, None] + self._steps
        wanted = self._known.gather(1, places.clamp(max=self._known.shape[1] - 1))
        logits[:, 1:].scatter_(2, wanted[:, 1:].unsqueeze(-1), math.inf)
        return logits
