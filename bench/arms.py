"""Timing arms in turns, so that what else the machine does falls on all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench.random_models import DEVICE
from bpd.evaluation.timing import synchronise


@dataclass(frozen=True)
class Measured:
    """Seconds of each round of one arm."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median round, in seconds."""
        return statistics.median(self.seconds)

    def as_json(self) -> dict[str, float | int]:
        """Return median, least and largest round in seconds, and how many there were."""
        return {
            "median": self.median, "least": min(self.seconds), "largest": max(self.seconds),
            "rounds": len(self.seconds),
        }  # fmt: skip


def measure(arms: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, Measured]:
    """Call every arm once unmeasured, then `rounds` times in turns, and return each one's seconds.

    Every other round goes through the arms backwards. A card is waited for on both sides of each measurement.
    """
    seconds: dict[str, list[float]] = {name: [] for name in arms}
    for arm in arms.values():
        arm()
    for number in range(rounds):
        order = list(arms) if number % 2 == 0 else list(reversed(arms))
        for name in order:
            synchronise(DEVICE)
            began = time.perf_counter()
            arms[name]()
            synchronise(DEVICE)
            seconds[name].append(time.perf_counter() - began)
    return {name: Measured(tuple(values)) for name, values in seconds.items()}


def ratio(measured: Mapping[str, Measured], above: str, below: str) -> float:
    """Return the median, over rounds, of the seconds of `above` ÷ those of `below` in the same round."""
    pairs = zip(measured[above].seconds, measured[below].seconds, strict=True)
    return statistics.median(one / other for one, other in pairs)
