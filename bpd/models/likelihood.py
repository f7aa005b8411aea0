"""How well p₁ knows images: bits per intensity, each predicted from the true ones before it."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

from bpd.models.image_model import ImageModel


@torch.inference_mode()
def bits_per_dimension(model: ImageModel, source: Tensor, target: Tensor) -> Tensor:
    """Return p₁'s mean −log₂ p of an intensity for each of the images [batch].

    `source` [batch, input] and `target` [batch, output] are intensities of the small and the large images.
    """
    states = model.training_states(source, target)
    if model.heads is not None:
        states = model.heads.head(1, states, model.heads.transform(states))
    logits = model.transformer.logits(states).float()
    losses = functional.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="none")
    return losses.view(target.shape).mean(dim=1) / math.log(2)
