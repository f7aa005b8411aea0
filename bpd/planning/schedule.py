"""Wall time of jobs that wait for one another and share cards: list scheduling, longest remaining path first."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    """A job to schedule: how long it takes, how many cards it holds, and which must have ended before."""

    name: str
    seconds: float
    cards: int
    needs: tuple[str, ...]


def critical_path(tasks: Sequence[Task]) -> list[str]:
    """Return the names of the jobs whose durations add up to the least possible wall time, in order.

    Each of `tasks` stands after those that it needs.
    """
    by_name = {task.name: task for task in tasks}
    ends: dict[str, float] = {}
    for task in tasks:
        ends[task.name] = task.seconds + max((ends[name] for name in task.needs), default=0.0)
    path = [max(ends, key=ends.__getitem__)] if tasks else []
    while path and by_name[path[-1]].needs:
        path.append(max(by_name[path[-1]].needs, key=ends.__getitem__))
    return path[::-1]


def wall_seconds(tasks: Sequence[Task], cards: int) -> float:
    """Return the wall time of all jobs on `cards` cards; CPUs are taken to suffice.

    A greedy schedule may take longer with more cards. Cards may also stand idle, so that this is the best over all
    numbers of cards up to the one given, and never longer for more of them.
    """
    least = max((task.cards for task in tasks), default=0)
    return min(_makespan(tasks, held) for held in range(max(least, 1), max(cards, 1) + 1))


def _makespan(tasks: Sequence[Task], cards: int) -> float:
    rest = _remaining(tasks)
    by_name = {task.name: task for task in tasks}
    waiting = {task.name: len(task.needs) for task in tasks}
    followers: dict[str, list[str]] = {task.name: [] for task in tasks}
    for task in tasks:
        for name in task.needs:
            followers[name].append(task.name)
    ready = [(-rest[task.name], task.name) for task in tasks if not task.needs]
    heapq.heapify(ready)
    running: list[tuple[float, str]] = []
    now = 0.0
    while ready or running:
        held_back = []
        while ready:
            entry = heapq.heappop(ready)
            task = by_name[entry[1]]
            if task.cards > cards:
                held_back.append(entry)
                continue
            cards -= task.cards
            heapq.heappush(running, (now + task.seconds, task.name))
        for entry in held_back:
            heapq.heappush(ready, entry)
        now, name = heapq.heappop(running)
        cards += by_name[name].cards
        for follower in followers[name]:
            waiting[follower] -= 1
            if not waiting[follower]:
                heapq.heappush(ready, (-rest[follower], follower))
    return now


def _remaining(tasks: Sequence[Task]) -> Mapping[str, float]:
    """Return for each job how long it and the longest chain of jobs after it take."""
    after = dict.fromkeys((task.name for task in tasks), 0.0)
    seconds = {task.name: task.seconds for task in tasks}
    for task in reversed(tasks):
        total = seconds[task.name] + after[task.name]
        for name in task.needs:
            after[name] = max(after[name], total)
    return {name: seconds[name] + after[name] for name in seconds}
