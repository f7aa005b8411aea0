"""Foreign model folders and checkpoints: read without executing anything, whole or refused."""

import io
import json
import os
import pickle
import shutil
from pathlib import Path

import pytest
import torch
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from safetensors.torch import load_file, save

from bpd.config import Config, validate_section
from bpd.data.generated_text import generate_corpus
from bpd.data.vocabulary import train_vocabulary
from bpd.errors import BpdError
from bpd.fingerprints import file_sha256
from bpd.training.checkpoint import load_checkpoint, save_checkpoint
from tests.commands.conftest import CONFIG
from tests.field.driver import bpd, refused
from tests.field.fuzzing import as_json, call, changed, foreign, foreign_json, fuzzed, mutated, scratch
from tests.field.tiny_models import write_model

STATE = {
    "identity": "a" * 64,
    "step": 5,
    "model": {"weight": torch.zeros(3)},
    "optimizer": {"state": {}, "param_groups": [{"lr": 0.1}]},
    "position": {"epoch": 1},
    "random": torch.zeros(4, dtype=torch.uint8),
}


class Payload:
    """Runs a command when it is unpickled."""

    def __reduce__(self):
        return os.system, ("touch pwned",)


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("model")
    data = validate_section(Config, CONFIG, "tiny").translation.data
    pairs, *_ = generate_corpus(data.generated)
    train_vocabulary((line for pair in pairs for line in pair), data.vocabulary, root / "vocabulary.model")
    return write_model(root / "both_k3", "both_k3", root / "vocabulary.model")


def inspected(model: Path, name: str, content: bytes, *, resealed: bool = False) -> None:
    """Inspect a copy of the model with a file replaced, and its provenance told of the new weights where `resealed`."""
    with scratch() as folder:
        copy = folder / "model"
        shutil.copytree(model, copy)
        (copy / name).write_bytes(content)
        if resealed:
            about = json.loads((copy / "provenance.json").read_text())
            about["checkpoint_sha256"] = file_sha256(copy / name)
            (copy / "provenance.json").write_text(json.dumps(about))
        call("inspect", copy, "--json").is_well(copy)


@fuzzed(30)
@given(data=st.data())
def test_fuzz_settings_of_a_model_are_its_own_or_refused(model, data):
    valid = (model / "config.yaml").read_bytes()
    values = changed(yaml.safe_load(valid)).map(lambda values: yaml.safe_dump(values).encode("utf-8", "surrogatepass"))
    inspected(model, "config.yaml", data.draw(st.one_of(foreign(valid), values, values)))


@pytest.mark.parametrize("name", ["d_model", "d_ff", "encoder_layers"])
def test_fuzz_settings_of_a_huge_model_take_no_memory(model, name):
    values = yaml.safe_load((model / "config.yaml").read_bytes())
    values["transformer"][name] = 200 if name == "encoder_layers" else 2_000_000
    inspected(model, "config.yaml", yaml.safe_dump(values).encode())


@fuzzed(30)
@given(data=st.data())
def test_fuzz_provenance_is_read_or_refused(model, data):
    inspected(model, "provenance.json", data.draw(foreign_json(json.loads((model / "provenance.json").read_text()))))


@fuzzed(40)
@given(data=st.data())
def test_fuzz_weights_are_whole_or_refused_even_with_their_checksum(model, data):
    valid = (model / "model.safetensors").read_bytes()
    length = 8 + int.from_bytes(valid[:8], "little")
    # Most of the file is numbers, any of which are well: the faults are in its head.
    head = mutated(valid[:length]).map(lambda head: head + valid[length:])
    inspected(model, "model.safetensors", data.draw(st.one_of(head, head, foreign(valid))), resealed=True)


@pytest.mark.parametrize("kind", ["pickle", "torch", "not finite", "fewer"])
def test_fuzz_weights_of_another_kind_are_refused_and_run_nothing(kind, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tensors = load_file(model / "model.safetensors")
    name = sorted(tensors)[0]
    written = io.BytesIO()
    torch.save({"x": Payload()}, written)
    content = {
        "pickle": pickle.dumps(Payload()),
        "torch": written.getvalue(),
        "not finite": save(tensors | {name: tensors[name] * float("nan")}),
        "fewer": save({key: value for key, value in tensors.items() if key != name}),
    }[kind]
    inspected(model, "model.safetensors", content, resealed=True)
    assert not (tmp_path / "pwned").exists()


def test_fuzz_a_changed_vocabulary_is_refused_before_it_is_read(model, tmp_path):
    copy = tmp_path / "model"
    shutil.copytree(model, copy)
    (copy / "vocabulary.model").write_bytes(b"\n\xff\xff\xff\xff\x0f")
    assert not call("translate", copy, "A sentence.").is_well(copy / "vocabulary.model")


@fuzzed(100)
@given(st.data())
def test_fuzz_a_checkpoint_is_whole_or_refused_by_name(data):
    with scratch() as folder:
        path = save_checkpoint(folder, STATE)
        path.write_bytes(data.draw(foreign(path.read_bytes())))
        try:
            found = load_checkpoint(folder, STATE["identity"], torch.device("cpu"))
        except BpdError as error:
            assert path.name in str(error) and len(str(error)) < 3000
        else:
            assert found["identity"] == STATE["identity"]


def test_fuzz_a_checkpoint_runs_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save(STATE | {"position": Payload()}, tmp_path / "checkpoint-00000005.pt")
    with pytest.raises(BpdError, match=r"checkpoint-00000005\.pt: the checkpoint is damaged"):
        load_checkpoint(tmp_path, STATE["identity"], torch.device("cpu"))
    assert not (tmp_path / "pwned").exists()


@fuzzed(25)
@given(content=foreign(b"Two dogs run.\n\nA man sleeps .\n"))
@example(content=b"\x00\n")
@example(content="\ufeffA man\u2028sleeps\x85.\r\n".encode())
@example(content=b"x " * 3_000)
def test_fuzz_ones_own_sentences_are_translated_line_by_line_or_refused_by_line(model, content):
    with scratch() as folder:
        path = folder / "sentences.txt"
        path.write_bytes(content)
        outcome = call("translate", model, "--input", path, "--json", "--criterion", "minimum3")
        if outcome.is_well(path):
            assert outcome.printed.count("\n") == len(content.removesuffix(b"\n").split(b"\n")) * bool(content)


def test_fuzz_a_person_sees_no_traceback_of_a_model_that_is_none(tmp_path):
    (tmp_path / "config.yaml").write_bytes(as_json([1]))
    refused(bpd("inspect", tmp_path), tmp_path)
