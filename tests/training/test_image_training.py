"""Image models through the same training loop: exact resume, frozen bases, pictures, and an input that is used."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from bpd.config import ImageTrainSettings, validate_section
from bpd.data.image_batches import ImageBatches
from bpd.data.image_set import ImageSet
from bpd.data.raster import to_tokens
from bpd.models.image_model import ImageModel
from bpd.models.likelihood import bits_per_dimension
from bpd.models.misreading import misread
from bpd.models.model_folder import build_model
from bpd.training.loop import Evaluation, Trainer
from tests.commands.conftest import IMAGE_TRAINING
from tests.models.image_models import image_config
from tests.training.test_loop import Stopped


@pytest.fixture
def colours(tmp_path) -> ImageSet:
    """Images of one colour each, which the small image tells: the target is the input, enlarged."""
    random = np.random.default_rng(0)
    images = []
    for number in range(40):
        colour = random.integers(0, 256, 3, dtype=np.uint8)
        images.append((str(number), np.full((2, 2, 3), colour), np.full((4, 4, 3), colour)))
    ImageSet.write(tmp_path / "colours", images, 2, 4, {})
    return ImageSet.open(tmp_path / "colours")


def image_settings(heads: dict | None = None, options: dict | None = None, **training) -> ImageTrainSettings:
    values = {
        "task": "super_resolution",
        "model": "base" if heads is None else f"regular_k{heads['block_size']}",
        "seed": 5,
        "input_size": 2,
        "output_size": 4,
        "image_transformer": image_config(**(options or {})).model_dump(),
        "training": IMAGE_TRAINING | training,
        "heads": heads,
    }
    return validate_section(ImageTrainSettings, values, "test")


def heads(**changes) -> dict:
    values = {"block_size": 3, "first_head": "learned", "frozen": True, "base_dropout": False, "head_loss": "mean"}
    return values | changes


def train(images: ImageSet, folder: Path, settings: ImageTrainSettings, stop_at: int | None = None) -> ImageModel:
    torch.manual_seed(settings.seed)
    model = build_model(settings, None)
    folder.mkdir(exist_ok=True)
    picture = np.zeros((6, 8, 3), dtype=np.uint8)

    def batches(position):
        return ImageBatches(images, settings.training.micro_batch_images, settings.seed, position)

    trainer = Trainer(model, batches, settings, folder, "a", lambda _: Evaluation({"dev_psnr": 1.0}, picture=picture))
    if stop_at is not None:
        take_step = trainer._take_step

        def dying_step(*arguments):
            if trainer.step == stop_at:
                raise Stopped
            return take_step(*arguments)

        trainer._take_step = dying_step
        with pytest.raises(Stopped):
            trainer.run()
    else:
        trainer.run()
    return model


@pytest.mark.parametrize("head_loss", [None, "mean", "sampled", "sampled_per_position"])
def test_a_killed_training_ends_with_the_weights_of_an_undisturbed_one(colours, tmp_path, head_loss):
    spec = None if head_loss is None else heads(head_loss=head_loss, frozen=False)
    options = {"residual_dropout": 0.1, "remaining_mean": True, "token_noise": 6.0, "misread_areas": 0.3}
    settings = image_settings(spec, options, steps=14, micro_batches=2, micro_batch_images=3, evaluate_every=7)
    whole = train(colours, tmp_path / "whole", settings)
    for stop in (5, 13):
        train(colours, tmp_path / "parts", settings, stop_at=stop)
    parts = train(colours, tmp_path / "parts", settings)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, parts.state_dict()[name]), name


@pytest.mark.parametrize("first_head", ["learned", "identity"])
def test_over_a_frozen_base_only_heads_move_their_norm_among_them(colours, tmp_path, first_head):
    settings = image_settings(heads(first_head=first_head))
    torch.manual_seed(settings.seed)
    before = build_model(settings, None).state_dict()
    after = train(colours, tmp_path / "run", settings).state_dict()
    moved = {name for name, value in before.items() if not torch.equal(value, after[name])}
    assert {"heads.hidden.weight", "heads.output.weight", "heads.norm.weight"} <= moved
    assert all(name.startswith("heads.") for name in moved)


def test_fine_tuning_moves_base_output_and_bias(colours, tmp_path):
    settings = image_settings(heads(frozen=False))
    torch.manual_seed(settings.seed)
    before = build_model(settings, None).state_dict()
    after = train(colours, tmp_path / "run", settings).state_dict()
    for name in ("transformer.output.weight", "transformer.output.bias", "transformer.target_embedding.weight"):
        assert not torch.equal(before[name], after[name]), name


def test_an_evaluations_picture_reaches_tensorboard(colours, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    train(colours, tmp_path / "run", image_settings(evaluate_every=3))
    events = EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    events.Reload()
    assert [image.step for image in events.Images("dev/sample")] == [3, 6]
    assert (events.Images("dev/sample")[0].width, events.Images("dev/sample")[0].height) == (8, 6)
    journal = [json.loads(line) for line in (tmp_path / "run" / "training.jsonl").read_text().splitlines()]
    assert [event["tokens_per_second"] > 0 for event in journal if event["event"] == "step"] == [True] * 3


def test_a_model_learns_to_copy_its_inputs_colour_and_misses_it_with_anothers(colours, tmp_path):
    options = {"ordinal_start": True, "covering_pixel": True, "shared_coordinates": True}
    schedule = {"kind": "linear", "peak": 0.01, "warmup_steps": 10}
    settings = image_settings(
        None, options, steps=120, micro_batch_images=8, schedule=schedule, evaluate_every=120, checkpoint_every=120
    )
    model = train(colours, tmp_path / "run", settings)
    source, target = (torch.from_numpy(to_tokens(np.asarray(part))) for part in (colours.inputs, colours.targets))
    right = bits_per_dimension(model, source, target).mean().item()
    wrong = bits_per_dimension(model, source.roll(1, dims=0), target).mean().item()
    assert right < 5.5 and wrong > right + 1.0, (right, wrong)


def test_what_is_misread_is_still_an_intensity_and_keeps_to_its_area():
    torch.manual_seed(0)
    target = torch.full((50, 48), 128)
    covering = torch.arange(48) // 4
    assert torch.equal(misread(target, covering, 0.0, 0.0), target)
    noisy = misread(target, covering, 10.0, 0.0)
    assert (noisy - 128).float().std().item() == pytest.approx(10.0, rel=0.1)
    edges = misread(torch.tensor([[0, 255] * 24]), covering, 50.0, 0.0)
    assert edges.min() >= 0 and edges.max() <= 255
    wrong = misread(target, covering, 0.0, 0.25).view(50, 12, 4)
    assert (wrong == wrong[..., :1]).all(), "an area is misread as one intensity"
    changed = (wrong[..., 0] != 128).float().mean().item()
    assert changed == pytest.approx(0.25, abs=0.06)
    assert wrong.min() >= 0 and wrong.max() <= 255


def test_only_training_misreads(colours):
    model = build_model(image_settings(None, {"token_noise": 30.0, "misread_areas": 0.5}), None)
    source, target = (torch.from_numpy(to_tokens(np.asarray(part[:2]))) for part in (colours.inputs, colours.targets))
    model.eval()
    assert torch.equal(model.training_states(source, target), model.training_states(source, target))
    model.train()
    assert not torch.equal(model.training_states(source, target), model.training_states(source, target))
