"""Weights laid out for decoding: the same numbers, up to rounding, and never those of yesterday."""

import copy
import pickle

import pytest
import torch
from torch.nn import functional

from bpd.config import HeadSpec
from bpd.decoding.blockwise import blockwise
from bpd.decoding.greedy import greedy
from bpd.models.decoding_layout import DecodingLayout
from bpd.models.translation_model import TranslationModel
from tests.decoding.test_real_models import CONFIG, random_inputs

# Below and above what is packed, wide and tall.
SHAPES = [(24, 16), (2048, 256), (512, 512), (256, 2048)]


@pytest.mark.parametrize(("outputs", "inputs"), SHAPES)
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (1, 3), (2, 2), (1, 5), (3, 1), (4, 9)])
@torch.inference_mode()
def test_a_layout_computes_what_the_layer_does(outputs, inputs, biased, shape):
    torch.manual_seed(outputs + inputs)
    weight = torch.randn(outputs, inputs) / inputs**0.5
    bias = torch.randn(outputs) if biased else None
    states, residual = torch.randn(*shape, inputs), torch.randn(*shape, outputs)
    expected = functional.linear(states, weight, bias)
    layout = DecodingLayout(weight, bias)
    torch.testing.assert_close(layout(states), expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(layout.relu(states), expected.relu(), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(layout.added(residual, states), residual + expected, atol=1e-5, rtol=1e-5)


@torch.inference_mode()
def test_in_mixed_precision_the_residual_stream_keeps_its_own():
    weight, states, residual = torch.randn(512, 512), torch.randn(1, 4, 512), torch.randn(1, 4, 512)
    layout = DecodingLayout(weight)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        made = layout.added(residual, states)
        from_half = layout(states.bfloat16())
    assert made.dtype == torch.float32
    torch.testing.assert_close(made, residual + functional.linear(states, weight), atol=1.0, rtol=0.05)
    torch.testing.assert_close(from_half.float(), functional.linear(states, weight), atol=1.0, rtol=0.05)


def wide_model(seed: int):
    """A model whose layers are large enough to be packed."""
    torch.manual_seed(seed)
    spec = HeadSpec(block_size=4, first_head="learned", frozen=False, base_dropout=True, head_loss="mean")
    return TranslationModel(CONFIG.model_copy(update={"d_model": 256, "d_ff": 512}), 1200, spec).eval()


def test_blocks_of_packed_layers_are_those_of_greedy_decoding():
    model = wide_model(5)
    inputs, limits = random_inputs(5, 6)
    expected = [decoded.token_ids for decoded in greedy(model, inputs, limits)]
    assert [decoded.token_ids for decoded in blockwise(model, inputs, limits)] == expected
    assert [blockwise(model, [row], [limit])[0].token_ids for row, limit in zip(inputs, limits)] == expected


def changed_in_place(model):
    with torch.no_grad():
        model.transformer.embedding.weight.mul_(-1)


def stepped(model):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.5)
    model.output_weight.square().sum().backward()
    optimizer.step()


def loaded(model):
    model.load_state_dict(wide_model(9).state_dict())


def replaced(model):
    weight = torch.nn.Parameter(torch.randn_like(model.output_weight))
    model.transformer.embedding.weight = weight


@pytest.mark.parametrize("change", [changed_in_place, stepped, loaded, replaced])
def test_a_changed_model_is_decoded_with_its_new_weights(change):
    model = wide_model(7)
    inputs, limits = random_inputs(7, 3)
    greedy(model, inputs, limits)
    before = model.decoding_weights()
    assert model.decoding_weights() is before, "laid out once"
    change(model)
    assert not before.is_of(model)
    expected = greedy(model, inputs, limits, cached=False)
    assert [one.token_ids for one in greedy(model, inputs, limits)] == [one.token_ids for one in expected]


def test_copies_for_decoding_are_given_up_in_training_and_not_copied_or_stored():
    model = wide_model(3)
    inputs, limits = random_inputs(3, 2)
    expected = [one.token_ids for one in greedy(model, inputs, limits)]
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert twin._decoding_weights is None
        assert [one.token_ids for one in greedy(twin, inputs, limits)] == expected
    assert not any("decoding" in name for name in model.state_dict())
    model.train()
    assert model._decoding_weights is None
