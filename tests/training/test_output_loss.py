"""The chunked loss equals PyTorch's cross-entropy, in value and in gradient."""

import pytest
import torch
from torch.nn import functional

from bpd.training import output_loss as module
from bpd.training.output_loss import output_loss


def reference(states, weight, targets, token_weights, smoothing):
    log_probabilities = functional.log_softmax(states @ weight.t(), dim=-1)
    vocabulary = weight.shape[0]
    wanted = torch.full_like(log_probabilities, smoothing / (vocabulary - 1))
    wanted.scatter_(1, targets[:, None], 1 - smoothing)
    losses = -(wanted * log_probabilities).sum(-1)
    return (losses * token_weights).sum(), losses


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("rows_a_chunk", [16, 10_000])
def test_value_and_gradients_equal_the_plain_computation(smoothing, rows_a_chunk, monkeypatch):
    monkeypatch.setitem(module._CHUNK_ELEMENTS, "cpu", rows_a_chunk * 11)
    torch.manual_seed(0)
    states = torch.randn(50, 6, dtype=torch.float64).float().requires_grad_()
    weight = torch.randn(11, 6).requires_grad_()
    targets, token_weights = torch.randint(0, 11, (50,)), torch.rand(50)
    ours, losses = output_loss(states, weight, targets, token_weights, smoothing)
    (ours * 3).backward()
    gradients = states.grad.clone(), weight.grad.clone()
    states.grad = weight.grad = None
    theirs, expected = reference(states, weight, targets, token_weights, smoothing)
    (theirs * 3).backward()
    assert torch.allclose(ours, theirs, rtol=1e-5)
    assert torch.allclose(losses, expected, rtol=1e-4, atol=1e-5)
    assert torch.allclose(gradients[0], states.grad, rtol=1e-4, atol=1e-5)
    assert torch.allclose(gradients[1], weight.grad, rtol=1e-4, atol=1e-5)


def test_a_frozen_projection_gets_no_gradient():
    states, weight = torch.randn(5, 4, requires_grad=True), torch.randn(7, 4)
    output_loss(states, weight, torch.arange(5), torch.ones(5), 0.1)[0].backward()
    assert weight.grad is None and states.grad is not None


def test_no_tokens_give_zero_loss_and_zero_gradient():
    states, weight = torch.zeros(0, 4, requires_grad=True), torch.randn(7, 4, requires_grad=True)
    loss, _ = output_loss(states, weight, torch.zeros(0, dtype=torch.int64), torch.zeros(0), 0.1)
    loss.backward()
    assert loss.item() == 0 and weight.grad.abs().sum() == 0


def test_large_logits_stay_finite():
    states, weight = torch.full((2, 1), 1e4, requires_grad=True), torch.tensor([[1.0], [-1.0]], requires_grad=True)
    loss, _ = output_loss(states, weight, torch.tensor([0, 1]), torch.ones(2), 0.0)
    loss.backward()
    assert loss.item() == pytest.approx(2e4) and torch.isfinite(states.grad).all()


@pytest.mark.parametrize("learns", [True, False])
def test_a_bias_counts_in_value_and_gradient(learns, monkeypatch):
    monkeypatch.setitem(module._CHUNK_ELEMENTS, "cpu", 16 * 11)
    torch.manual_seed(0)
    states, weight = torch.randn(50, 6, requires_grad=True), torch.randn(11, 6, requires_grad=True)
    bias = torch.randn(11, requires_grad=learns)
    targets, token_weights = torch.randint(0, 11, (50,)), torch.rand(50)
    ours, losses = output_loss(states, weight, targets, token_weights, 0.0, bias)
    inputs = (states, weight, bias) if learns else (states, weight)
    gradients = torch.autograd.grad(ours * 2, inputs)
    expected = functional.cross_entropy(states @ weight.t() + bias, targets, reduction="none")
    assert torch.allclose(losses, expected, atol=1e-5)
    for found, right in zip(gradients, torch.autograd.grad(2 * (expected * token_weights).sum(), inputs), strict=True):
        assert torch.allclose(found, right, rtol=1e-4, atol=1e-5)
