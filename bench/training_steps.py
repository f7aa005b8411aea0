"""Steps of our training as `bpd train` takes them, and of a plain training of the same size with transformers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from bench.models import ROOT, SEED, Dimensions, head_spec
from bench.peers import marian_ids, marian_model
from bpd.config import HeadSpec, ImageTrainSettings, ImageTransformerConfig, TrainSettings, load_config
from bpd.data.batch import Batch
from bpd.models.combined_model import CombinedModel
from bpd.models.image_model import ImageModel
from bpd.models.translation_model import TranslationModel
from bpd.stop_request import StopRequest
from bpd.training.loop import Evaluation, Trainer

Step = Callable[[], object]
LABEL_SMOOTHING = 0.1


def translation_step(
    shape: Dimensions, batches: Any, device: torch.device | str = "cpu", heads: HeadSpec | None = None
) -> Step:
    """Return what takes one step of training a translation model on `batches`, of one micro-batch, in fp32.

    Without `heads` it trains a base model. Dropout, label smoothing and Adam are those of the paper's config.
    """
    training = load_config(ROOT / "config" / "paper.yaml").translation.base.training
    settings = TrainSettings(
        task="translation",
        model="bench",
        seed=SEED,
        corpus="gold",
        transformer=shape.transformer,
        training=training.model_copy(update={"micro_batches": 1, "precision": "fp32"}),
        heads=heads,
    )
    torch.manual_seed(SEED)
    return _step(TranslationModel(shape.transformer, shape.vocabulary_size, heads), settings, batches, device)


def image_step(
    config: ImageTransformerConfig,
    output_size: int,
    batches: Any,
    device: torch.device | str = "cpu",
    heads: HeadSpec | None = None,
) -> Step:
    """Return what takes one step of training an image model from 8 to `output_size` pixels a side on `batches`."""
    training = load_config(ROOT / "config" / "paper.yaml").super_resolution.base.training
    settings = ImageTrainSettings(
        task="super_resolution",
        model="bench",
        seed=SEED,
        input_size=8,
        output_size=output_size,
        image_transformer=config,
        training=training.model_copy(update={"micro_batches": 1, "precision": "fp32"}),
        heads=heads,
    )
    torch.manual_seed(SEED)
    return _step(ImageModel(config, 8, output_size, heads), settings, batches, device)


def frozen_heads(block_size: int, head_loss: str) -> HeadSpec:
    """Return heads to train over a frozen base, without dropout in the base, as at the smaller scales."""
    return head_spec(block_size, frozen=True, head_loss=head_loss).model_copy(update={"base_dropout": False})


def _step(
    model: CombinedModel, settings: TrainSettings | ImageTrainSettings, batches: Any, device: torch.device | str
) -> Step:
    # Nothing is written: a step touches neither journal nor checkpoint.
    trainer = Trainer(
        model.to(device), lambda _: batches, settings, Path("unused"), "bench", lambda _: Evaluation({}, "")
    )
    request = StopRequest()
    return lambda: trainer._take_step([batches.next()], request)


def hugging_face_step(shape: Dimensions, batch: Batch, device: torch.device | str = "cpu") -> Step:
    """Return what takes one plain training step of transformers' Marian model of `shape` on `batch`, in fp32.

    It is what transformers' own trainer does: label-smoothed cross-entropy, gradients clipped at norm 1, fused AdamW.
    """
    longest = max(batch.source.shape[1], batch.target.shape[1]) + 1
    model = marian_model(shape, longest, device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    parameters = list(model.parameters())
    source, target = (np.array(marian_ids(part.tolist(), shape)) for part in (batch.source, batch.target))

    def step() -> float:
        ids, labels = (torch.from_numpy(part).to(device) for part in (source, target))
        optimizer.zero_grad(set_to_none=True)
        begin = torch.full_like(labels[:, :1], model.config.decoder_start_token_id)
        logits = model(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            decoder_input_ids=torch.cat([begin, labels[:, :-1]], dim=1),
            use_cache=False,
        ).logits
        loss = functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=LABEL_SMOOTHING)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        return loss.item()

    return step
