"""Weights behind a ReLU: only those of active units are read, and the layer's output is what it was."""

import pytest
import torch
from torch.nn import functional

from bpd.config import HeadSpec
from bpd.decoding.blockwise import blockwise
from bpd.decoding.greedy import greedy
from bpd.models.active_layout import ActiveLayout
from bpd.models.decoding_weights import HeadWeights
from bpd.models.proposal_heads import ProposalHeads
from bpd.models.translation_model import TranslationModel
from tests.decoding.test_real_models import CONFIG, random_inputs


@pytest.mark.parametrize("active", [0, 1, 37, 100])
@torch.inference_mode()
def test_few_active_units_give_the_layers_output(active):
    torch.manual_seed(active)
    weight, bias, hidden = torch.randn(300, 512), torch.randn(300), torch.zeros(1, 512)
    hidden[0, torch.randperm(512)[:active]] = torch.rand(active) + 0.1
    made = ActiveLayout(weight, bias)(hidden)
    torch.testing.assert_close(made, functional.linear(hidden, weight, bias), atol=1e-4, rtol=1e-5)


@torch.inference_mode()
def test_where_most_units_are_active_nothing_is_picked():
    assert ActiveLayout(torch.randn(300, 512), torch.randn(300))(torch.rand(1, 512) + 0.1) is None


@pytest.mark.parametrize("threshold", [-2.0, 0.0, 4.0], ids=["most active", "half", "few"])
@pytest.mark.parametrize("rows", [1, 3])
@torch.inference_mode()
def test_heads_laid_out_propose_what_the_heads_do(threshold, rows):
    torch.manual_seed(7)
    options = {"relu_dropout": 0.0, "residual_dropout": 0.0, "identity_first_head": False}
    heads = ProposalHeads(64, 512, 4, **options).eval()
    heads.hidden.bias.fill_(-threshold)
    torch.nn.init.normal_(heads.output.bias)
    states = torch.randn(rows, 64)
    expected = heads.other_heads(states, heads.transform(states))
    laid_out = HeadWeights(heads)
    made = laid_out.other_heads(states, laid_out.transform(states))
    torch.testing.assert_close(made, expected, atol=1e-4, rtol=1e-5)


def test_blocks_of_sparse_heads_are_those_of_greedy_decoding():
    torch.manual_seed(3)
    spec = HeadSpec(block_size=4, first_head="learned", frozen=False, base_dropout=True, head_loss="mean")
    model = TranslationModel(CONFIG.model_copy(update={"d_model": 64, "d_ff": 512}), 400, spec).eval()
    with torch.no_grad():
        model.heads.hidden.bias.fill_(-1.0)
    inputs, limits = random_inputs(3, 6)
    expected = [decoded.token_ids for decoded in greedy(model, inputs, limits)]
    alone = [blockwise(model, [row], [limit])[0].token_ids for row, limit in zip(inputs, limits, strict=True)]
    assert alone == expected
