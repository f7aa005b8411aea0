"""The Transformer's size, causality, masking and details."""

import math

import pytest
import torch

from bpd.config import HeadSpec, TransformerConfig
from bpd.models.dropout import Dropout
from bpd.models.layers import sinusoidal_positions
from bpd.models.translation_model import TranslationModel

PAPER = TransformerConfig(
    d_model=512, d_ff=2048, attention_heads=8, encoder_layers=6, decoder_layers=6,
    residual_dropout=0.1, attention_dropout=0.1, relu_dropout=0.1,
)  # fmt: skip
TINY = TransformerConfig(
    d_model=16, d_ff=32, attention_heads=2, encoder_layers=2, decoder_layers=2,
    residual_dropout=0.1, attention_dropout=0.1, relu_dropout=0.1,
)  # fmt: skip


def parameters(model: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def test_the_paper_scale_has_the_parameters_counted_by_hand():
    with torch.device("meta"):
        model = TranslationModel(PAPER, 32_000)
    embedding = 32_000 * 512
    attention = 4 * 512 * 512
    feed_forward = 512 * 2048 + 2048 + 2048 * 512 + 512
    norm = 2 * 512
    encoder = 6 * (attention + feed_forward + 2 * norm) + norm
    decoder = 6 * (2 * attention + feed_forward + 3 * norm) + norm
    assert parameters(model) == embedding + encoder + decoder == 60_487_680


@pytest.mark.parametrize("block_size", [1, 4, 10])
def test_proposal_heads_of_the_paper_scale_have_the_parameters_counted_by_hand(block_size):
    spec = HeadSpec(block_size=block_size, first_head="learned", frozen=True, base_dropout=True, head_loss="sampled")
    with torch.device("meta"):
        heads = TranslationModel(PAPER, 32_000, spec).heads
    hidden, output = block_size * 2048, block_size * 512
    assert parameters(heads) == 512 * hidden + hidden + hidden * output + output


def test_attention_projections_have_no_bias_and_norms_the_original_epsilon():
    model = TranslationModel(TINY, 20)
    names = dict(model.named_parameters())
    assert not [name for name in names if "attention." in name and name.endswith("bias")]
    norms = [module for module in model.modules() if isinstance(module, torch.nn.LayerNorm)]
    assert len(norms) == 2 * 2 + 2 * 3 + 2 and {norm.eps for norm in norms} == {1e-6}


def test_positions_are_a_block_of_sines_then_of_cosines():
    signal = sinusoidal_positions(12, 8)
    assert signal[0].tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    rates = [1e4 ** -(index / 3) for index in range(4)]
    for index, rate in enumerate(rates):
        assert signal[7, index].item() == pytest.approx(math.sin(7 * rate), abs=1e-6)
        assert signal[7, 4 + index].item() == pytest.approx(math.cos(7 * rate), abs=1e-6)
    assert torch.equal(sinusoidal_positions(5, 8, first=7), signal[7:])


def test_no_output_sees_a_later_target_and_each_sees_the_earlier_ones():
    torch.manual_seed(0)
    model = TranslationModel(TINY, 20).eval()
    source, target = torch.randint(3, 20, (1, 6)), torch.randint(3, 20, (1, 9))
    before = model(source, target)
    for place in range(9):
        changed = target.clone()
        changed[0, place] = 3 + (changed[0, place] - 2) % 17
        after = model(source, changed)
        assert torch.equal(before[:, :place], after[:, :place])
        assert (before[:, place:] - after[:, place:]).abs().amax(-1).min() > 1e-6


def test_padding_of_the_source_changes_nothing():
    torch.manual_seed(0)
    model = TranslationModel(TINY, 20).eval()
    source, target = torch.randint(3, 20, (2, 6)), torch.randint(3, 20, (2, 5))
    alone = model(source[:1, :4], target[:1])
    source[0, 4:] = 0
    assert torch.allclose(model(source, target)[:1], alone, atol=1e-6)


def test_positions_beyond_the_first_table_are_the_same_signal():
    torch.manual_seed(0)
    model = TranslationModel(TINY, 20).eval()
    source, target = torch.randint(3, 20, (1, 6)), torch.randint(3, 20, (1, 300))
    short = model(source, target[:, :200])
    long = model(source, target)
    assert torch.isfinite(long).all()
    assert torch.allclose(long[:, :200], short, atol=1e-5)


def test_dropout_keeps_the_mean_and_drops_the_share_asked_for():
    torch.manual_seed(0)
    dropped = Dropout(0.1)(torch.ones(400_000))
    share = (dropped == 0).float().mean().item()
    assert share == pytest.approx(0.1, abs=0.003)
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.003)
    assert dropped.unique().tolist() == pytest.approx([0.0, 1 / 0.9], rel=1e-4)


def test_dropout_is_independent_between_neighbours():
    torch.manual_seed(0)
    dropped = (Dropout(0.5)(torch.ones(400_000)) == 0).float().view(-1, 4)
    correlation = torch.corrcoef(dropped.T) - torch.eye(4)
    assert correlation.abs().max() < 0.02


def test_dropout_rests_outside_training():
    values = torch.randn(10)
    assert Dropout(0.5).eval()(values) is values
    assert Dropout(0.0)(values) is values
