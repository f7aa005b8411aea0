"""A11: a resumed training is the same training, and what a checkpoint lacks is missed out loud.

Also: kills at other steps, and random draws of other code between the steps
(tests/training/test_loop.py), stops by each signal (tests/training/test_stopping.py), image models whose inputs are
drawn (tests/training/test_image_training.py), another number of processes (tests/commands/test_processes.py).
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
import torch

from bpd.commands.inspect import inspect
from bpd.config import TrainSettings
from bpd.data.batches import TokenBatches
from bpd.data.encoded import EncodedPairs
from bpd.errors import BpdError, Interrupted
from bpd.training.head_loss import heads_of_step
from bpd.training.loop import Trainer
from tests.field.counting import heads_of, settings_for, train, write_pairs

STEPS, STOP, BATCHES = 30, 13, 17


def settings(heads: dict | None = None, **training: object) -> TrainSettings:
    values = {"steps": STEPS, "micro_batches": 2, "micro_batch_tokens": 54, "checkpoint_every": 5} | training
    return settings_for(heads, dropout=0.1, **values)


@pytest.fixture
def pairs(tmp_path: Path) -> EncodedPairs:
    """Pairs that make seventeen batches an epoch, so that steps of two batches end in the middle of one."""
    written = write_pairs(tmp_path / "pairs", [2 + index % 17 for index in range(68)])
    assert TokenBatches(written, 54, settings().seed).batches_per_epoch == BATCHES
    return written


def train_until(
    step: int, pairs: EncodedPairs, folder: Path, monkeypatch: pytest.MonkeyPatch, chosen: TrainSettings | None = None
) -> Path:
    """Train, ask for a stop during `step`, and return the newest checkpoint."""
    take_step = Trainer._take_step

    def signalled_step(self, *arguments):
        if self.step == step - 1:
            os.kill(os.getpid(), signal.SIGTERM)
        return take_step(self, *arguments)

    with monkeypatch.context() as patch, pytest.raises(Interrupted, match=f"saved at step {step} of {STEPS}"):
        patch.setattr(Trainer, "_take_step", signalled_step)
        train(pairs, chosen or settings(), folder)
    return max(folder.glob("work/*/checkpoint-*.pt"))


def curve(folder: Path) -> list[tuple]:
    records = [json.loads(line) for line in (folder / "model" / "training.jsonl").read_text().splitlines()]
    names = ("step", "loss", "learning_rate", "gradient_norm")
    return [tuple(record[name] for name in names) for record in records if record["event"] == "step"]


def hashes(folder: Path) -> dict[str, str]:
    return {name: tensor["sha256"] for name, tensor in inspect(folder / "model")["tensors"].items()}


def test_a11_stopped_in_the_middle_of_an_epoch_the_training_goes_on_as_if_it_had_not(tmp_path, pairs, monkeypatch):
    train(pairs, settings(), tmp_path / "whole")
    path = train_until(STOP, pairs, tmp_path / "parts", monkeypatch)
    state = torch.load(path, weights_only=True)
    assert state["step"] == STOP and state["position"] == {"epoch": 1, "index": 2 * STOP - BATCHES}
    train(pairs, settings(), tmp_path / "parts")
    assert len(curve(tmp_path / "whole")) == STEPS
    assert curve(tmp_path / "whole") == curve(tmp_path / "parts")
    assert hashes(tmp_path / "whole") == hashes(tmp_path / "parts")


def drop_moments_of_one(state: dict) -> None:
    del state["optimizer"]["state"][0]


def drop_second_moment(state: dict) -> None:
    del state["optimizer"]["state"][0]["exp_avg_sq"]


def drop_all_moments(state: dict) -> None:
    state["optimizer"]["state"].clear()


def drop_a_group(state: dict) -> None:
    state["optimizer"]["param_groups"].clear()


def drop_a_weight(state: dict) -> None:
    del state["model"]["transformer.encoder_norm.weight"]


def drop_the_place_in_the_epoch(state: dict) -> None:
    del state["position"]["index"]


def drop(part: str):
    return lambda state: state.pop(part)


@pytest.mark.parametrize(
    "damage",
    [
        *(drop(part) for part in ("identity", "step", "model", "optimizer", "position")),
        drop_moments_of_one,
        drop_second_moment,
        drop_all_moments,
        drop_a_group,
        drop_a_weight,
        drop_the_place_in_the_epoch,
    ],
)
def test_a11_whatever_a_checkpoint_lacks_is_an_error_that_names_it(tmp_path, pairs, monkeypatch, damage):
    """There is no random state to lose: random numbers are a function of seed, step and place in the step."""
    path = train_until(3, pairs, tmp_path, monkeypatch)
    state = torch.load(path, weights_only=True)
    damage(state)
    torch.save(state, path)
    with pytest.raises(BpdError) as error:
        train(pairs, settings(), tmp_path)
    assert str(path) in str(error.value) and "start afresh" in str(error.value)
    assert not (tmp_path / "model").exists()


def test_a11_from_the_checkpoint_before_a_damaged_one_it_is_still_the_same_training(tmp_path, pairs, monkeypatch):
    """What the refusal of a damaged checkpoint advises leads to the same model."""
    train(pairs, settings(), tmp_path / "whole")
    path = train_until(STOP, pairs, tmp_path / "parts", monkeypatch)
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(BpdError, match=r"damaged .* delete it to resume from the checkpoint before it"):
        train(pairs, settings(), tmp_path / "parts")
    path.unlink()
    train(pairs, settings(), tmp_path / "parts")
    assert curve(tmp_path / "whole") == curve(tmp_path / "parts")
    assert hashes(tmp_path / "whole") == hashes(tmp_path / "parts")


def test_a11_with_changed_data_or_settings_nothing_is_resumed(tmp_path, pairs, monkeypatch):
    """Another seed, other pairs: what an earlier training left is not taken up, and is not lost."""
    path = train_until(3, pairs, tmp_path, monkeypatch)
    train(pairs, settings().model_copy(update={"seed": 6}), tmp_path)
    assert [step for step, *_ in curve(tmp_path)] == list(range(1, STEPS + 1))
    other = write_pairs(tmp_path / "other", [3 + index % 16 for index in range(68)])
    train(other, settings(), tmp_path)
    assert [step for step, *_ in curve(tmp_path)] == list(range(1, STEPS + 1))
    assert path.exists()


def test_a11_heads_that_no_step_has_trained_yet_are_no_lack(tmp_path, pairs, monkeypatch):
    """Over an identity first head, a drawn first head gives the others no gradient, and Adam no moments of them."""
    heads = settings(heads_of(3, first_head="identity", head_loss="sampled"))
    seed = next(seed for seed in range(100) if heads_of_step(heads.heads, seed, 1) == (1,))
    chosen = heads.model_copy(update={"seed": seed})
    path = train_until(1, pairs, tmp_path / "parts", monkeypatch, chosen)
    state = torch.load(path, weights_only=True)["optimizer"]
    assert len(state["state"]) < len(state["param_groups"][0]["params"])
    for name in ("whole", "parts"):
        train(pairs, chosen, tmp_path / name)
    assert hashes(tmp_path / "whole") == hashes(tmp_path / "parts")
