"""Decoding once more, one row at a time and straight from the definitions, to compare with."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from tests.decoding.scripted_model import END, Logits

Accepts = Callable[[Sequence[float], int], bool]


def first_best(logits: Sequence[float]) -> int:
    """Return the lowest token id among the best."""
    return min(range(len(logits)), key=lambda token: (-logits[token], token))


def accepts_exact(logits: Sequence[float], proposal: int) -> bool:
    """Whether p₁ would have chosen the proposal itself."""
    return proposal == first_best(logits)


def accepts_top(count: int) -> Accepts:
    """Whether the proposal is among the `count` best, lower ids first among equals."""

    def accepts(logits: Sequence[float], proposal: int) -> bool:
        return proposal in sorted(range(len(logits)), key=lambda token: (-logits[token], token))[:count]

    return accepts


def accepts_distance(epsilon: int) -> Accepts:
    """Whether the proposal's intensity is near the best one."""
    return lambda logits, proposal: abs(proposal - first_best(logits)) <= epsilon


def greedy(logits: Logits, source: Sequence[int], limit: int) -> list[int]:
    """Return the greedy output of p₁."""
    output: list[int] = []
    while len(output) < limit and END not in output:
        output.append(first_best(logits(tuple(source), tuple(output), 1)))
    return output


def blockwise(
    logits: Logits, source: Sequence[int], limit: int, k: int, accepts: Accepts = accepts_exact, minimum: int = 1
) -> tuple[list[int], list[int], int]:
    """Return output, accepted block sizes and calls of section 3, every prefix evaluated anew."""
    source = tuple(source)
    output: list[int] = []
    sizes: list[int] = []
    calls = 1
    while len(output) < limit and END not in output:
        proposals = [first_best(logits(source, tuple(output), head)) for head in range(1, k + 1)]
        accepted = 0
        for index, proposal in enumerate(proposals):
            passes = index < minimum or accepts(logits(source, (*output, *proposals[:index]), 1), proposal)
            if not passes or len(output) + accepted == limit:
                break
            accepted += 1
            if proposal == END:
                break
        reach = min(k, limit - len(output))
        if END in proposals[:reach]:
            reach = proposals.index(END) + 1
        ends_for_sure = reach <= minimum and (proposals[reach - 1] == END or len(output) + reach == limit)
        calls += not ends_for_sure
        output += proposals[:accepted]
        sizes.append(accepted)
    return output, sizes, calls


def normalised_score(logits: Logits, source: Sequence[int], tokens: Sequence[int], penalty: float) -> float:
    """Return log P(tokens) / ((5 + |tokens|)^penalty / 6^penalty)."""
    total = 0.0
    for index, token in enumerate(tokens):
        values = logits(tuple(source), tuple(tokens[:index]), 1)
        total += values[token] - math.log(sum(math.exp(value) for value in values))
    return total / ((5 + len(tokens)) ** penalty / 6**penalty)


def all_ended(symbols: Sequence[int], limit: int) -> list[tuple[int, ...]]:
    """Return every sequence of `symbols` and a last end symbol, of at most `limit` tokens in all."""
    return [(*tokens, END) for length in range(limit) for tokens in itertools.product(symbols, repeat=length)]
