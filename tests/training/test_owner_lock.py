"""One owner a folder: the living are respected, on this machine and another; the dead are not."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from bpd.errors import BpdError
from bpd.training.owner_lock import NAME, sole_owner

OWNER = """
import sys, time
from pathlib import Path
from bpd.training.owner_lock import sole_owner
with sole_owner(Path(sys.argv[1])):
    print("mine", flush=True)
    time.sleep(600)
"""


def owner_elsewhere(folder: Path, beats: int = 1) -> None:
    record = {"token": "other", "beats": beats, "host": "node7", "process": 4242, "started": 1.0, "job": "88"}
    folder.mkdir(exist_ok=True)
    (folder / NAME).write_text(json.dumps(record) + "\n")


def test_a_folder_has_one_owner_at_a_time(tmp_path):
    refused = pytest.raises(BpdError, match=rf"process {os.getpid()} on .* is writing here")
    with sole_owner(tmp_path / "work"), refused, sole_owner(tmp_path / "work"):
        pass
    with sole_owner(tmp_path / "work"):
        pass


def test_the_owner_that_was_killed_keeps_nobody_out(tmp_path):
    other = subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "mine\n"
    with pytest.raises(BpdError, match=f"process {other.pid} on .* is writing here"), sole_owner(tmp_path):
        pass
    other.send_signal(signal.SIGKILL)
    other.wait()
    with sole_owner(tmp_path):
        pass


def test_an_owner_on_another_machine_is_respected_while_its_record_changes(tmp_path, capsys):
    """A shared file system need not carry locks between machines."""
    owner_elsewhere(tmp_path)
    ended = threading.Event()

    def live():
        for beats in range(2, 1000):
            if ended.wait(0.05):
                return
            owner_elsewhere(tmp_path, beats)

    heart = threading.Thread(target=live)
    heart.start()
    try:
        refused = pytest.raises(BpdError, match="process 4242 on node7, Slurm job 88 is writing here")
        with refused, sole_owner(tmp_path, watch_seconds=20):
            pass
    finally:
        ended.set()
        heart.join()
    assert "watching whether it lives" in capsys.readouterr().out


def test_an_owner_on_another_machine_whose_record_rests_is_taken_for_dead(tmp_path, capsys):
    owner_elsewhere(tmp_path)
    with sole_owner(tmp_path, watch_seconds=0.3) as owner:
        owner.require()
    assert "taking over" in capsys.readouterr().out


def test_an_owner_that_only_seemed_dead_notices_and_writes_no_more(tmp_path):
    with sole_owner(tmp_path, beat_seconds=0.05) as owner:
        owner_elsewhere(tmp_path)
        with pytest.raises(BpdError, match="another process has taken over"):
            owner.require()
        time.sleep(0.2)
        assert json.loads((tmp_path / NAME).read_text())["token"] == "other", "the other's record stands"
    assert json.loads((tmp_path / NAME).read_text())["token"] == "other"


def test_without_locks_in_the_file_system_a_running_process_is_known_by_number_and_start(tmp_path, monkeypatch):
    def no_locks(*_):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with sole_owner(tmp_path), pytest.raises(BpdError, match="is writing here"), sole_owner(tmp_path):
        pass
    with sole_owner(tmp_path):
        record = json.loads((tmp_path / NAME).read_text())
    (tmp_path / NAME).write_text(json.dumps(record | {"started": record["started"] - 1000}))
    with sole_owner(tmp_path):
        pass


def test_the_record_beats_while_the_folder_is_held(tmp_path):
    with sole_owner(tmp_path, beat_seconds=0.01):
        first = json.loads((tmp_path / NAME).read_text())["beats"]
        for _ in range(500):
            time.sleep(0.01)
            text = (tmp_path / NAME).read_text()
            if text.endswith("\n") and json.loads(text)["beats"] > first:
                break
        else:
            raise AssertionError("the record stands still")
    assert (tmp_path / NAME).read_text() == ""
