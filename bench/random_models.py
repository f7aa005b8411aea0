"""Models of named dimensions with random weights, and sentences for them."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from bpd.config import HeadSpec, TransformerConfig
from bpd.models.translation_model import TranslationModel


@dataclass(frozen=True)
class Dimensions:
    """The size of a translation model: `layers` in the encoder and as many in the decoder."""

    d_model: int
    d_ff: int
    layers: int
    attention_heads: int
    vocabulary: int


DIMENSIONS = {
    "mini": Dimensions(128, 512, 3, 4, 4000),
    "small": Dimensions(256, 1024, 3, 8, 6000),
    "base": Dimensions(512, 2048, 6, 8, 32000),
}
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
# No token is the end symbol of these models: every output has the length that is asked for.
NO_END = -1


def random_model(size: str, block_size: int = 0, *, dropout: float = 0.0) -> TranslationModel:
    """Return a model on DEVICE without an end, with `block_size` heads or, for 0, none. Same seed, same weights."""
    torch.manual_seed(1)
    of = DIMENSIONS[size]
    config = TransformerConfig(
        d_model=of.d_model,
        d_ff=of.d_ff,
        attention_heads=of.attention_heads,
        encoder_layers=of.layers,
        decoder_layers=of.layers,
        residual_dropout=dropout,
        attention_dropout=0.0,
        relu_dropout=dropout,
    )
    heads = None
    if block_size:
        heads = HeadSpec(block_size=block_size, first_head="learned", frozen=False, base_dropout=True, head_loss="mean")
    model = TranslationModel(config, of.vocabulary, heads).to(DEVICE).eval()
    model.end_id = NO_END
    return model


def sentences(size: str, rows: int, length: int = 16) -> list[list[int]]:
    """Return `rows` source sentences of `length` ids, the end symbol last."""
    chance = torch.Generator().manual_seed(2)
    drawn = torch.randint(3, DIMENSIONS[size].vocabulary - 1, (rows, length - 1), generator=chance)
    return [[*row, TranslationModel.end_id] for row in drawn.tolist()]
