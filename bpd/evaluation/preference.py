"""Preferences (Table 3): percent of votes for each method, with the 90 % bootstrap interval."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bpd.evaluation.survey import Study
from bpd.evaluation.votes import Vote

CONFIDENCE = 0.9


@dataclass(frozen=True)
class Preference:
    """How often a method was preferred to the baseline: percent and interval, none where nobody voted on it."""

    method: int
    votes: int
    preferred: int
    percent: float | None
    low: float | None
    high: float | None


def preferences(study: Study, votes: Iterable[Vote]) -> list[Preference]:
    """Return the preference for each method of `study`; a repeated pair counts at its first showing only."""
    pairs = {pair.pair: pair for pair in study.pairs}
    counts = [[0, 0] for _ in study.methods]
    for vote in votes:
        pair = pairs[vote.pair]
        if pair.repeat_of is None:
            counts[pair.method][vote.choice == pair.method_side] += 1
    found = []
    for method, (against, preferred) in enumerate(counts):
        total = against + preferred
        if total == 0:
            found.append(Preference(method, 0, 0, None, None, None))
            continue
        low, high = bootstrap_interval(preferred, total, study.bootstrap_samples, [study.seed, method])
        found.append(Preference(method, total, preferred, 100 * preferred / total, low, high))
    return found


def bootstrap_interval(preferred: int, votes: int, samples: int, seed: list[int]) -> tuple[float, float]:
    """Return the 5th and 95th percentile, in percent, of the share of `preferred` among resampled votes.

    Drawing as many votes with replacement gives a binomial number of preferred ones: no vote need be drawn singly.
    """
    shares = np.random.default_rng(seed).binomial(votes, preferred / votes, size=samples) / votes
    low, high = np.quantile(shares, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return 100 * float(low), 100 * float(high)


def require_preference(scored: dict[str, Any], methods: int) -> None:
    """Raise `ValueError` unless `scored` holds a preference for each of `methods` methods, and what raters did."""
    for kind, name in ((list, "methods"), (dict, "raters"), (list, "faults")):
        if not isinstance(scored.get(name), kind):
            raise ValueError(f"{name} is {type(scored.get(name)).__name__}")
    if len(scored["methods"]) != methods:
        raise ValueError(f"{len(scored['methods'])} methods")
    for found in scored["methods"]:
        percents = [found[name] for name in ("percent", "low", "high")]
        well = all(isinstance(number, int | float) and 0 <= number <= 100 for number in percents)
        if not (well or percents == [None] * 3) or type(found["votes"]) is not int or found["votes"] < 0:
            raise ValueError(f"{found}")
    for rater in scored["raters"].values():
        if not all(type(rater[name]) is int and rater[name] >= 0 for name in ("votes", "repeated", "alike")):
            raise ValueError(f"{rater}")


def consistency(study: Study, votes: Iterable[Vote]) -> dict[str, dict[str, int]]:
    """Return for each rater how many repeated pairs they answered both times, and how many alike.

    The sides are exchanged at the second showing: the same answer is the other side.
    """
    answers: dict[str, dict[str, str]] = defaultdict(dict)
    for vote in votes:
        answers[vote.rater][vote.pair] = vote.choice
    found = {}
    for rater, given in sorted(answers.items()):
        both = [pair for pair in study.pairs if pair.repeat_of in given and pair.pair in given]
        alike = sum(given[pair.pair] != given[pair.repeat_of] for pair in both)
        found[rater] = {"votes": len(given), "repeated": len(both), "alike": alike}
    return found
