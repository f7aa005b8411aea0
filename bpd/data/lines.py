"""Lines of text files: the bytes between two `\\n`, and nothing else, end a line.

A carriage return, U+2028, U+2029, U+0085, VT or FF is text. A final newline ends the last line and begins no other.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from bpd.atomic import atomic_path
from bpd.errors import BpdError

# No sentence is so long: such a file has other line ends, or none, and would be read into memory whole.
LONGEST_LINE_BYTES = 1 << 24
# Text packs to a third or a tenth. What packs to less than a two-hundredth was made to fill a disk or a memory.
_MOST_TIMES = 200
_ALWAYS_BYTES = 1 << 26


def split_lines(content: bytes, where: str = "text") -> list[str]:
    """Return the lines of UTF-8 `content`; raise `BpdError` with `where` and the line number if it is not UTF-8."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_utf8(where, content.count(b"\n", 0, error.start) + 1, error) from None
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def iterate_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file one by one, unpacking it on the way if its name ends in `.gz`.

    Raises `BpdError` where the file is missing or damaged, or a line not UTF-8 or too long (with its number), and where
    a packed file holds more than any text would.
    """
    path = Path(path)
    packed = path.suffix == ".gz"
    try:
        with gzip.open(path, "rb") if packed else open(path, "rb") as stream:
            left = most_unpacked(path) if packed else None
            for number, raw in enumerate(iter(partial(stream.readline, LONGEST_LINE_BYTES + 1), b""), start=1):
                if len(raw) > LONGEST_LINE_BYTES:
                    raise BpdError(
                        f"{path}: line {number} is longer than {LONGEST_LINE_BYTES} bytes; give each sentence its line"
                    )
                if left is not None:
                    left -= len(raw)
                    if left < 0:
                        raise BpdError(f"{path}: line {number}: {too_much_unpacked(path)}")
                try:
                    yield raw.removesuffix(b"\n").decode("utf-8")
                except UnicodeDecodeError as error:
                    raise _not_utf8(str(path), number, error) from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise BpdError(f"{path}: not a whole gzip file ({error}); fetch it again") from None
    except OSError as error:
        raise BpdError(f"{path}: cannot be read: {error.strerror or error}") from None


def most_unpacked(packed: Path) -> int:
    """Return how many bytes a packed file of text may hold: far more than any does."""
    return _ALWAYS_BYTES + _MOST_TIMES * packed.stat().st_size


def too_much_unpacked(packed: Path) -> str:
    """Return in words that a packed file holds more than it may."""
    return f"it unpacks to more than {most_unpacked(packed)} bytes, as no text does; fetch it again"


def read_lines(path: Path) -> list[str]:
    """Return all lines of a UTF-8 file; errors as for `iterate_lines`."""
    return list(iterate_lines(path))


def write_lines(path: Path, lines: Iterable[str]) -> int:
    """Write `lines` to `path` as UTF-8, each ended by `\\n`, all or nothing, and return how many there were.

    Raises `BpdError` for a text that holds a line end itself, or that cannot be written as UTF-8.
    """
    count = 0
    with atomic_path(path) as temporary, open(temporary, "wb") as stream:
        for count, line in enumerate(lines, start=1):
            stream.write(encode_line(line, path, count))
    return count


def encode_line(line: str, path: Path, number: int) -> bytes:
    """Return one line's bytes with its line end; `path` and `number` name it in an error."""
    if "\n" in line:
        raise BpdError(f"{path}: line {number} holds a line end itself, so it would become two: {line[:60]!r}")
    try:
        return line.encode("utf-8") + b"\n"
    except UnicodeEncodeError as error:
        raise BpdError(f"{path}: line {number} cannot be written as UTF-8: {error}") from None


def _not_utf8(where: str, number: int, error: UnicodeDecodeError) -> BpdError:
    byte = error.object[error.start]
    return BpdError(f"{where}: line {number} is not UTF-8 (byte 0x{byte:02x}); convert the file to UTF-8")
