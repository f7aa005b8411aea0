"""What every way of decoding returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Decoded:
    """One decoded output.

    `token_ids` include the end symbol if `stop` is `end`; with `length` the output was cut at its length limit.
    `block_sizes` are the tokens accepted at each iteration and sum to the tokens; `calls` are the model calls that
    the row took part in. `score` is beam search's, none elsewhere.
    """

    token_ids: list[int]
    block_sizes: list[int]
    calls: int
    stop: Literal["end", "length"]
    score: float | None = None

    @property
    def iterations(self) -> int:
        """The number of predict–verify–accept iterations; for greedy decoding, of tokens."""
        return len(self.block_sizes)
