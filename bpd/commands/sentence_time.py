"""How long one sentence takes, greedily and in blocks (section 7.3, for a sentence of one's own)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bpd.decoding.acceptance import Acceptance
from bpd.decoding.batched import MAX_EXTRA_TOKENS
from bpd.decoding.protocol import Decoder
from bpd.evaluation.timing import time_decoding
from bpd.models.translation_model import TranslationModel
from bpd.trained_model import TrainedModel

# Each way's number of timed runs.
RUNS = 3


@dataclass(frozen=True)
class SentenceTime:
    """Mean seconds of the timed runs of greedy and of blockwise decoding, for the same number of tokens."""

    greedy_seconds: float
    blockwise_seconds: float

    @property
    def speedup(self) -> float:
        """Greedy time ÷ blockwise time."""
        return self.greedy_seconds / self.blockwise_seconds


def time_sentence(trained: TrainedModel, sentence: str, criterion: str, block_size: int | None) -> SentenceTime:
    """Time both ways of decoding `sentence`, which is not blank, with the cache and by the same model, in turns.

    Greedy decoding is p₁'s own, and is made to emit as many tokens as blockwise decoding does.
    """
    row = [*trained.vocabulary.encode(sentence), trained.model.end_id]
    model = trained.model if block_size is None else _Narrowed(trained.model, block_size)
    records = time_decoding(
        trained.model,
        model,
        [row],
        [len(row) - 1 + MAX_EXTRA_TOKENS],
        acceptance=Acceptance.parse(criterion),
        protocol="cached",
        batch_rows=1,
        repeats=RUNS,
    )
    seconds = {
        arm: sum(record.seconds for record in records if record.arm == arm) / RUNS for arm in ("greedy", "blockwise")
    }
    return SentenceTime(seconds["greedy"], seconds["blockwise"])


class _Narrowed:
    """A model that proposes fewer tokens than it can."""

    def __init__(self, model: TranslationModel, block_size: int) -> None:
        self.block_size = block_size
        self.begin_id, self.end_id, self.device = model.begin_id, model.end_id, model.device
        self._model = model

    def start(self, inputs: Sequence[Sequence[int]], *, cached: bool = True) -> Decoder:
        """Encode the inputs, one row each, and return a decoder that holds no tokens yet."""
        return self._model.start(inputs, cached=cached)
