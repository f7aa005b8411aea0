"""A model with scripted logits, whose decoder checks that it is used as the protocol says."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Sequence
from functools import cache

import torch
from torch import Tensor

BEGIN, END = 1, 2

# The logits [vocabulary] of head i = 1 … k after a source and the tokens y_1 … y_j, the begin symbol not among them.
Logits = Callable[[tuple[int, ...], tuple[int, ...], int], Sequence[float]]


class ScriptedModel:
    """A model whose logits are a function of source, prefix and head.

    `limits`, one a row, are those given to the decoding under test. `calls` lists the calls made: for each, the index
    of every row that took part, and the width of the block. With `idle_rows`, rows that have ended may be advanced:
    beam search does so where a sentence has fewer live hypotheses than its beam has places.
    """

    begin_id, end_id = BEGIN, END
    device = torch.device("cpu")

    def __init__(self, logits: Logits, limits: Sequence[int], block_size: int = 1, *, idle_rows: bool = False) -> None:
        self.logits = cache(logits)
        self.limits = list(limits)
        self.block_size = block_size
        self.idle_rows = idle_rows
        self.calls: list[tuple[list[int], int]] = []

    def start(self, inputs: Sequence[Sequence[int]], *, cached: bool = True) -> ScriptedDecoder:
        """Return a decoder; caching or not changes nothing here."""
        assert len(inputs) == len(self.limits) > 0
        return ScriptedDecoder(self, [tuple(row) for row in inputs])


class ScriptedDecoder:
    """Rows of tokens and which input each belongs to. A row that has ended may not be advanced."""

    def __init__(self, model: ScriptedModel, inputs: list[tuple[int, ...]]) -> None:
        self.model = model
        self.inputs = inputs
        self.origins = list(range(len(inputs)))
        self.rows: list[list[int]] = [[] for _ in inputs]

    def advance(self, tokens: Tensor) -> ScriptedScores:
        """Append the block to every row, all of which must be under way."""
        model = self.model
        assert tokens.dtype == torch.int64 and len(tokens) == len(self.rows) and tokens.shape[1] >= 1
        for row in self.rows:
            assert model.idle_rows or END not in row, f"row {row} has ended, and is advanced nevertheless"
        held = [len(row) for row in self.rows]
        self.rows = [row + block for row, block in zip(self.rows, tokens.tolist(), strict=True)]
        assert all(row[0] == BEGIN for row in self.rows)
        beyond = [len(row) - model.limits[origin] for row, origin in zip(self.rows, self.origins, strict=True)]
        assert min(beyond) <= 0, "every row was advanced beyond its limit"
        assert max(beyond) < model.block_size
        assert all(length < model.limits[origin] for length, origin in zip(held, self.origins, strict=True))
        model.calls.append((list(self.origins), tokens.shape[1]))
        return ScriptedScores(self, held)

    def rewind(self, lengths: Sequence[int]) -> None:
        """Cut each row."""
        assert len(lengths) == len(self.rows)
        assert all(0 < length <= len(row) for length, row in zip(lengths, self.rows, strict=True))
        self.rows = [row[:length] for row, length in zip(self.rows, lengths, strict=True)]

    def select(self, rows: Sequence[int]) -> None:
        """Keep, reorder or duplicate rows."""
        assert len(rows) > 0
        self.rows = [list(self.rows[row]) for row in rows]
        self.origins = [self.origins[row] for row in rows]


class ScriptedScores:
    """What the heads say about the block just advanced over, by asking the script."""

    def __init__(self, decoder: ScriptedDecoder, held: list[int]) -> None:
        self.model = decoder.model
        self.sources = [decoder.inputs[origin] for origin in decoder.origins]
        # Taken now: a later rewind may not change what the heads have said.
        self.prefixes = [
            [tuple(row[1 : end + 1]) for end in range(first, len(row))]
            for row, first in zip(decoder.rows, held, strict=True)
        ]

    def scoring(self) -> Tensor:
        """Return p₁'s logits [batch, block, vocabulary]."""
        return torch.tensor(
            [
                [self.model.logits(source, prefix, 1) for prefix in prefixes]
                for source, prefixes in zip(self.sources, self.prefixes, strict=True)
            ]
        )

    def proposing(self, positions: Tensor) -> Tensor:
        """Return the logits [batch, k, vocabulary] of all heads at one position a row."""
        assert len(positions) == len(self.sources)
        assert all(0 <= position < len(self.prefixes[0]) for position in positions.tolist())
        heads = range(1, self.model.block_size + 1)
        return torch.tensor(
            [
                [self.model.logits(source, prefixes[position], head) for head in heads]
                for source, prefixes, position in zip(self.sources, self.prefixes, positions.tolist(), strict=True)
            ]
        )


def random_logits(
    seed: int, vocabulary: int = 6, *, levels: int | None = None, agreement: float = 0.7, end_bias: float = 0.0
) -> Logits:
    """Return logits drawn at random for each source, prefix and head.

    With `levels`, logits are small integers below it, so that ties abound. `agreement` is how often a proposal head
    repeats what p₁ says after the tokens in between, as a well-trained head would. `end_bias` is added to the end
    symbol's logit.
    """

    @cache
    def logits(source: tuple[int, ...], prefix: tuple[int, ...], head: int) -> tuple[float, ...]:
        chance = random.Random(zlib.crc32(repr((seed, source, prefix, head)).encode()))
        if head > 1 and chance.random() < agreement:
            first = logits(source, prefix, 1)
            return logits(source, (*prefix, first.index(max(first))), head - 1)
        drawn = [chance.gauss(0, 2) if levels is None else float(chance.randrange(levels)) for _ in range(vocabulary)]
        drawn[END] += end_bias
        return tuple(drawn)

    return logits


def following(script: Sequence[int], wrong: Sequence[tuple[int, int]] = (), vocabulary: int = 10) -> Logits:
    """Return logits of heads that know `script` by heart, for every source.

    p₁ follows the script whatever came before, only by position, and so does each p_i, except where `wrong` names
    (position, head), positions counted from 1: there the head prefers the token one above the right one, which p₁
    ranks second. Beyond the script, everything is the end symbol.
    """

    def logits(source: tuple[int, ...], prefix: tuple[int, ...], head: int) -> list[float]:
        position = len(prefix) + head
        right = script[position - 1] if position <= len(script) else END
        values = [0.0] * vocabulary
        values[right] = 2.0
        values[(right + 1) % vocabulary] = 3.0 if (position, head) in wrong else 1.0
        return values

    return logits
