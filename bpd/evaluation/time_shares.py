"""Where the time of blockwise decoding goes: encoder, model call, cache, verifying, predicting, host."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from bpd.decoding import blockwise as decoding
from bpd.decoding.acceptance import Acceptance
from bpd.decoding.protocol import DecodableModel
from bpd.evaluation.time_records import PARTS
from bpd.evaluation.timing import synchronise
from bpd.models.cache import KeyValueCache
from bpd.models.local_cache import LocalCache

_CACHE_METHODS = ("reserve", "write", "extend", "rewind", "select")


class Stopwatch:
    """Seconds by part; while an inner part runs, the outer one's time stands still."""

    def __init__(self, settle: Callable[[], None]) -> None:
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self._settle = settle
        self._open: list[str] = []
        self._since = 0.0

    def _lap(self) -> None:
        self._settle()
        now = time.perf_counter()
        if self._open:
            self.seconds[self._open[-1]] += now - self._since
        self._since = now

    @contextmanager
    def running(self, part: str) -> Iterator[None]:
        """Count the time within to `part`."""
        self._lap()
        self._open.append(part)
        try:
            yield
        finally:
            self._lap()
            self._open.pop()

    def watch(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return `function`, its time counted to `part`."""

        def watched(*positional: Any, **named: Any) -> Any:
            with self.running(part):
                return function(*positional, **named)

        return watched


def time_shares(
    model: DecodableModel, rows: Sequence[Sequence[int]], limits: Sequence[int], acceptance: Acceptance
) -> dict[str, Any]:
    """Decode `rows` one at a time by the cached protocol; return seconds by part, and iterations.

    `model_call` is the decoder's layers and the heads' hidden layer; `verify` p₁'s logits at the block and the
    criterion; `predict` p₁ … p_k's logits at one position; `host` is all else, Python most of all. Reading the clock
    so often costs time itself, so that shares are to be read, not sums. A first round over the rows is not counted.
    """
    stopwatch = Stopwatch(lambda: synchronise(model.device))
    iterations = calls = 0
    decoder = type(model.start(rows[:1]))
    places = [(type(model), "start", "encode"), (decoder, "advance", "model_call")]
    places += [(kind, name, "cache") for kind in (KeyValueCache, LocalCache) for name in _CACHE_METHODS]
    places += [(decoding, "verify", "verify"), (decoding, "predict", "predict")]
    for warm_up in (True, False):
        for row, limit in zip(rows, limits):
            if warm_up:
                decoding.blockwise(model, [row], [limit], acceptance=acceptance)
                continue
            with _watching(stopwatch, places), stopwatch.running("host"):
                (decoded,) = decoding.blockwise(model, [row], [limit], acceptance=acceptance)
            iterations += decoded.iterations
            calls += decoded.calls
    return {"seconds": stopwatch.seconds, "iterations": iterations, "calls": calls, "inputs": len(rows)}


@contextmanager
def _watching(stopwatch: Stopwatch, places: Sequence[tuple[Any, str, str]]) -> Iterator[None]:
    """Let `stopwatch` watch the functions called `name` of each owner while within."""
    originals = [(owner, name, vars(owner).get(name), getattr(owner, name)) for owner, name, _ in places]
    for (owner, name, part), (*_, function) in zip(places, originals):
        setattr(owner, name, stopwatch.watch(part, function))
    try:
        yield
    finally:
        for owner, name, own, _ in originals:
            if own is None:
                delattr(owner, name)
            else:
                setattr(owner, name, own)
