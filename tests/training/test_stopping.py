"""Asked to stop, a training takes the step at hand, saves, and goes on from there as if it had never stopped."""

import os
import signal

import pytest
import torch

from bpd.errors import Interrupted
from bpd.stop_request import heeded_stop_request
from bpd.training.loop import Trainer
from tests.training.conftest import make_settings
from tests.training.test_loop import journal, train


def train_until(step: int, number: signal.Signals, monkeypatch, *arguments) -> str:
    """Train, send this process the signal `number` during `step`, and return what the training said at its end."""
    take_step = Trainer._take_step

    def signalled_step(self, *step_arguments):
        if self.step == step - 1:
            os.kill(os.getpid(), number)
        return take_step(self, *step_arguments)

    with monkeypatch.context() as patch, pytest.raises(Interrupted) as error:
        patch.setattr(Trainer, "_take_step", signalled_step)
        train(*arguments)
    return str(error.value)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGINT])
def test_a_stopped_training_has_saved_that_very_step_and_ends_as_an_undisturbed_one(
    tmp_path, counting_pairs, monkeypatch, number
):
    settings = make_settings(evaluate_every=9)
    whole = train(counting_pairs, tmp_path / "whole", settings)
    before = signal.getsignal(number)
    for step in (5, 9, 18, 29):
        said = train_until(step, number, monkeypatch, counting_pairs, tmp_path / "parts", settings)
        assert f"stopped by {number.name} and saved at step {step} of 30" in said
        assert (tmp_path / "parts" / f"checkpoint-{step:08d}.pt").exists()
        assert signal.getsignal(number) is before
    parts = train(counting_pairs, tmp_path / "parts", settings)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, parts.state_dict()[name]), name
    for event in ("step", "evaluation"):
        assert journal(tmp_path / "whole", event) == journal(tmp_path / "parts", event)
    assert [record["step"] for record in journal(tmp_path / "parts", "evaluation")] == [9, 18, 27, 30]


def test_a_training_asked_to_stop_in_its_last_step_is_finished(tmp_path, counting_pairs, monkeypatch):
    settings = make_settings(steps=6)
    take_step = Trainer._take_step

    def signalled_step(self, *arguments):
        if self.step == 5:
            os.kill(os.getpid(), signal.SIGTERM)
        return take_step(self, *arguments)

    monkeypatch.setattr(Trainer, "_take_step", signalled_step)
    train(counting_pairs, tmp_path / "run", settings)
    assert (tmp_path / "run" / "checkpoint-00000006.pt").exists()


def test_a_second_interrupt_ends_at_once():
    with pytest.raises(KeyboardInterrupt), heeded_stop_request() as request:
        os.kill(os.getpid(), signal.SIGINT)
        assert request and str(request) == "SIGINT"
        os.kill(os.getpid(), signal.SIGINT)
