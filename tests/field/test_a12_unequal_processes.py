"""A12: processes and micro-batches that are not alike train as one process and one batch would.

Also: two and four processes as one, kills, another number of processes, launchers that meet as on two machines,
too many processes (tests/commands/test_processes.py); a batch of four in pieces (tests/training/test_loop.py).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import torch

from bpd import grid
from bpd.commands.decode import decode
from bpd.commands.train import train
from bpd.config import Config, DecodeSettings, TrainSettings, validate_section
from bpd.data.batch import Batch
from bpd.data.batches import TokenBatches, pad_rows
from bpd.data.encoded import EncodedPairs
from bpd.data.prepare import prepare_text
from bpd.models.model_folder import build_model, load_model
from bpd.stop_request import StopRequest
from bpd.training.head_loss import count_targets, heads_of_step
from bpd.training.loop import Evaluation, Trainer
from tests.commands.conftest import CONFIG, TRAINING
from tests.field.counting import VOCABULARY_SIZE, heads_of, settings_for, target_of

ROOT = Path(__file__).resolve().parents[2]
LENGTHS = (1, 1, 2, 5, 12, 20, 33)
SENTENCES, K, STEPS, TOKENS = len(LENGTHS), 4, 20, 40
# What `torchrun` starts: the command line as ever, and on each process a note of the heads of every step.
WATCHED = """
import json, os
from bpd.cli import main
from bpd.training import loop

def noted_plan(*arguments, plan=loop.plan_step):
    step = plan(*arguments)
    with open(os.path.join(os.environ["NOTES"], os.environ["RANK"]), "a") as stream:
        stream.write(json.dumps(step.heads) + chr(10))
    return step

loop.plan_step = noted_plan
main()
"""


@cache
def unequal_data() -> tuple[Path, TemporaryDirectory]:
    """Return a prepared folder of seven training pairs and seven dev sentences of very different length."""
    kept = TemporaryDirectory()
    data = Path(kept.name) / "data"
    prepare_text(grid.prepare_settings(validate_section(Config, CONFIG, "tiny").translation), data)
    pairs = EncodedPairs.open(data / "train")
    ids = np.concatenate([pairs.target(index) for index in range(20)])
    manifest = pairs.manifest
    shutil.rmtree(data / "train")
    sides = [[ids[place : place + length] for place, length in enumerate(part)] for part in (LENGTHS[::-1], LENGTHS)]
    EncodedPairs.write(data / "train", *sides, manifest)
    for language in ("en", "de"):
        lines = (data / f"dev.{language}").read_text(encoding="utf-8").splitlines()
        lines = [lines[0].split()[0], *(" ".join(lines[:count]) for count in (1, 2, 1, 3, 1, 2))]
        (data / f"dev.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return data, kept


def settings_of(heads: dict | None, **training: object) -> TrainSettings:
    values = grid.train_settings(validate_section(Config, CONFIG, "tiny").translation, "base").model_dump(mode="json")
    # Without dropout, whose numbers are drawn for a micro-batch, the dev outputs would say less.
    schedule = {"kind": "inverse_square_root", "scale": 0.1, "warmup_steps": 4}
    training = {"micro_batches": 2, "micro_batch_tokens": TOKENS, "log_every": 1, "schedule": schedule} | training
    values |= {"model": "base" if heads is None else f"fine_tuning_k{K}", "heads": heads}
    values["training"] = TRAINING | {"evaluate_every": 1000, "evaluate_sentences": SENTENCES} | training
    return validate_section(TrainSettings, values, "tiny")


def steps_of(folder: Path) -> list[dict]:
    records = map(json.loads, (folder / "model" / "training.jsonl").read_text().splitlines())
    return [record for record in records if record["event"] == "step"]


def launch(words: Sequence[object], *, notes: Path | None = None) -> subprocess.CompletedProcess:
    """Run a command in two processes, within the minute that a hang would outlast."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "BPD_DEVICE": "cpu"}
    command = [sys.executable, "-m", "bpd.cli", *map(str, words), "--processes", "2"]
    if notes is not None:
        notes.mkdir()
        (notes / "watched.py").write_text(WATCHED)
        launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        command = [*launcher, str(notes / "watched.py"), *map(str, words)]
        environment["NOTES"] = str(notes)
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


def test_a12_two_processes_with_unlike_shares_end_and_train_as_one(tmp_path):
    data, _ = unequal_data()
    settings = settings_of(heads_of(K, head_loss="sampled"), steps=STEPS)
    train(settings_of(None, steps=3), data, tmp_path / "base" / "model", tmp_path / "base" / "work", None, None)
    base = tmp_path / "base" / "model"
    train(settings, data, tmp_path / "one" / "model", tmp_path / "one" / "work", base, None)
    words = ["train", "--settings", settings.model_dump_json(), "--data", data, "--base", base]
    words += ["--work", tmp_path / "two" / "work", "--output", tmp_path / "two" / "model"]
    said = launch(words, notes=tmp_path / "notes")
    assert said.returncode == 0, said.stdout + said.stderr
    assert json.loads((tmp_path / "two" / "model" / "provenance.json").read_text())["processes"] == 2

    first, second = ([json.loads(line) for line in (tmp_path / "notes" / rank).read_text().splitlines()]
                     for rank in ("0", "1"))  # fmt: skip
    assert first == second and len(first) == STEPS and {head for heads in first for head in heads} == {1, 2, 3, 4}
    assert first == [list(heads_of_step(settings.heads, settings.seed, step)) for step in range(1, STEPS + 1)]
    shares = [targets for targets in targets_by_process(data, settings) if 0 in targets and sum(targets) > 0]
    assert shares, "in no step does one process have targets for the drawn head and the other none: a blunt test"

    for record, twin in zip(steps_of(tmp_path / "one"), steps_of(tmp_path / "two"), strict=True):
        assert set(record["head_losses"]) == set(twin["head_losses"])
        for name in ("loss", "gradient_norm", "learning_rate"):
            assert record[name] == pytest.approx(twin[name], rel=1e-3, abs=1e-5), (name, record["step"])
    torch.manual_seed(settings.seed)
    before = build_model(settings, 300).heads.state_dict()
    after = load_model(tmp_path / "two" / "model").model.heads.state_dict()
    for name, value in before.items():
        assert (after[name] - value).unflatten(0, (K, -1)).flatten(1).abs().amax(1).min() > 0, name

    # The dev set, in batches of two, is covered once by both processes.
    config = validate_section(Config, CONFIG, "tiny").translation
    values = grid.decode_settings(config, "both_k3").model_dump() | {"dev_criteria": ["exact"], "test_criteria": []}
    chosen = validate_section(DecodeSettings, values, "tiny")
    decode(chosen, tmp_path / "two" / "model", data, tmp_path / "alone", batch_rows=2)
    words = ["decode", "--settings", chosen.model_dump_json(), "--model", tmp_path / "two" / "model", "--data", data]
    said = launch([*words, "--batch-rows", 2, "--output", tmp_path / "together"])
    assert said.returncode == 0, said.stdout + said.stderr
    alone, together = (records_of(tmp_path / name / "dev" / "exact.jsonl") for name in ("alone", "together"))
    assert [record["index"] for record in together] == list(range(SENTENCES))
    assert alone == together


def records_of(path: Path) -> list[dict]:
    return [json.loads(line) | {"seconds": None} for line in path.read_text().splitlines()]


def targets_by_process(data: Path, settings: TrainSettings) -> list[list[int]]:
    """Return for each step how many targets each process has for the head of the step."""
    stream = TokenBatches(EncodedPairs.open(data / "train"), TOKENS, settings.seed)
    found = []
    for step in range(1, STEPS + 1):
        heads = heads_of_step(settings.heads, settings.seed, step)
        found.append([count_targets(stream.next().target, heads, 0)[0] for _ in range(2)])
    return found


NUMBERS = (1, 17, 2, 9, 1, 5, 13, 3)


def batch_of(numbers: Sequence[int]) -> Batch:
    rows = [np.array(target_of(number)[:-1]) for number in numbers]
    return Batch(pad_rows([np.array([4 + number]) for number in numbers]), pad_rows(rows), np.arange(len(numbers)))


def first_step(folder: Path, pieces: Sequence[Sequence[int]], heads: dict | None, smoothing: float) -> dict:
    """Take one step over `pieces`, each a micro-batch, and return what there is to record of it."""
    settings = settings_for(heads, label_smoothing=smoothing)
    torch.manual_seed(settings.seed)
    model = build_model(settings, VOCABULARY_SIZE)
    trainer = Trainer(model, lambda _: None, settings, folder, "a", lambda _: Evaluation({}))
    return trainer._take_step([batch_of(piece) for piece in pieces], StopRequest())


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("head_loss", [None, "mean", "sampled"])
def test_a12_a_batch_of_eight_and_four_of_two_have_one_gradient(tmp_path, head_loss, smoothing):
    """A mean over micro-batches' means would weigh the tokens of short sentences more."""
    heads = None if head_loss is None else heads_of(K, head_loss=head_loss)
    whole = first_step(tmp_path, [NUMBERS], heads, smoothing)
    for pieces in ([NUMBERS[place : place + 2] for place in range(0, 8, 2)], [NUMBERS[:1], NUMBERS[1:]]):
        parts = first_step(tmp_path, pieces, heads, smoothing)
        assert parts["gradient_norm"] == pytest.approx(whole["gradient_norm"], rel=1e-5)
        assert parts["loss"] == pytest.approx(whole["loss"], rel=1e-5)
        assert parts["tokens"] == whole["tokens"] == sum(NUMBERS) + 8
        assert parts["head_losses"] == pytest.approx(whole["head_losses"], rel=1e-5)


def test_a12_a_micro_batch_without_a_target_for_the_drawn_head_counts_for_nothing(tmp_path):
    """The step's mean is over the tokens there are: an empty share neither divides it nor adds to it."""
    heads = heads_of(K, first_head="identity", frozen=True, head_loss="sampled")
    settings = settings_for(heads)
    assert heads_of_step(settings.heads, settings.seed, 1)[0] > 2, "another seed is needed"
    alone = first_step(tmp_path, [[17, 9]], heads, 0.0)
    beside = first_step(tmp_path, [[17, 9], [1, 1, 1]], heads, 0.0)
    for name in ("loss", "gradient_norm", "head_losses"):
        assert beside[name] == pytest.approx(alone[name], rel=1e-5), name
