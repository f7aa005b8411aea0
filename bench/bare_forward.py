"""The bare forward passes of a decoding: the calls of a model alone, to hold the decoding loop's cost against.

A decoding is recorded once, then its calls are made again without anything around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bpd.decoding.protocol import DecodableModel, Decoder, HeadScores


class RecordedCalls:
    """`model`, which notes each call: how many tokens each row held, how many were read, and where heads proposed."""

    def __init__(self, model: DecodableModel) -> None:
        self.block_size = model.block_size
        self.begin_id = model.begin_id
        self.end_id = model.end_id
        self.device = model.device
        self.calls: list[Call] = []
        self._model = model

    def start(self, inputs: Sequence[Sequence[int]], *, cached: bool = True) -> Decoder:
        """Encode the inputs, one row each, and return a decoder that holds no tokens yet; forget earlier calls."""
        self.calls.clear()
        return _RecordingDecoder(self._model.start(inputs, cached=cached), self.calls)


@dataclass
class Call:
    """One call of a decoder with one row: tokens held before, tokens [1, block] read, positions [1] proposed at."""

    held: int
    tokens: Tensor
    scored: bool = False
    positions: Tensor | None = None


class _RecordingDecoder:
    def __init__(self, decoder: Decoder, calls: list[Call]) -> None:
        self._decoder = decoder
        self._calls = calls
        self._held = 0

    def advance(self, tokens: Tensor) -> HeadScores:
        call = Call(self._held, tokens.clone())
        self._calls.append(call)
        self._held += tokens.shape[1]
        return _RecordingScores(self._decoder.advance(tokens), call)

    def rewind(self, lengths: Sequence[int]) -> None:
        self._decoder.rewind(lengths)
        self._held = lengths[0]

    def select(self, rows: Sequence[int]) -> None:
        self._decoder.select(rows)


@dataclass(frozen=True)
class _RecordingScores:
    scores: HeadScores
    call: Call

    def scoring(self) -> Tensor:
        self.call.scored = True
        return self.scores.scoring()

    def proposing(self, positions: Tensor) -> Tensor:
        self.call.positions = positions.clone()
        return self.scores.proposing(positions)


class AlreadyStarted:
    """`model`, whose encoding of one set of inputs is made once: what is timed is decoding alone.

    The decoder is the same one each time, rewound to hold no tokens; a decoding that ends rows at different times
    would leave it with fewer of them, so that all outputs must be equally long.
    """

    def __init__(self, model: DecodableModel, inputs: Sequence[Sequence[int]]) -> None:
        self.block_size = model.block_size
        self.begin_id = model.begin_id
        self.end_id = model.end_id
        self.device = model.device
        self._decoder = started(model, inputs)
        self._rows = len(inputs)
        self._fresh = True

    def start(self, inputs: Sequence[Sequence[int]], *, cached: bool = True) -> Decoder:
        """Return the decoder that holds no tokens."""
        if not self._fresh:
            self._decoder.rewind([0] * self._rows)
        self._fresh = False
        return self._decoder


@torch.inference_mode()
def started(model: DecodableModel, inputs: Sequence[Sequence[int]]) -> Decoder:
    """Encode the inputs, one row each, and return the model's cached decoder as decoding itself makes it."""
    return model.start(inputs)


@torch.inference_mode()
def replay(decoder: Decoder, calls: Sequence[Call]) -> None:
    """Make the recorded calls again and nothing else: no choice, no acceptance, no transfer to the host.

    The decoder is the model's own, with its layouts; it must hold at least as many tokens as before the first call.
    """
    for call in calls:
        decoder.rewind([call.held])
        scores = decoder.advance(call.tokens)
        if call.scored:
            scores.scoring()
        if call.positions is not None:
            scores.proposing(call.positions)
