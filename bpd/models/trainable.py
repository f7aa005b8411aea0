"""The small protocol through which training knows models: text and images alike."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor, nn

from bpd.models.proposal_heads import ProposalHeads


class TrainableModel(Protocol):
    """A base model `transformer` with or without proposal `heads`, and the projection that they share.

    It is a `torch.nn.Module`; `pad_id` marks places without a target.
    """

    pad_id: int
    d_model: int
    device: torch.device
    transformer: nn.Module
    heads: ProposalHeads | None
    output_weight: Tensor
    output_bias: Tensor | None

    def training_states(self, source: Tensor, target: Tensor) -> Tensor:
        """Return the decoder's output [batch, target, d_model] that predicts `target` [batch, target]."""
        ...

    def train(self, mode: bool = True) -> Any:
        """Put the whole model into training mode."""
        ...

    def eval(self) -> Any:
        """Put the whole model into evaluation mode."""
        ...

    def parameters(self) -> Any:
        """Return all parameters."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Return all weights by name."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> Any:
        """Take weights over."""
        ...
