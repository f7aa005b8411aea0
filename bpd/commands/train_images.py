"""`bpd train` for super-resolution: the base or proposal heads, from prepared images to a model folder."""

from __future__ import annotations

from pathlib import Path

import torch

from bpd.commands.image_evaluation import ImageEvaluation
from bpd.commands.prepared_images import PreparedImages
from bpd.commands.training_run import Inputs, run_training
from bpd.config import ImageTrainSettings
from bpd.data.image_batches import ImageBatches
from bpd.errors import BpdError
from bpd.models.model_folder import build_model


def train_images(settings: ImageTrainSettings, data: Path, output: Path, work: Path, base: Path | None) -> None:
    """Train one image model, resuming from `work` what an earlier attempt at the very same run left there."""
    if (settings.heads is not None) != (base is not None):
        raise BpdError(f"{settings.model}: proposal heads need --base, and a base model has none")
    prepared = PreparedImages(data)
    images = prepared.images("train")
    sizes = (settings.input_size, settings.output_size)
    if sizes != (images.input_size, images.output_size):
        raise BpdError(
            f"{settings.model} is to turn {sizes[0]} pixels a side into {sizes[1]}, "
            f"but {images.folder} holds {images.input_size} and {images.output_size}"
        )
    torch.manual_seed(settings.seed)
    training = settings.training
    run_training(
        build_model(settings, None),
        settings,
        Inputs({"data": images.sha256}, {}),
        lambda position: ImageBatches(images, training.micro_batch_images, settings.seed, position),
        ImageEvaluation(prepared.images("dev"), training.evaluate_images),
        base=base,
        output=output,
        work=work,
    )
