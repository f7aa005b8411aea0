"""Fuzzing what reads foreign bytes: mutations of valid files, and what a command may do with them.

A command that reads them ends well, or with the project's own message that names the file; nothing else, and nothing
half-written stays. Examples are the same in every run; `BPD_FUZZ=50` runs fifty times as many, drawn anew.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from typer.main import get_command

import bpd.cli

_TIMES = int(os.environ.get("BPD_FUZZ", "0"))
# In memory where that is to be had: thousands of files are written and brought to disk.
_SCRATCH_FOLDER = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
# Made once: it takes as long as many a command.
_COMMAND = get_command(bpd.cli.app)

NUMBERS = [
    b"0",
    b"-1",
    b"1e999",
    b"-1e-999",
    b"NaN",
    b"Infinity",
    b"9" * 30,
    b"1" * 5000,
    b"1.5",
    b"true",
    b"1_0",
    b"0x10",
]
FRAGMENTS = [
    b"\xef\xbb\xbf", b"\x00", b"\r\n", b"\r", b"\n", b"\xff\xfe", b"\xed\xa0\x80", b"\\ud800", b'"', b"'", b",", b"{",
    b"[" * 2000, b"]", b"}", b":", b"- ", b"&a [*a]", b"../../../etc/passwd", b"/etc/passwd", b"\xe2\x80\xa8", b"null",
    b"x" * 70000, b"\t", b"\x1b[2J", b"\xc2\x85", b"\x0c", b"{{7*7}}", b"<script>", b"%s%n", *NUMBERS,
]  # fmt: skip
LEAVES = [
    None, True, False, 0, -1, 1, 2, 1.5, -0.0, 1e308, 1e-320, float("nan"), float("inf"), 10**30, 10**400, "", " ", "x",
    "\ud800", "\x00", "../../x", "/etc/passwd", "a\nb", "9", "<script>", [], {}, [[]], [None], {"": 0}, [1, 2],
    "x" * 5000, "\u202e", [0.5], ["\ud800"], {"\ud800": 1},
]  # fmt: skip


def fuzzed(examples: int) -> settings:
    """Return the settings of a fuzz test with so many examples in an ordinary run."""
    return settings(
        max_examples=examples * max(1, _TIMES),
        derandomize=not _TIMES,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """Yield a folder for one example."""
    with tempfile.TemporaryDirectory(prefix="bpd-fuzz-", dir=_SCRATCH_FOLDER) as name:
        yield Path(name)


@dataclass(frozen=True)
class Outcome:
    """How a command ended, and what it said on either stream."""

    status: int
    printed: str
    said: str

    def is_well(self, *named: object, folder: Path | None = None) -> bool:
        """Return whether the command succeeded, having required that else it told of a fault and named one of `named`.

        No half-written file may lie in `folder`.
        """
        if folder is not None and folder.exists():
            assert [path for path in folder.rglob("*") if ".partial-" in path.name] == []
        if self.status == 0:
            return True
        assert self.status == 1, self
        message = self.said[self.said.rfind("bpd: ") :]
        assert message.startswith("bpd: ") and len(message) < 5000, message[:300]
        assert any(str(name) in message for name in named), f"{named} not named in: {message[:600]}"
        return False


def call(*words: object) -> Outcome:
    """Run a command within this process: an exception that the command line lets pass is the test's."""
    # Written as a file is: text that UTF-8 cannot hold is refused.
    printed, said = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    before = sys.argv
    sys.argv = ["bpd", *map(str, words)]
    try:
        with (
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(said),
            mock.patch.object(bpd.cli, "app", _COMMAND),
        ):
            bpd.cli.main()
    except SystemExit as end:
        status = end.code
    else:
        status = 0
    finally:
        sys.argv = before
    printed.flush()
    return Outcome(status or 0, printed.buffer.getvalue().decode("utf-8"), said.getvalue())


@st.composite
def mutated(draw: st.DrawFn, valid: bytes, most: int = 3) -> bytes:
    """Return a file's bytes after one to `most` changes of the kinds that people and disks make."""
    content = valid
    for _ in range(draw(st.integers(1, most))):
        content = draw(st.sampled_from(_CHANGES))(draw, content)
    return content


def _place(draw: st.DrawFn, content: bytes) -> int:
    return draw(st.integers(0, max(0, len(content) - 1)))


def _flip(draw: st.DrawFn, content: bytes) -> bytes:
    place, bit = _place(draw, content), draw(st.integers(0, 7))
    return content[:place] + bytes(byte ^ 1 << bit for byte in content[place : place + 1]) + content[place + 1 :]


def _cut(draw: st.DrawFn, content: bytes) -> bytes:
    return content[: _place(draw, content)]


def _insert(draw: st.DrawFn, content: bytes) -> bytes:
    place = draw(st.sampled_from([0, len(content), _place(draw, content)]))
    return content[:place] + draw(st.sampled_from(FRAGMENTS)) + content[place:]


def _overwrite(draw: st.DrawFn, content: bytes) -> bytes:
    place, new = _place(draw, content), draw(st.one_of(st.binary(min_size=1, max_size=8), st.sampled_from(FRAGMENTS)))
    return content[:place] + new + content[place + len(new) :]


def _remove(draw: st.DrawFn, content: bytes) -> bytes:
    place = _place(draw, content)
    return content[:place] + content[place + draw(st.integers(1, 200)) :]


def _lines(draw: st.DrawFn, content: bytes) -> bytes:
    lines = content.split(b"\n")
    one, other = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    kind = draw(st.sampled_from(["swap", "twice", "drop", "join", "blank"]))
    if kind == "swap":
        lines[one], lines[other] = lines[other], lines[one]
    elif kind == "twice":
        lines.insert(other, lines[one])
    elif kind == "blank":
        lines.insert(other, b"")
    elif kind == "drop":
        del lines[one]
    else:
        lines[one : one + 2] = [b"".join(lines[one : one + 2])]
    return b"\n".join(lines)


def _fields(draw: st.DrawFn, content: bytes) -> bytes:
    """Exchange two fields of a line, or replace one."""
    separator = draw(st.sampled_from([b",", b":", b" ", b"\t", b"/"]))
    lines = content.split(b"\n")
    place = draw(st.integers(0, len(lines) - 1))
    parts = lines[place].split(separator)
    one, other = (draw(st.integers(0, len(parts) - 1)) for _ in range(2))
    if one == other:
        parts[one] = draw(st.sampled_from(FRAGMENTS))
    else:
        parts[one], parts[other] = parts[other], parts[one]
    lines[place] = separator.join(parts)
    return b"\n".join(lines)


def _line_ends(draw: st.DrawFn, content: bytes) -> bytes:
    return content.replace(b"\n", draw(st.sampled_from([b"\r\n", b"\r", b"", b"\n\n", b"\x00\n"])))


_CHANGES = [_flip, _cut, _insert, _overwrite, _remove, _lines, _fields, _line_ends]


@st.composite
def changed(draw: st.DrawFn, values: Any, most: int = 2) -> Any:
    """Return plain values with one to `most` of their parts gone, added, exchanged or of another type."""
    values = deepcopy(values)
    for _ in range(draw(st.integers(1, most))):
        places = list(_places(values))
        if not places:
            return draw(st.sampled_from(LEAVES))
        holder, key = places[draw(st.integers(0, len(places) - 1))]
        kind = draw(st.sampled_from(["replace", "replace", "replace", "drop", "add", "exchange"]))
        if kind == "replace":
            holder[key] = deepcopy(draw(st.sampled_from(LEAVES)))
        elif kind == "drop":
            del holder[key]
        elif kind == "add" and isinstance(holder, list):
            holder.insert(key, deepcopy(holder[key]))
        elif kind == "add":
            holder[draw(st.sampled_from(["new", "", "\ud800", "../x"]))] = deepcopy(holder[key])
        else:
            other, place = places[draw(st.integers(0, len(places) - 1))]
            holder[key], other[place] = deepcopy(other[place]), deepcopy(holder[key])
    return values


def _places(values: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(values, dict | list):
        for key in list(values) if isinstance(values, dict) else range(len(values)):
            yield values, key
            yield from _places(values[key])


def as_json(values: Any) -> bytes:
    """Return values as JSON in the widest sense: what is no number and what is no text is written all the same."""
    return json.dumps(values).encode()


def foreign(valid: bytes) -> st.SearchStrategy[bytes]:
    """Return mutations of a valid file, now and then bytes that have nothing to do with it."""
    return st.one_of(mutated(valid), mutated(valid), mutated(valid), st.binary(max_size=300))


def foreign_json(values: Any) -> st.SearchStrategy[bytes]:
    """Return mutations of a JSON file, of its values or of its bytes."""
    return st.one_of(changed(values).map(as_json), changed(values).map(as_json), foreign(as_json(values)))
