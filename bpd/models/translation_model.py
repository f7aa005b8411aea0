"""The translation model of the paper: a Transformer, with or without proposal heads, that offers decoders."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from bpd.config import HeadSpec, TransformerConfig
from bpd.models.combined_model import CombinedModel
from bpd.models.proposal_heads import ProposalHeads
from bpd.models.recomputing_decoder import RecomputingDecoder
from bpd.models.transformer import Transformer, padding_mask, source_tensor
from bpd.models.transformer_decoder import CachedDecoder

PAD_ID, BEGIN_ID, END_ID = 0, 1, 2


class TranslationModel(CombinedModel):
    """The combined scoring and proposal model of section 4; without heads it is the base model, p₁ alone."""

    pad_id, begin_id, end_id = PAD_ID, BEGIN_ID, END_ID

    def __init__(self, config: TransformerConfig, vocabulary_size: int, heads: HeadSpec | None = None) -> None:
        super().__init__()
        self.transformer = Transformer(config, vocabulary_size)
        self.vocabulary_size = vocabulary_size
        self.heads: ProposalHeads | None = None
        if heads is not None:
            self.heads = ProposalHeads(
                config.d_model,
                config.d_ff,
                heads.block_size,
                relu_dropout=config.relu_dropout,
                residual_dropout=config.residual_dropout,
                identity_first_head=heads.first_head == "identity",
            )

    @property
    def output_weight(self) -> Tensor:
        """The vocabulary projection [vocabulary, d_model] that all heads share."""
        return self.transformer.embedding.weight

    def training_states(self, source: Tensor, target: Tensor) -> Tensor:
        """Return the decoder's output [batch, target, d_model] that predicts `target` [batch, target].

        Both sides end in the end symbol and are padded.
        """
        begin = torch.full_like(target[:, :1], self.begin_id)
        return self(source, torch.cat([begin, target[:, :-1]], dim=1))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Return the decoder's output [batch, target, d_model] before heads and projection.

        `source` [batch, source] ends in the end symbol and is padded; `target` [batch, target] is the decoder's
        input, which starts with the begin symbol.
        """
        mask = padding_mask(source, self.pad_id)
        memory = self.transformer.encode(source, mask)
        return self.transformer.decode(target, memory, mask)

    def start(self, inputs: Sequence[Sequence[int]], *, cached: bool = True) -> CachedDecoder | RecomputingDecoder:
        """Encode `inputs`, ragged rows of source ids with their end symbol, and return a decoder for them.

        With `cached` false, the decoder runs the whole prefix again at each step, as the original code did.
        """
        source = source_tensor([list(row) for row in inputs], self.pad_id, self.device)
        mask = padding_mask(source, self.pad_id)
        memory = self.transformer.encode(source, mask)
        if cached:
            return CachedDecoder(self.transformer, self.decoding_weights(), memory, mask)
        return RecomputingDecoder(self.transformer, self.heads, memory, mask)
