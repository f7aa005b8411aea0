"""The combined scoring and proposal model of section 4, as far as text and images have it in common."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bpd.models.decoding_weights import DecodingWeights, decoding_weights
from bpd.models.proposal_heads import ProposalHeads


class CombinedModel(nn.Module):
    """A base model, `transformer`, with or without proposal `heads`; without them it is p₁ alone.

    It is all that training knows of a model. Subclasses name the projection that all heads share, and say how a batch
    becomes the decoder's output; `pad_id` marks places without a target.
    """

    pad_id: int
    transformer: nn.Module
    heads: ProposalHeads | None
    _decoding_weights: DecodingWeights | None = None

    def decoding_weights(self) -> DecodingWeights:
        """Return the weights laid out for decoding: kept until they change, or the model is trained again."""
        if self._decoding_weights is None or not self._decoding_weights.is_of(self):
            self._decoding_weights = decoding_weights(self, self.output_weight, self.output_bias)
        return self._decoding_weights

    def train(self, mode: bool = True) -> CombinedModel:
        """Set the mode of training; the copies made for decoding are given up with the first step towards it."""
        if mode:
            self._decoding_weights = None
        return super().train(mode)

    def training_states(self, source: Tensor, target: Tensor) -> Tensor:
        """Return the decoder's output [batch, target, d_model] that predicts `target` [batch, target]."""
        raise NotImplementedError

    @property
    def block_size(self) -> int:
        """k: how many tokens the model can propose at once."""
        return 1 if self.heads is None else self.heads.block_size

    @property
    def output_weight(self) -> Tensor:
        """The projection [vocabulary, d_model] that all heads share."""
        raise NotImplementedError

    @property
    def output_bias(self) -> Tensor | None:
        """The projection's bias [vocabulary], or none."""
        return None

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.output_weight.device

    @property
    def d_model(self) -> int:
        """The width of the decoder's output."""
        return self.transformer.config.d_model
