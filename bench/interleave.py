"""Timing of several ways of doing one thing, in turns, so that a machine that slows down slows all of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from bpd.evaluation.timing import synchronise

Arm = Callable[[], object]


@dataclass(frozen=True)
class Ratio:
    """How many times as long one arm takes as another: the median over the turns, and the least and the largest.

    Or what one arm takes alone, in seconds.
    """

    value: float
    low: float
    high: float

    def __truediv__(self, divisor: float) -> Ratio:
        """Return the ratio in other units, such as for each of `divisor` tokens."""
        return Ratio(self.value / divisor, self.low / divisor, self.high / divisor)

    def __mul__(self, factor: float) -> Ratio:
        """Return the ratio in other units, such as where one arm did `factor` times the work."""
        return Ratio(self.value * factor, self.low * factor, self.high * factor)


@dataclass(frozen=True)
class Timings:
    """The seconds of each arm, turn by turn: every arm has equally many."""

    seconds: Mapping[str, tuple[float, ...]]

    def median(self, arm: str) -> float:
        """Return the median seconds of an arm."""
        return statistics.median(self.seconds[arm])

    def ratio(self, arm: str, other: str) -> Ratio:
        """Return seconds of `arm` ÷ seconds of `other`, compared turn by turn."""
        single = [first / second for first, second in zip(self.seconds[arm], self.seconds[other], strict=True)]
        return Ratio(statistics.median(single), min(single), max(single))

    def alone(self, arm: str) -> Ratio:
        """Return the seconds of an arm, held against nothing."""
        return Ratio(self.median(arm), min(self.seconds[arm]), max(self.seconds[arm]))

    def summary(self) -> dict[str, dict[str, float]]:
        """Return median, least and largest seconds of each arm, rounded, for the record."""
        return {
            arm: {
                "median": round(self.median(arm), 7),
                "least": round(min(values), 7),
                "largest": round(max(values), 7),
            }
            for arm, values in self.seconds.items()
        }


def interleave(
    arms: Mapping[str, Arm],
    *,
    repeats: int = 5,
    warm_ups: int = 1,
    device: torch.device | str = "cpu",
    clock: Callable[[], float] = time.perf_counter,
) -> Timings:
    """Time each of `arms` `repeats` times, in turns, after `warm_ups` untimed turns.

    Each turn begins with another arm, so that none always follows the same one. `device` is synchronised on both sides
    of each measurement. Raises `ValueError` without an arm or a repeat.
    """
    if not arms or repeats < 1:
        raise ValueError(f"{len(arms)} arms and {repeats} repeats leave nothing to time")
    names = list(arms)
    device = torch.device(device)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(-warm_ups, repeats):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            synchronise(device)
            start = clock()
            arms[name]()
            synchronise(device)
            elapsed = clock() - start
            if turn >= 0:
                seconds[name].append(elapsed)
    return Timings({name: tuple(values) for name, values in seconds.items()})
