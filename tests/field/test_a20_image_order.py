"""A20: pixel models see nothing of the future, and one order of intensities holds from file to file.

Also: every place of p₁'s forward pass (tests/models/test_image_transformer.py), the decoders against that pass
(tests/models/test_image_decoder.py), squares there and back, and what is no image (tests/data/test_raster.py), lengths
and intensities at any k (tests/decoding/test_image_models.py), local attention by its definition
(tests/models/test_local_attention.py).
"""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from PIL import Image

from bpd.data.raster import to_image, to_tokens
from bpd.decoding.acceptance import Acceptance
from bpd.decoding.blockwise import Step, blockwise
from bpd.models.image_model import ImageModel
from bpd.models.image_transformer import BEGIN_ID
from bpd.trained_image_model import TrainedImageModel
from tests.commands.test_cli import run
from tests.field.faces import OUTPUT_SIZE, TOKENS, faces
from tests.models.image_models import ALL_OPTIONS, image_model, tokens

SIZES = (2, OUTPUT_SIZE)
PLACES = random.Random(5).sample(range(1, TOKENS - 1), 20)
OPTIONS = [{}, ALL_OPTIONS]


def model_of(options: dict, block_size: int = 4) -> ImageModel:
    return image_model(3, block_size, sizes=SIZES, local_block=24, **options)


@torch.no_grad()
def all_heads(model: ImageModel, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return the logits [tokens, k, 256] of all heads for one image."""
    states = model.training_states(source, target)
    return model.transformer.logits(model.heads.all_heads(states, model.heads.transform(states)))[0]


@pytest.mark.parametrize("options", OPTIONS)
def test_a20_no_head_sees_the_intensity_it_predicts_or_a_later_one(options):
    model, source, target = model_of(options), tokens(1, 1, 12), tokens(2, 1, TOKENS)
    before = all_heads(model, source, target)
    for place in PLACES:
        later = target.clone()
        later[0, place:] = tokens(place, 1, TOKENS - place)[0]
        # Index p predicts intensities p, p + 1 … and has read those before p.
        moved = (all_heads(model, source, later) - before).abs().amax((1, 2))
        assert moved[: place + 1].max() < 1e-6
        assert moved[place + 1 : place + 4].max() > 1e-4
        earlier = target.clone()
        earlier[0, place - 1] = (earlier[0, place - 1] + 101) % 256
        moved = (all_heads(model, source, earlier) - before).abs().amax((1, 2))
        assert moved[place] > 1e-4, "the intensity just before changes the prediction"


@pytest.mark.parametrize("options", OPTIONS)
@torch.no_grad()
def test_a20_sampling_from_scratch_says_what_the_forward_pass_says_at_each_of_its_steps(options):
    """Good one-step predictions and bad samples would differ here: the decoder's own tokens, fed to the whole model."""
    model, source = model_of(options), tokens(1, 1, 12)
    steps: list[Step] = []
    (made,) = blockwise(model, source.tolist(), [TOKENS], on_step=steps.append)
    said = all_heads(model, source, torch.tensor([made.token_ids])).argmax(-1)
    assert said[:, 0].tolist() == made.token_ids
    place = 0
    for step in steps:
        room = min(model.block_size, TOKENS - place)
        assert step.proposed[:room] == said[place, :room].tolist(), place
        place += step.accepted
    assert place == TOKENS


@pytest.mark.parametrize("options", [{}, ALL_OPTIONS | {"token_noise": 9.0, "misread_areas": 0.3}])
@torch.no_grad()
def test_a20_what_is_misread_in_training_lets_nothing_of_the_future_through(options):
    """Tokens are read with noise in training, and remaining means are computed from them: of what came before alone."""
    model, source, target = model_of(options).train(), tokens(1, 1, 12), tokens(2, 1, TOKENS)

    def states(target: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(7)
        return model.training_states(source, target)[0]

    before = states(target)
    for place in PLACES[:8]:
        later = target.clone()
        later[0, place:] = tokens(place, 1, TOKENS - place)[0]
        assert (states(later) - before).abs().amax(-1)[: place + 1].max() < 1e-6


def test_a20_row_by_row_red_green_blue_and_back_for_an_image_that_is_no_square():
    image = np.random.default_rng(1).permutation(5 * 7 * 3).astype(np.uint8).reshape(5, 7, 3)
    assert len(np.unique(image)) == 5 * 7 * 3
    sequence = to_tokens(image)
    by_hand = [image[row, column, channel] for row in range(5) for column in range(7) for channel in range(3)]
    assert sequence.tolist() == by_hand
    back = np.zeros_like(image)
    for index, value in enumerate(sequence):
        back[index // 21, index // 3 % 7, index % 3] = value
    assert np.array_equal(back, image)
    assert np.array_equal(to_image(to_tokens(image[:, :5]).tolist(), 5), image[:, :5])


@pytest.mark.parametrize("criterion", ["exact", "distance2", "distance255", "minimum3"])
@pytest.mark.parametrize("block_size", [4, 5])
def test_a20_an_image_is_whole_where_k_does_not_divide_it(block_size, criterion):
    model = model_of(ALL_OPTIONS, block_size)
    results = blockwise(model, tokens(4, 3, 12).tolist(), [TOKENS] * 3, acceptance=Acceptance.parse(criterion))
    for made in results:
        assert len(made.token_ids) == sum(made.block_sizes) == TOKENS and made.stop == "length"
        assert all(0 <= token <= 255 for token in made.token_ids) and BEGIN_ID not in made.token_ids
    ends = np.cumsum(results[0].block_sizes)
    assert (ends % 3 != 0).any(), "no block ends within a pixel: a blunt test"


def test_a20_the_order_holds_from_a_photograph_to_a_written_picture(tmp_path):
    """`bpd upscale` writes at row r, column c the three tokens from 3 · (r · width + c) on."""
    random_numbers = np.random.default_rng(2)
    small = random_numbers.integers(0, 256, (2, 2, 3), dtype=np.uint8)
    photograph, output = tmp_path / "small.png", tmp_path / "large.png"
    Image.fromarray(small).save(photograph)
    folder = faces().model("fine_tuning_k3")
    said = run("upscale", folder, photograph, output)
    assert said.returncode == 0, said.stderr
    with Image.open(output) as picture:
        written = np.asarray(picture.convert("RGB"))
    (made,) = TrainedImageModel(folder).blockwise([small])
    assert np.array_equal(written, made.image)
    for row, column, channel in ((0, 0, 0), (0, 1, 2), (3, 5, 1), (7, 7, 2)):
        assert written[row, column, channel] == made.decoded.token_ids[(row * OUTPUT_SIZE + column) * 3 + channel]
    swapped = TrainedImageModel(folder).blockwise([small[:, :, ::-1]])[0]
    assert swapped.decoded.token_ids != made.decoded.token_ids, "red and blue are told apart"
