"""Targets, draws and averages of the k heads' losses."""

from collections import Counter

import numpy as np
import pytest
import torch
from torch.nn import functional

from bpd.config import HeadSpec, TransformerConfig
from bpd.models.translation_model import TranslationModel
from bpd.training.head_loss import count_targets, head_losses, head_targets, heads_of_step, trained_heads

TINY = TransformerConfig(
    d_model=8, d_ff=16, attention_heads=2, encoder_layers=1, decoder_layers=1,
    residual_dropout=0.0, attention_dropout=0.0, relu_dropout=0.0,
)  # fmt: skip
TARGET = torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0]])


def spec(block_size: int = 4, **changes) -> HeadSpec:
    values = {"first_head": "learned", "frozen": False, "base_dropout": True, "head_loss": "mean"} | changes
    return HeadSpec(block_size=block_size, **values)


def test_head_i_at_position_j_aims_at_token_j_plus_i():
    assert head_targets(TARGET, 1).tolist() == TARGET.tolist()
    assert head_targets(TARGET, 2).tolist() == [[6, 7, 2, 0], [2, 0, 0, 0]]
    assert head_targets(TARGET, 4).tolist() == [[2, 0, 0, 0], [0, 0, 0, 0]]
    assert head_targets(TARGET, 6).tolist() == [[0] * 4] * 2
    assert count_targets(TARGET.numpy(), (1, 2, 3, 4, 5, 6)) == [6, 4, 2, 1, 0, 0]


def test_a_drawn_head_depends_on_seed_and_step_alone_and_every_head_has_its_turn():
    sampled = spec(head_loss="sampled")
    draws = [heads_of_step(sampled, 3, step) for step in range(1, 2001)]
    assert draws == [heads_of_step(sampled, 3, step) for step in range(1, 2001)]
    assert draws != [heads_of_step(sampled, 4, step) for step in range(1, 2001)]
    counts = Counter(draws)
    assert set(counts) == {(1,), (2,), (3,), (4,)}
    assert min(counts.values()) > 420


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, (1, 2, 3, 4)),
        ({"frozen": True}, (1, 2, 3, 4)),
        ({"first_head": "identity"}, (1, 2, 3, 4)),
        ({"first_head": "identity", "frozen": True}, (2, 3, 4)),
    ],
)
def test_an_identity_first_head_over_a_frozen_base_has_nothing_to_learn(changes, expected):
    assert trained_heads(spec(**changes)) == expected


@pytest.mark.parametrize("heads", [(1, 2, 3, 4), (2, 3, 4), (3,)])
def test_the_loss_is_the_mean_of_each_heads_mean_over_its_real_targets(heads):
    torch.manual_seed(0)
    model = TranslationModel(TINY, 12, spec())
    source = torch.tensor([[4, 5, 2], [6, 2, 0]])
    states = model(source, torch.tensor([[1, 5, 6, 7], [1, 8, 0, 0]]))
    counts = count_targets(TARGET.numpy(), heads)
    result = head_losses(model, states, TARGET, heads, counts, 0.0)
    logits = model.transformer.logits(model.heads.all_heads(states, model.heads.transform(states)))
    means = [
        functional.cross_entropy(
            logits[:, :, head - 1].flatten(0, 1), head_targets(TARGET, head).flatten(), ignore_index=0
        )
        for head in heads
    ]
    assert result.loss.item() == pytest.approx(torch.stack(means).mean().item(), rel=1e-5)
    expected = [mean.item() * count for mean, count in zip(means, counts, strict=True)]
    assert result.sums.tolist() == pytest.approx(expected, rel=1e-5)


def test_heads_beyond_every_target_are_left_out_instead_of_averaging_nothing():
    model = TranslationModel(TINY, 12, spec(6))
    target = torch.tensor([[2], [2]])
    states = model(torch.tensor([[4, 2], [5, 2]]), torch.tensor([[1], [1]]))
    heads = trained_heads(spec(6))
    counts = count_targets(target.numpy(), heads)
    result = head_losses(model, states, target, heads, counts, 0.1)
    assert counts == [2, 0, 0, 0, 0, 0]
    assert result.loss.item() == pytest.approx(result.sums[0].item() / 2)
    result.loss.backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


def test_a_step_with_no_target_for_its_head_has_zero_loss_and_finite_gradients():
    model = TranslationModel(TINY, 12, spec(4))
    target = torch.tensor([[2]])
    states = model(torch.tensor([[4, 2]]), torch.tensor([[1]]))
    result = head_losses(model, states, target, (4,), count_targets(np.array([[2]]), (4,)), 0.1)
    result.loss.backward()
    assert result.loss.item() == 0.0
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)
