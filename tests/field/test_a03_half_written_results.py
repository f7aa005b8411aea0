"""A03: half-written or twice-written results taken for finished ones.

Kind: completion judged by a file existing; no single owner of an output. Owners on other machines and file systems
without locks are in tests/training/test_owner_lock.py, folders that appear as a whole in tests/data/test_folder.py,
truncated records in tests/evaluation/test_records.py. Here commands are killed. Further cases: a disk that is full in
the middle of a file, and two machines that write one folder under the same process number.
"""

import json
import os
import resource
import signal
import socket
import subprocess
import time

import pytest

from bpd import grid
from bpd.commands.decode import decode
from bpd.commands.train import train
from bpd.data.folder import atomic_folder
from bpd.errors import BpdError
from bpd.models.model_folder import load_model, save_weights
from tests.field.driver import bpd, bpd_command, environment, refused, start_bpd
from tests.field.tiny_training import base_settings, checkpoints, prepare, translation_with

LINES = 200


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with prepared data of 200 lines and a base model that has hardly learned."""
    folder = tmp_path_factory.mktemp("a03")
    data = prepare(folder / "data", dev_pairs=LINES)
    train(base_settings(dev_pairs=LINES), data, folder / "model", folder / "work", None, None)
    return folder


@pytest.fixture(scope="module")
def decode_settings():
    settings = grid.decode_settings(translation_with(dev_pairs=LINES), "base")
    return settings.model_copy(update={"dev_criteria": ("exact",)})


def decode_words(trained, settings, output, rows: int) -> list:
    words = ["decode", "--settings", settings.model_dump_json(), "--model", trained / "model"]
    return [*words, "--data", trained / "data", "--output", output, "--batch-rows", rows]


def read_until(run: subprocess.Popen, reached) -> str:
    """Return what `run` has said when that is enough for `reached`."""
    said = ""
    while not reached(said):
        part = os.read(run.stdout.fileno(), 4096).decode("utf-8", "replace")
        assert part, said
        said += part
    return said


def without_seconds(path) -> list[dict]:
    return [json.loads(line) | {"seconds": None} for line in path.read_text(encoding="utf-8").splitlines()]


def test_a03_a_killed_decoding_leaves_no_result_and_a_rerun_is_whole(trained, decode_settings, tmp_path):
    run = start_bpd(*decode_words(trained, decode_settings, tmp_path, rows=1))
    # The bar is drawn first ahead of the first line.
    read_until(run, lambda said: "0/200" in said)
    run.kill()
    assert "200/200" not in run.communicate()[0]
    assert not list(tmp_path.rglob("*.jsonl")) + list(tmp_path.rglob("*.json"))
    decode(decode_settings, trained / "model", trained / "data", tmp_path, 64)
    decode(decode_settings, trained / "model", trained / "data", tmp_path / "undisturbed", 50)
    records = without_seconds(tmp_path / "dev" / "exact.jsonl")
    assert len(records) == LINES and records == without_seconds(tmp_path / "undisturbed" / "dev" / "exact.jsonl")


def with_room_for(size: int, command: list[str]) -> subprocess.CompletedProcess:
    """Run a command that can write `size` bytes to a file and no more, as on a disk that is full."""
    return subprocess.run(
        command,
        env=environment(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
        capture_output=True,
        text=True,
    )


def test_a03_records_that_found_no_room_are_not_there_and_say_so(trained, decode_settings, tmp_path):
    words = decode_words(trained, decode_settings, tmp_path, rows=64)
    refused(with_room_for(2000, bpd_command(*words)), "File too large")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert bpd(*words).returncode == 0 and len(without_seconds(tmp_path / "dev" / "exact.jsonl")) == LINES


def test_a03_weights_that_found_no_room_are_not_there_and_say_so(trained, tmp_path):
    model = load_model(trained / "model").model
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        with pytest.raises(BpdError, match=r"model\.safetensors: the weights cannot be written"):
            save_weights(tmp_path, model)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []


def test_a03_a_second_training_on_a_folder_refuses_and_a_dead_one_keeps_nobody_out(trained, tmp_path):
    settings = base_settings(dev_pairs=LINES, steps=100_000, evaluate_every=100_000)
    words = ["train", "--settings", settings.model_dump_json(), "--data", trained / "data", "--work", tmp_path / "work"]
    words += ["--output", tmp_path / "model"]
    first = start_bpd(*words)
    try:
        while not checkpoints(tmp_path / "work"):
            assert first.poll() is None, first.stdout.read()
            time.sleep(0.02)
        refused(bpd(*words), f"process {first.pid} on {socket.gethostname()}", "is writing here")
        assert first.poll() is None
    finally:
        first.kill()
        first.communicate()
    saved = checkpoints(tmp_path / "work")[-1]
    third = start_bpd(*words)
    said = read_until(third, lambda said: "resuming from step" in said)
    third.send_signal(signal.SIGTERM)
    third.communicate()
    assert int(said.split("resuming from step ")[1].split()[0]) == saved and third.returncode == os.EX_TEMPFAIL


def test_a03_two_machines_may_write_one_folder_under_the_same_process_number(tmp_path, monkeypatch):
    """As jobs in containers do, which count their processes from one: neither sweeps the other's work away."""
    with atomic_folder(tmp_path / "data", last="report.json") as mine:
        (mine / "report.json").write_text("mine")
        monkeypatch.setattr(socket, "gethostname", lambda: "another")
        with atomic_folder(tmp_path / "data", last="report.json") as theirs:
            assert theirs != mine and (mine / "report.json").read_text() == "mine"
            (theirs / "report.json").write_text("theirs")
        assert (tmp_path / "data" / "report.json").read_text() == "theirs"
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
    assert (tmp_path / "data" / "report.json").read_text() == "mine"
