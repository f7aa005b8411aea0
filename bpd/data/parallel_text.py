"""Parallel text: sentence pairs, in memory or read as they are needed, and the reasons to drop a pair.

A pair is dropped as a whole: both sides go, and the reason is counted. Dev and test sets keep every line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path

from bpd.data.lines import iterate_lines, read_lines
from bpd.errors import BpdError

Pair = tuple[str, str]
DROP_REASONS = ("empty_source", "empty_target", "empty_both", "too_long", "length_ratio")


@dataclass(frozen=True)
class ParallelText:
    """Sentence pairs in memory: `target[i]` translates `source[i]`."""

    source: list[str]
    target: list[str]

    def __post_init__(self) -> None:
        if len(self.source) != len(self.target):
            raise BpdError(f"parallel text has {len(self.source)} source but {len(self.target)} target lines")

    @classmethod
    def read(cls, source: Path, target: Path) -> ParallelText:
        """Read two files of equally many lines; raise `BpdError` naming both files and their counts if they differ."""
        text = read_lines(source), read_lines(target)
        if len(text[0]) != len(text[1]):
            raise _unequal(source, len(text[0]), target, len(text[1]))
        return cls(*text)

    def __len__(self) -> int:
        return len(self.source)

    def __iter__(self) -> Iterator[Pair]:
        return zip(self.source, self.target, strict=True)


@dataclass(frozen=True)
class ParallelFiles:
    """Sentence pairs in pairs of files, one after the other, read anew and line by line at every iteration."""

    files: Sequence[tuple[Path, Path]]

    def __iter__(self) -> Iterator[Pair]:
        return chain.from_iterable(self._read(source, target) for source, target in self.files)

    @staticmethod
    def _read(source: Path, target: Path) -> Iterator[Pair]:
        counts = [0, 0]
        for source_line, target_line in zip_longest(iterate_lines(source), iterate_lines(target)):
            counts[0] += source_line is not None
            counts[1] += target_line is not None
            if source_line is not None and target_line is not None:
                yield source_line, target_line
        if counts[0] != counts[1]:
            raise _unequal(source, counts[0], target, counts[1])


def drop_empty(pairs: Iterable[Pair], drops: Counter[str]) -> Iterator[Pair]:
    """Yield the pairs with text on both sides; count the others in `drops`. White space alone is no text."""
    for source, target in pairs:
        reason = emptiness(source, target)
        if reason is None:
            yield source, target
        else:
            drops[reason] += 1


def emptiness(source: str, target: str) -> str | None:
    """Return which side of a pair holds no text, as a drop reason, or None."""
    no_source, no_target = not source.strip(), not target.strip()
    if no_source and no_target:
        return "empty_both"
    return "empty_source" if no_source else "empty_target" if no_target else None


def length_problem(source: int, target: int, max_subwords: int, max_length_ratio: float | None) -> str | None:
    """Return why a pair of `source` and `target` subwords (end symbols not counted) is dropped, or None."""
    if max(source, target) > max_subwords:
        return "too_long"
    if max_length_ratio is not None and max(source, target) > max_length_ratio * min(source, target):
        return "length_ratio"
    return None


def _unequal(source: Path, source_count: int, target: Path, target_count: int) -> BpdError:
    return BpdError(
        f"{source} has {source_count} lines but {target} has {target_count}: the lines of parallel files must match "
        "one to one; take both files from the same release"
    )
