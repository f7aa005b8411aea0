"""The super-resolution model of the paper: an Image Transformer, with or without proposal heads."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from bpd.config import HeadSpec, ImageTransformerConfig
from bpd.models.combined_model import CombinedModel
from bpd.models.image_decoder import CachedImageDecoder
from bpd.models.image_transformer import BEGIN_ID, ImageTransformer
from bpd.models.misreading import misread
from bpd.models.proposal_heads import ProposalHeads
from bpd.models.recomputing_decoder import RecomputingDecoder


class ImageModel(CombinedModel):
    """The combined scoring and proposal model of section 4; without heads it is the base model, p₁ alone.

    Tokens are intensities 0…255. An image has no end symbol: it ends at its last intensity, the length limit.
    """

    # −1 marks the places beyond an image's end, where a head has no target; no token equals it or the end id.
    pad_id, begin_id, end_id = -1, BEGIN_ID, -1

    def __init__(
        self, config: ImageTransformerConfig, input_size: int, output_size: int, heads: HeadSpec | None = None
    ) -> None:
        super().__init__()
        self.transformer = ImageTransformer(config, input_size, output_size)
        self.heads: ProposalHeads | None = None
        if heads is not None:
            self.heads = ProposalHeads(
                config.d_model,
                config.d_ff,
                heads.block_size,
                relu_dropout=0.0,
                residual_dropout=config.residual_dropout,
                identity_first_head=heads.first_head == "identity",
                normalised=True,
            )

    @property
    def output_weight(self) -> Tensor:
        """The 256-way projection [256, d_model] that all heads share."""
        return self.transformer.output.weight

    @property
    def output_bias(self) -> Tensor:
        """The projection's bias [256]."""
        return self.transformer.output.bias

    def training_states(self, source: Tensor, target: Tensor) -> Tensor:
        """Return the decoder's output [batch, output, d_model] that predicts `target` [batch, output] intensities.

        `source` [batch, input] are the small images' intensities. In training mode, the tokens that the decoder
        reads, not those that it predicts, may be off (`misread`).
        """
        read, config = target, self.transformer.config
        if self.training:
            read = misread(target, self.transformer.covering, config.token_noise, config.misread_areas)
        before = functional.pad(read[:, :-1], (1, 0), value=BEGIN_ID)
        return self.transformer.decode(before, self.transformer.encode(source), source)

    def start(self, inputs: Sequence[Sequence[int]], *, cached: bool = True) -> CachedImageDecoder | RecomputingDecoder:
        """Encode `inputs`, rows of a small image's intensities each, and return a decoder for them.

        With `cached` false, the decoder runs the whole prefix again at each step, as the original code did.
        """
        source = torch.tensor([list(row) for row in inputs], dtype=torch.int64, device=self.device)
        memory = self.transformer.encode(source)
        if cached:
            return CachedImageDecoder(self.transformer, self.decoding_weights(), self.block_size, memory, source)
        return RecomputingDecoder(self.transformer, self.heads, memory, source)
