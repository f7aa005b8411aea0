"""Misreading: in training, the decoder reads tokens that are a little off, or wrong, as its own will be."""

from __future__ import annotations

import torch
from torch import Tensor

_INTENSITIES = 256
# Random intensities are drawn from a wider range and cut: almost half are black or white, where greedy images stray to.
_BEYOND = 96


def misread(tokens: Tensor, covering: Tensor, noise: float, areas: float) -> Tensor:
    """Return `tokens` [batch, output] as the decoder is to read them, intensities still.

    Normal noise of standard deviation `noise` is added to each. Then, with probability `areas`, all tokens under one
    low-resolution intensity become one random intensity; `covering` [output] says under which each token lies.
    """
    if noise:
        off = (torch.randn(tokens.shape, device=tokens.device) * noise).round().long()
        tokens = (tokens + off).clamp(0, _INTENSITIES - 1)
    if areas:
        shape = (len(tokens), int(covering.max()) + 1)
        wrong = torch.randint(-_BEYOND, _INTENSITIES + _BEYOND, shape, device=tokens.device)
        wrong = wrong.clamp(0, _INTENSITIES - 1)
        chosen = torch.rand(shape, device=tokens.device) < areas
        tokens = torch.where(chosen[:, covering], wrong[:, covering], tokens)
    return tokens
