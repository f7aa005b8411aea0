"""Decoding a whole set: batches of similar lengths, results in the order of the inputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tqdm import tqdm

from bpd.decoding.results import Decoded
from bpd.processes import ALONE, Processes

# The paper's limit, for decoding that no config rules: outputs may be this much longer than their inputs.
MAX_EXTRA_TOKENS = 50

DecodeBatch = Callable[[list[list[int]], list[int]], list[Decoded]]


@dataclass(frozen=True)
class Timed:
    """A result, and its share of its batch's wall-clock time in seconds; none for an empty input."""

    decoded: Decoded | None
    seconds: float


def decode_set(
    decode: DecodeBatch,
    inputs: Sequence[Sequence[int]],
    *,
    end_id: int,
    max_extra_tokens: int,
    batch_rows: int = 64,
    title: str | None = None,
    processes: Processes = ALONE,
) -> list[Timed]:
    """Decode sentences, ids without their end symbol, with `decode`, which takes rows and their length limits.

    A row may be as long as its input (without end symbol) and `max_extra_tokens` more, end symbol included. An
    empty input is not decoded: a blank line stays blank. `title`, if given, names the progress bar.
    """
    rows = [[*row, end_id] if row else [] for row in inputs]
    return decode_rows(decode, rows, [len(row) + max_extra_tokens for row in inputs], batch_rows, title, processes)


def decode_rows(
    decode: DecodeBatch,
    rows: Sequence[Sequence[int]],
    limits: Sequence[int],
    batch_rows: int = 64,
    title: str | None = None,
    processes: Processes = ALONE,
) -> list[Timed]:
    """Decode `rows`, as the model reads them, to `limits` tokens each; an empty row is not decoded.

    Each of `processes` takes a share of the batches, which are the same on any number of them, and returns all results.
    """
    results = [Timed(None, 0.0)] * len(rows)
    order = sorted((index for index, row in enumerate(rows) if row), key=lambda index: (-len(rows[index]), index))
    batches = [order[first : first + batch_rows] for first in range(0, len(order), batch_rows)]
    hidden = title is None or not processes.writes
    with tqdm(total=len(order), desc=title, unit="input", disable=hidden, mininterval=2.0) as bar:
        for _, batch in processes.share(batches):
            start = time.perf_counter()
            decoded = decode([list(rows[index]) for index in batch], [limits[index] for index in batch])
            share = (time.perf_counter() - start) / len(batch)
            for index, result in zip(batch, decoded, strict=True):
                results[index] = Timed(result, share)
            bar.update(len(batch) * processes.size)
    for rank, others in enumerate(processes.gather(results)):
        for batch in batches[rank :: processes.size]:
            for index in batch:
                results[index] = others[index]
    return results
