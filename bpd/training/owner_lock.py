"""One owner for a folder: no two trainings ever write into one, and a dead owner keeps nobody out."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from bpd.errors import BpdError

NAME = "owner.lock"
_BEAT_SECONDS = 10.0
_WATCH_SECONDS = 45.0
# Some shared file systems are mounted without locks at all.
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class Ownership:
    """A folder held by this process. While it is held, the owner's record in it beats every few seconds."""

    def __init__(self, path: Path, beat_seconds: float) -> None:
        self._path = path
        self._token = uuid.uuid4().hex
        self._beats = 0
        self._beat_seconds = beat_seconds
        self._ended = threading.Event()
        self._beat()
        self._heart = threading.Thread(target=self._live, name="owner of a folder", daemon=True)
        self._heart.start()

    def require(self) -> None:
        """Raise `BpdError` where another process took the folder over, as it may when this machine seemed dead."""
        if _read_owner(self._path).get("token") != self._token:
            raise BpdError(
                f"{self._path.parent}: another process has taken over here; this one stops and writes nothing"
            )

    def release(self) -> None:
        """Give the folder free."""
        self._ended.set()
        self._heart.join()
        if _read_owner(self._path).get("token") == self._token:
            _write(self._path, "")

    def _live(self) -> None:
        while not self._ended.wait(self._beat_seconds):
            if _read_owner(self._path).get("token") != self._token:
                return
            self._beat()

    def _beat(self) -> None:
        self._beats += 1
        record = {
            "token": self._token,
            "beats": self._beats,
            "host": socket.gethostname(),
            "process": os.getpid(),
            "started": psutil.Process().create_time(),
            "job": os.environ.get("SLURM_JOB_ID"),
        }
        _write(self._path, json.dumps(record) + "\n")


@contextmanager
def sole_owner(
    folder: Path, beat_seconds: float = _BEAT_SECONDS, watch_seconds: float = _WATCH_SECONDS
) -> Iterator[Ownership]:
    """Hold `folder` for this process alone; raise `BpdError` naming the other owner while that one lives.

    On one machine the lock is the operating system's own and ends with its process, however that dies. Between
    machines, whose file system may not carry such locks, an owner counts as dead when its record has not changed for
    `watch_seconds`: a job that was started again on another node waits that long.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    with open(path, "a+", encoding="utf-8") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise _refusal(folder, _read_owner(path)) from None
            _refuse_if_running_here(folder, _read_owner(path))
        _refuse_if_alive_elsewhere(folder, watch_seconds)
        ownership = Ownership(path, beat_seconds)
        try:
            yield ownership
        finally:
            ownership.release()


def _refuse_if_running_here(folder: Path, owner: dict[str, Any]) -> None:
    """Refuse where the recorded owner is a running process of this machine: one of that number and starting time."""
    if owner.get("host") != socket.gethostname():
        return
    try:
        started = psutil.Process(owner["process"]).create_time()
    except (psutil.NoSuchProcess, KeyError):
        return
    if abs(started - owner.get("started", 0.0)) < 1.0:
        raise _refusal(folder, owner)


def _refuse_if_alive_elsewhere(folder: Path, watch_seconds: float) -> None:
    """Refuse where the record of an owner on another machine changes while it is watched. Clocks are not compared."""
    path = folder / NAME
    owner = _read_owner(path)
    if not owner or owner.get("host") == socket.gethostname():
        return
    print(f"{folder}: {_name(owner)} was writing here; watching whether it lives ({watch_seconds:.0f} s)", flush=True)
    end = time.monotonic() + watch_seconds
    while time.monotonic() < end:
        time.sleep(min(1.0, watch_seconds / 10))
        if _read_owner(path) not in (owner, {}):
            raise _refusal(folder, _read_owner(path))
    print(f"{folder}: it does not; taking over", flush=True)


def _refusal(folder: Path, owner: dict[str, Any]) -> BpdError:
    return BpdError(f"{folder}: {_name(owner)} is writing here; wait for it or stop it first")


def _name(owner: dict[str, Any]) -> str:
    if not owner:
        return "another process"
    job = f", Slurm job {owner['job']}" if owner.get("job") else ""
    return f"process {owner.get('process')} on {owner.get('host')}{job}"


def _read_owner(path: Path) -> dict[str, Any]:
    """Return the record of an owner; none where it was released, is being written, or cannot be read."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _write(path: Path, text: str) -> None:
    """Write in place: the lock belongs to this very file, which therefore is never replaced."""
    with open(path, "r+", encoding="utf-8") as stream:
        stream.write(text)
        stream.truncate()
