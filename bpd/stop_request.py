"""A request to stop: the signals by which schedulers and people end a job, heeded at the next good moment."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# SIGTERM: time limit, preemption, `scancel`, `kill`. SIGUSR1: what some clusters send ahead of these.
STOPPING = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)


class StopRequest:
    """Whether the process was asked to stop, and by which signal."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None

    def __bool__(self) -> bool:
        return self.signal is not None

    def __str__(self) -> str:
        return self.signal.name if self.signal is not None else "a request to another process"


@contextmanager
def heeded_stop_request() -> Iterator[StopRequest]:
    """Yield a request that the first of the stopping signals fulfils; a second Ctrl-C ends the process as usual."""
    request = StopRequest()

    def receive(number: int, _frame: FrameType | None) -> None:
        if request and number == signal.SIGINT:
            raise KeyboardInterrupt
        request.signal = request.signal or signal.Signals(number)

    before = {number: signal.signal(number, receive) for number in STOPPING}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
