"""The accepted blocks of a translation as a terminal shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from rich.console import Console
from rich.text import Text

from bpd.commands.sentence_time import SentenceTime
from bpd.trained_model import Translation

# Backgrounds, so that a block is seen as one; these two are told apart by colour-blind readers, on dark and on light.
_ACCEPTED = ("black on cyan", "black on yellow")
_REJECTED = "dim"
_SPACE = "▁"
# What no terminal has: text that goes elsewhere is not wrapped.
_UNBOUNDED = 1_000_000


def console_for(stream: TextIO, colour: bool | None) -> Console:
    """Return a console on `stream`; `colour` none: where it is a terminal, unless NO_COLOR or TERM=dumb forbid it."""
    width = None if stream.isatty() else _UNBOUNDED
    if colour is None:
        return Console(file=stream, highlight=False, width=width)
    system = "standard" if colour else None
    return Console(file=stream, highlight=False, width=width, color_system=system, no_color=not colour)


class BlockDisplay:
    """Prints translations with their blocks and counts, and in the end what they come to together."""

    def __init__(self, console: Console, *, greedy: bool, proposals: bool) -> None:
        self._console = console
        self._greedy = greedy
        self._proposals = proposals
        self._coloured = console.color_system is not None and not console.no_color
        self._tokens = self._iterations = self._sentences = 0
        self._times: list[SentenceTime] = []

    def show(self, translation: Translation, time: SentenceTime | None) -> None:
        """Print one translation, its accepted blocks, block sizes and speedup; a blank one as a blank line."""
        self._console.print(Text(translation.text, style="bold"))
        if translation.decoded is None:
            return
        if self._proposals and translation.proposed is not None:
            for number, (block, proposed) in enumerate(zip(translation.blocks, translation.proposed, strict=True)):
                # What is proposed beyond the end is neither read nor rejected.
                last = number + 1 == len(translation.blocks)
                self._step(number, block, [] if last else proposed[len(block) :])
        else:
            self._print(self._line(translation.blocks))
        sizes = translation.decoded.block_sizes
        self._counts("" if self._greedy else f"accepted {' + '.join(map(str, sizes))} = ", sum(sizes), len(sizes), time)
        self._sentences += 1
        self._tokens += sum(sizes)
        self._iterations += len(sizes)
        if time is not None:
            self._times.append(time)

    def close(self) -> None:
        """Print the sums, if there were several sentences."""
        if self._sentences < 2:
            return
        self._console.print()
        self._console.print(Text(f"{self._sentences} sentences", style="bold"))
        self._counts("", self._tokens, self._iterations, total_time(self._times))

    def _counts(self, before: str, tokens: int, iterations: int, time: SentenceTime | None) -> None:
        mean = "" if self._greedy else f": mean accepted block size {tokens / iterations:.2f}"
        self._print(Text(f"{before}{counted(tokens, 'token')} in {counted(iterations, 'iteration')}{mean}"))
        if not self._greedy:
            self._print(Text(against_greedy(tokens / iterations, time)))

    def _print(self, content: Text, first: str = "  ") -> None:
        """Print `content` after `first`, the lines that it is wrapped to below its beginning."""
        width = max(20, self._console.width - len(first))
        for number, line in enumerate(content.wrap(self._console, width)):
            line.rstrip()
            self._console.print(Text(first if number == 0 else " " * len(first)) + line)

    def _line(self, blocks: Sequence[Sequence[str]]) -> Text:
        """Return the blocks one after the other, in alternate colours, or with a bar between where there are none."""
        line = Text()
        for number, block in enumerate(blocks):
            text = joined(block)
            apart = " " if text.startswith(" ") else ""
            if number and not self._coloured:
                line.append(f"{apart}|{apart}")
            elif number:
                line.append(apart)
            line.append(text.removeprefix(" "), _ACCEPTED[number % 2])
        return line

    def _step(self, number: int, block: Sequence[str], rejected: Sequence[str]) -> None:
        """Print an iteration: its number, how many tokens it accepted, these, and the ones it rejected."""
        text = Text.assemble((_alone(block), _ACCEPTED[number % 2]))
        if rejected:
            text.append(f" ✗ {_alone(rejected)}", _REJECTED)
        self._print(text, f"  {number + 1:>3}  {f'+{len(block)}':>3}  ")


def joined(pieces: Sequence[str]) -> str:
    """Return subwords as text: a space before each new word, a point before what continues one within the block."""
    text = ""
    for place, piece in enumerate(pieces):
        if piece.startswith(_SPACE) or (piece.startswith("<") and piece.endswith(">")):
            text += " "
        elif place:
            text += "·"
        text += piece.replace(_SPACE, " ").strip()
    return text


def _alone(pieces: Sequence[str]) -> str:
    """Return subwords as text that stands by itself: a point before what continues a word."""
    text = joined(pieces)
    return text[1:] if text.startswith(" ") else f"·{text}"


def counted(count: int, noun: str) -> str:
    """Return `count` and its noun, in the plural where it must be."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def total_time(times: Sequence[SentenceTime]) -> SentenceTime | None:
    """Return the sums of both ways' times; none for none."""
    if not times:
        return None
    return SentenceTime(sum(time.greedy_seconds for time in times), sum(time.blockwise_seconds for time in times))


def against_greedy(fewer: float, time: SentenceTime | None) -> str:
    """Return in words the speedup in iterations and, where it was measured, in wall-clock time."""
    text = f"against greedy decoding: {fewer:.2f}× fewer iterations"
    if time is None:
        return text
    seconds = f"{time.blockwise_seconds * 1000:.1f} ms, greedy {time.greedy_seconds * 1000:.1f} ms"
    return f"{text}, {time.speedup:.2f}× the speed ({seconds})"
