"""Speedup and efficiency of blockwise decoding, computed from timings alone (section 7.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bpd.errors import BpdError
from bpd.evaluation.time_records import ARMS, TimeRecord


@dataclass(frozen=True)
class Speedup:
    """Total greedy time ÷ total blockwise time, with the least and the largest of the repeats.

    `mean_accepted_block_size` is that of the timed inputs: accepted tokens ÷ iterations, sums over all of them.
    `greedy_seconds` and `blockwise_seconds` are for one token on average.
    """

    speedup: float
    low: float
    high: float
    mean_accepted_block_size: float
    greedy_seconds: float
    blockwise_seconds: float
    tokens: int
    repeats: int

    @property
    def efficiency(self) -> float:
        """Speedup ÷ mean accepted block size; its limit is 1, up to noise: an iteration costs a greedy step."""
        return self.speedup / self.mean_accepted_block_size


def speedup(records: Sequence[TimeRecord], protocol: str, batch_rows: int = 1) -> Speedup | None:
    """Return the speedup by one protocol and batch size, or none where it was not timed.

    Raises `BpdError` where the arms did not decode equally many tokens, batch by batch, or one of them is missing.
    """
    found = [record for record in records if (record.protocol, record.batch_rows) == (protocol, batch_rows)]
    if not found:
        return None
    arms = {arm: {(one.repeat, one.batch): one for one in found if one.arm == arm} for arm in ARMS}
    greedy, blockwise = (arms[arm] for arm in ARMS)
    if len(greedy) + len(blockwise) != len(found) or greedy.keys() != blockwise.keys():
        raise BpdError(f"timings of the {protocol} protocol lack one arm or hold one twice; run `bpd time` again")
    if any(greedy[place].tokens != blockwise[place].tokens for place in greedy):
        raise BpdError(f"timings of the {protocol} protocol are of unlike numbers of tokens; run `bpd time` again")
    repeats = sorted({repeat for repeat, _ in greedy})

    def seconds(arm: dict[tuple[int, int], TimeRecord], only: int | None = None) -> float:
        return sum(one.seconds for (repeat, _), one in arm.items() if only is None or repeat == only)

    single = [seconds(greedy, repeat) / seconds(blockwise, repeat) for repeat in repeats]
    tokens = sum(one.tokens for one in blockwise.values())
    return Speedup(
        speedup=seconds(greedy) / seconds(blockwise),
        low=min(single),
        high=max(single),
        mean_accepted_block_size=tokens / sum(one.iterations for one in blockwise.values()),
        greedy_seconds=seconds(greedy) / tokens,
        blockwise_seconds=seconds(blockwise) / tokens,
        tokens=tokens // len(repeats),
        repeats=len(repeats),
    )


def timed_batch_sizes(records: Sequence[TimeRecord]) -> list[int]:
    """Return the batch sizes that were compared, smallest first."""
    return sorted({record.batch_rows for record in records if record.protocol == "batches"})
