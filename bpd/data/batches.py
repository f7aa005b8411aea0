"""Batches of about equally many tokens, of sentence pairs of about equal length, without end and resumable.

Each epoch visits every pair once. Pairs are sorted by length, cut into batches, and the batches shuffled; which of
the equally long pairs meet in a batch is drawn anew each epoch. All is a function of (pairs, seed, epoch).
"""

from __future__ import annotations

import numpy as np

from bpd.data.batch import Batch, BatchPosition
from bpd.data.encoded import EncodedPairs
from bpd.data.vocabulary import END_ID, PAD_ID
from bpd.errors import BpdError


class TokenBatches:
    """An endless stream of batches with rows · max(s, t) ≤ `tokens_per_batch`, starting at `position`."""

    def __init__(
        self, pairs: EncodedPairs, tokens_per_batch: int, seed: int, position: BatchPosition = BatchPosition()
    ) -> None:
        if len(pairs) == 0:
            raise BpdError(f"{pairs.folder}: no sentence pairs to make batches of")
        self.pairs = pairs
        self.tokens_per_batch = tokens_per_batch
        self.seed = seed
        self._lengths = np.stack([pairs.source_lengths, pairs.target_lengths]) + 1
        longest = int(self._lengths.max(axis=0).argmax())
        if self._lengths[:, longest].max() > tokens_per_batch:
            raise BpdError(
                f"{pairs.folder}: pair {longest} has {self._lengths[:, longest].max()} tokens on one side, more than "
                f"a batch of {tokens_per_batch}; raise micro_batch_tokens or lower data.max_subwords"
            )
        self.position = position
        self._plan = self._plan_epoch(position.epoch)
        if position.index and position.index >= len(self._plan):
            raise BpdError(
                f"{pairs.folder}: cannot resume at batch {position.index} of epoch {position.epoch}, which has "
                f"{len(self._plan)}: data or settings have changed since the position was saved"
            )

    @property
    def batches_per_epoch(self) -> int:
        """The number of batches in the current epoch."""
        return len(self._plan)

    def next(self) -> Batch:
        """Return the next batch and move `position` past it."""
        indices = self._plan[self.position.index]
        if self.position.index + 1 < len(self._plan):
            self.position = BatchPosition(self.position.epoch, self.position.index + 1)
        else:
            self.position = BatchPosition(self.position.epoch + 1, 0)
            self._plan = self._plan_epoch(self.position.epoch)
        source = pad_rows([self.pairs.source(index) for index in indices])
        target = pad_rows([self.pairs.target(index) for index in indices])
        return Batch(source, target, indices)

    def _plan_epoch(self, epoch: int) -> list[np.ndarray]:
        """Return the pair indices of each batch of an epoch, in the order of the batches."""
        random = np.random.default_rng([self.seed % 2**63, epoch])
        order = random.permutation(self._lengths.shape[1])
        longer, shorter = self._lengths.max(axis=0)[order], self._lengths.min(axis=0)[order]
        by_length = np.lexsort((shorter, longer))
        order, longer = order[by_length], longer[by_length]
        plan = []
        start = 0
        while start < len(order):
            rows_at_most = self.tokens_per_batch // int(longer[start])
            sizes = longer[start : start + rows_at_most] * np.arange(1, len(longer[start : start + rows_at_most]) + 1)
            rows = int(np.searchsorted(sizes, self.tokens_per_batch, side="right"))
            plan.append(order[start : start + rows])
            start += rows
        return [plan[index] for index in random.permutation(len(plan))]


def pad_rows(sentences: list[np.ndarray]) -> np.ndarray:
    """Return sentences [rows, longest + 1] as int64, each followed by the end id and then by padding."""
    rows = np.full((len(sentences), max(map(len, sentences)) + 1), PAD_ID, dtype=np.int64)
    for row, sentence in zip(rows, sentences):
        row[: len(sentence)] = sentence
        row[len(sentence)] = END_ID
    return rows
