"""Accepted blocks: the paper's measure of how many tokens an iteration brings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from bpd.errors import BpdError
from bpd.evaluation.records import DecodeRecord


def mean_accepted_block_size(records: Sequence[DecodeRecord]) -> float:
    """Return accepted tokens ÷ iterations, each summed over the set; the end symbol counts, nothing after it does.

    Raises `BpdError` where nothing was decoded.
    """
    iterations = sum(record.iterations for record in records)
    if iterations == 0:
        raise BpdError("no iterations: every input was blank, so there is no mean accepted block size")
    return sum(len(record.token_ids) for record in records) / iterations


def block_size_counts(records: Iterable[DecodeRecord]) -> dict[int, int]:
    """Return how many iterations accepted each number of tokens, the smallest number first."""
    counts = Counter(size for record in records for size in record.block_sizes)
    return dict(sorted(counts.items()))
