"""Lines of text files: the bytes between two `\\n`, and nothing else, end a line.

A carriage return, U+2028, U+2029, U+0085, VT or FF is text. A final newline ends the last line and begins no other.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from bpd.atomic import atomic_path
from bpd.errors import BpdError


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

    Raises `BpdError` where the file is missing, damaged or not UTF-8 (with the number of the line).
    """
    path = Path(path)
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb") as stream:
            for number, raw in enumerate(stream, start=1):
                try:
                    yield raw.removesuffix(b"\n").decode("utf-8")
                except UnicodeDecodeError as error:
                    raise _not_utf8(str(path), number, error) from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise BpdError(f"{path}: not a whole gzip file ({error}); fetch it again") from None
    except OSError as error:
        raise BpdError(f"{path}: cannot be read: {error.strerror or error}") from None


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
