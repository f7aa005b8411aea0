"""Targets, draws and averages of the k heads' losses."""

from collections import Counter

import numpy as np
import pytest
import torch
from torch.nn import functional

from bpd.config import HeadSpec, TransformerConfig
from bpd.models.translation_model import TranslationModel
from bpd.training.head_loss import (
    StepHeads,
    count_targets,
    head_losses,
    head_targets,
    heads_of_step,
    plan_step,
    trained_heads,
)

TINY = TransformerConfig(
    d_model=8, d_ff=16, attention_heads=2, encoder_layers=1, decoder_layers=1,
    residual_dropout=0.0, attention_dropout=0.0, relu_dropout=0.0,
)  # fmt: skip
TARGET = torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0]])


def spec(block_size: int = 4, **changes) -> HeadSpec:
    values = {"first_head": "learned", "frozen": False, "base_dropout": True, "head_loss": "mean"} | changes
    return HeadSpec(block_size=block_size, **values)


def averaging(heads: tuple[int, ...], counts: list[int]) -> StepHeads:
    """Return a step that averages the losses of `heads`, each a mean over its `counts` targets."""
    present = sum(count > 0 for count in counts)
    return StepHeads(heads, tuple(counts), tuple(1 / (count * present) if count else 0.0 for count in counts), None)


def test_head_i_at_position_j_aims_at_token_j_plus_i():
    assert head_targets(TARGET, 1, 0).tolist() == TARGET.tolist()
    assert head_targets(TARGET, 2, 0).tolist() == [[6, 7, 2, 0], [2, 0, 0, 0]]
    assert head_targets(TARGET, 4, 0).tolist() == [[2, 0, 0, 0], [0, 0, 0, 0]]
    assert head_targets(TARGET, 6, 0).tolist() == [[0] * 4] * 2
    assert count_targets(TARGET.numpy(), (1, 2, 3, 4, 5, 6), 0) == [6, 4, 2, 1, 0, 0]


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
    counts = count_targets(TARGET.numpy(), heads, 0)
    result = head_losses(model, states, TARGET, averaging(heads, counts), 0, 0.0)
    logits = model.transformer.logits(model.heads.all_heads(states, model.heads.transform(states)))
    means = [
        functional.cross_entropy(
            logits[:, :, head - 1].flatten(0, 1), head_targets(TARGET, head, 0).flatten(), ignore_index=0
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
    step = plan_step(spec(6), 1, 1, [target.numpy()], 0)
    result = head_losses(model, states, target, step, 0, 0.1)
    assert step.counts == (2, 0, 0, 0, 0, 0)
    assert result.loss.item() == pytest.approx(result.sums[0].item() / 2)
    result.loss.backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


def test_a_step_with_no_target_for_its_head_has_zero_loss_and_finite_gradients():
    model = TranslationModel(TINY, 12, spec(4))
    target = torch.tensor([[2]])
    states = model(torch.tensor([[4, 2]]), torch.tensor([[1]]))
    result = head_losses(model, states, target, averaging((4,), [0]), 0, 0.1)
    result.loss.backward()
    assert result.loss.item() == 0.0
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize("pad_id", [0, -1])
def test_where_positions_draw_their_heads_the_loss_is_the_mean_over_the_drawn_targets(pad_id):
    torch.manual_seed(0)
    drawing = spec(3, head_loss="sampled_per_position")
    model = TranslationModel(TINY, 12, drawing)
    model.pad_id = pad_id
    target = torch.tensor([[5, 6, 7, 2], [8, 0, 3, 9]]) if pad_id else TARGET
    step = plan_step(drawing, 7, 3, [target.numpy()], pad_id)
    states = torch.randn(2, 4, 8)
    result = head_losses(model, states, target, step, 0, 0.0)
    logits = model.transformer.logits(model.heads.all_heads(states, model.heads.transform(states)))
    expected, counts = {1: 0.0, 2: 0.0, 3: 0.0}, Counter()
    for row in range(2):
        for position in range(4):
            head = int(step.drawn[0][row, position])
            aim = position + head - 1
            if aim < 4 and target[row, aim] != pad_id:
                loss = functional.cross_entropy(logits[row, position, head - 1][None], target[row, aim][None])
                expected[head] += loss.item()
                counts[head] += 1
    assert step.counts == tuple(counts[head] for head in (1, 2, 3)) and counts.total() > 3
    assert result.sums.tolist() == pytest.approx(list(expected.values()), rel=1e-4)
    assert result.loss.item() == pytest.approx(sum(expected.values()) / counts.total(), rel=1e-4)


def test_draws_of_positions_depend_on_seed_and_step_alone_and_are_even():
    drawing, targets = spec(4, head_loss="sampled_per_position"), [np.full((30, 40), 5), np.full((20, 40), 5)]
    one, again, later = (plan_step(drawing, 3, step, targets, 0) for step in (1, 1, 2))
    assert all(np.array_equal(*pair) for pair in zip(one.drawn, again.drawn, strict=True))
    assert not np.array_equal(one.drawn[0], later.drawn[0])
    shares = np.bincount(np.concatenate([part.flatten() for part in one.drawn]), minlength=5)[1:] / 2000
    assert shares == pytest.approx([0.25] * 4, abs=0.05)
