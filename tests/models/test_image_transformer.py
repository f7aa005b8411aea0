"""The Image Transformer: causal in raster order, positioned and embedded as the original, counted by hand."""

import math

import pytest
import torch

from bpd.config import HeadSpec, load_config
from bpd.models.image_model import ImageModel
from bpd.models.image_transformer import (
    BEGIN_ID,
    ImageTransformer,
    covering_tokens,
    image_positions,
    ordinal_vectors,
    tokens_before,
)
from tests.models.image_models import ALL_OPTIONS, image_config, image_model, tokens
from tests.test_config import PAPER

OPTIONS = [{}, ALL_OPTIONS, {"covering_pixel": True}, {"remaining_mean": True}]


@pytest.mark.parametrize("options", OPTIONS)
@torch.no_grad()
def test_a_later_intensity_changes_no_earlier_prediction_and_some_later_one(options):
    model = image_model(**options)
    source, target = tokens(1, 1, 12), tokens(2, 1, 48)
    before = model.transformer.logits(model.training_states(source, target))
    for place in range(48):
        changed = target.clone()
        changed[0, place] = (changed[0, place] + 101) % 256
        moved = (model.transformer.logits(model.training_states(source, changed)) - before).abs().amax(-1)[0]
        assert moved[: place + 1].max() < 1e-6
        assert place == 47 or moved[place + 1 :].max() > 1e-4


@pytest.mark.parametrize("options", OPTIONS)
@torch.no_grad()
def test_the_input_image_changes_every_prediction(options):
    model = image_model(**options)
    source, target = tokens(1, 1, 12), tokens(2, 1, 48)
    other = source.clone()
    other[0, 5] = (other[0, 5] + 101) % 256
    one, two = (model.transformer.logits(model.training_states(x, target)) for x in (source, other))
    assert (one - two).abs().amax(-1).min() > 0


def test_the_paper_scale_has_as_many_parameters_as_a_count_by_hand():
    config = load_config(PAPER).super_resolution
    model = ImageTransformer(config.image_transformer, 8, 32)
    d, ff = 512, 2048
    embeddings = 2 * 3 * 256 * d
    attention = 4 * d * d
    feed_forward = d * ff + ff + ff * d + d
    norm = 2 * d
    encoder = 4 * (attention + feed_forward + 2 * norm)
    decoder = 8 * (2 * attention + feed_forward + 3 * norm)
    output = d * 256 + 256
    assert sum(p.numel() for p in model.parameters()) == embeddings + encoder + decoder + output == 47_118_592
    k = 10
    spec = HeadSpec(block_size=k, first_head="learned", frozen=True, base_dropout=True, head_loss="sampled")
    heads = ImageModel(config.image_transformer, 8, 32, spec).heads
    by_hand = (d * k * ff + k * ff) + (k * ff * k * d + k * d) + norm
    assert sum(p.numel() for p in heads.parameters()) == by_hand


def test_positions_are_half_the_row_and_half_the_column_times_channel():
    signal = image_positions(4, 8)
    assert signal.shape == (48, 8)
    # Row 2, column 1, channel 2 of the 4×4 image: column·channel coordinate 5; wavelengths 1 and 10⁴.
    entry = signal[2 * 12 + 1 * 3 + 2]
    expected = [math.sin(2), math.sin(2e-4), math.cos(2), math.cos(2e-4)]
    expected += [math.sin(5), math.sin(5e-4), math.cos(5), math.cos(5e-4)]
    assert entry.tolist() == pytest.approx(expected, abs=1e-6)


def test_shared_coordinates_put_a_small_pixel_in_the_middle_of_what_it_covers():
    signal = image_positions(2, 8, scale=4)
    # Row 1, column 0, channel 1: middle of rows 4…7 is 5.5, of columns 0…3 is 1.5, which counts three intensities.
    entry = signal[1 * 6 + 0 * 3 + 1]
    assert entry[0].item() == pytest.approx(math.sin(5.5)) and entry[4].item() == pytest.approx(math.sin(1.5 * 3 + 1))


def test_covering_tokens_by_hand():
    covering = covering_tokens(2, 4).view(4, 4, 3)
    assert covering[0, 0].tolist() == [0, 1, 2] and covering[1, 1].tolist() == [0, 1, 2]
    assert covering[0, 2].tolist() == [3, 4, 5] and covering[3, 1].tolist() == [6, 7, 8]
    assert covering[2, 3].tolist() == [9, 10, 11]


def test_tokens_before_are_those_of_the_same_area_and_channel():
    places, counts = tokens_before(2, 4)
    covering = covering_tokens(2, 4)
    for token in range(48):
        expected = [other for other in range(token) if covering[other] == covering[token]]
        assert counts[token] == len(expected) and places[token, : len(expected)].tolist() == expected


def test_remaining_means_by_hand():
    model = ImageTransformer(image_config(**ALL_OPTIONS), 1, 2)
    source = torch.tensor([[100, 50, 200]])
    written = torch.tensor([[90, 60, 255, 130, 0, 255, 20, 7, 255, 1, 2, 3]])
    means = model.remaining_means(written, torch.arange(12), source)[0].tolist()
    red = [100, (400 - 90) // 3, (400 - 90 - 130) // 2, 400 - 90 - 130 - 20]
    green = [50, (200 - 60) // 3, (200 - 60 - 0) // 2, 200 - 60 - 0 - 7]
    # 800 − 3 · 255 = 35: the last blue; before, (800 − 255) // 3 and (800 − 510) // 2.
    blue = [200, 181, 145, 35]
    assert means == [value for pixel in zip(red, green, blue, strict=True) for value in pixel]
    bright = torch.tensor([[255, 255, 0]])
    assert model.remaining_means(torch.zeros(1, 12, dtype=torch.int64), torch.arange(12), bright).max() == 255


def test_ordinal_vectors_are_the_more_alike_the_nearer_their_intensities():
    torch.manual_seed(0)
    vectors = ordinal_vectors(96)
    assert vectors.std().item() == pytest.approx(1.0, abs=1e-4)
    alike = torch.nn.functional.cosine_similarity
    near, middle, far = (alike(vectors[:-step], vectors[step:]).mean() for step in (1, 40, 150))
    assert near > 0.98 and near > middle > far


@torch.no_grad()
def test_embeddings_are_of_the_token_before_by_its_channel_and_first_comes_a_zero_vector():
    model = ImageTransformer(image_config(), 2, 4)
    memory = torch.zeros(1, 12, 16)
    before = torch.tensor([[BEGIN_ID, 7, 7, 7, 0]])
    states = model.embed(before, torch.arange(5), memory, None)[0] - model._positions[:5]
    table, scale = model.target_embedding.weight, math.sqrt(16)
    assert torch.equal(states[0], torch.zeros(16))
    for index, row in ((1, 7), (2, 256 + 7), (3, 512 + 7), (4, 0)):
        assert torch.allclose(states[index], table[row] * scale, atol=1e-5), index
