"""What a command says where a job was given cards that PyTorch does not see."""

import pytest
import torch

from bpd.device import prepare_device

VARIABLES = ("SLURM_JOB_GPUS", "CUDA_VISIBLE_DEVICES", "BPD_DEVICE")


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.skipif(torch.cuda.is_available(), reason="PyTorch sees a card here")
@pytest.mark.parametrize("name", ["SLURM_JOB_GPUS", "CUDA_VISIBLE_DEVICES"])
def test_cards_that_are_not_seen_are_told_of(name, monkeypatch, capsys):
    monkeypatch.setenv(name, "0,1")
    assert prepare_device().type == "cpu"
    said = capsys.readouterr().err
    assert "warning: this job was given the cards 0,1" in said and "computes on the CPU" in said
    assert torch.__version__ in said and "make install" in said


@pytest.mark.parametrize("variables", [{}, {"CUDA_VISIBLE_DEVICES": ""}, {"SLURM_JOB_GPUS": "0", "BPD_DEVICE": "cpu"}])
def test_who_was_given_none_or_wants_none_is_told_nothing(variables, monkeypatch, capsys):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    prepare_device()
    assert capsys.readouterr().err == ""
