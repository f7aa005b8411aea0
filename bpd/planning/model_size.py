"""Parameters of each model of the grid, and floating-point operations for each token that it reads or writes.

Operations are those of products with weights, two for each multiply–add; attention's own products, a few per cent, are
left out, and the backward pass counts twice the forward pass.
"""

from __future__ import annotations

from dataclasses import dataclass

from bpd.config import HeadSpec, ImageTrainSettings, ImageTransformerConfig, TrainSettings, TransformerConfig
from bpd.errors import BpdError

_INTENSITIES, _CHANNELS = 256, 3


@dataclass(frozen=True)
class ModelSize:
    """Numbers of parameters by part, and what follows from them.

    `source` and `target` are the weights that each token of the source, and of the target, meets: the decoder's keys
    and values of the encoder's output are the source's. `embeddings` and `small` (norms, biases) cost no products.
    `projection` is the output's d_model × vocabulary. `source_share` is the number of source tokens for each target
    token. `hidden` is the heads' hidden layer, and `output` the part of their output layer that makes one head.
    """

    embeddings: int
    source: int
    target: int
    projection: int
    small: int
    source_share: float
    layers: int
    block_size: int = 1
    hidden: int = 0
    output: int = 0
    head_small: int = 0
    heads: HeadSpec | None = None

    @property
    def base_parameters(self) -> int:
        """Parameters without those of heads; a shared projection is among the embeddings."""
        return self.embeddings + self.source + self.target + self.small

    @property
    def head_parameters(self) -> int:
        """Parameters of the heads."""
        return self.hidden + self.block_size * self.output + self.head_small

    @property
    def parameters(self) -> int:
        """All parameters."""
        return self.base_parameters + self.head_parameters

    @property
    def trained_parameters(self) -> int:
        """Parameters that training changes, for each of which Adam keeps two numbers."""
        return self.head_parameters if self.heads is not None and self.heads.frozen else self.parameters

    @property
    def trains_nothing(self) -> bool:
        """Whether no head has anything to learn: an identity first head alone over a frozen base."""
        return self.heads is not None and self.block_size == 1 and self.heads.frozen and self._identity

    @property
    def training(self) -> float:
        """Operations for each target token of training (section 6: one head is drawn, or all are averaged)."""
        base = self._base_forward
        if self.heads is None:
            return 3.0 * (base + 2 * self.projection)
        heads = self.block_size if self.heads.head_loss == "mean" else 1
        transformed = 2 * (self.hidden + heads * self.output)
        projected = 2 * heads * self.projection
        if self.heads.frozen:
            # Over a frozen base the gradient ends at the heads: neither the base nor the projection has one.
            return base + 3.0 * transformed + 2.0 * projected
        return 3.0 * (base + transformed + projected)

    @property
    def greedy(self) -> float:
        """Operations for each token of greedy decoding, its share of the source's encoding included."""
        transformed = 0 if self.heads is None or self._identity else self.hidden + self.output
        return self._base_forward + 2.0 * (transformed + self.projection)

    @property
    def blockwise(self) -> float:
        """Operations for each call of blockwise decoding: a block verified at k places, the next predicted at one."""
        k = self.block_size
        first = 0 if self._identity else self.output
        verify = k * (self.target + self.hidden + first + self.projection)
        predict = k * (self.output + self.projection)
        return 2.0 * (self.source_share * self.source + verify + predict)

    def beam(self, beam_size: int) -> float:
        """Return the operations for each token of the best hypothesis of beam search."""
        return 2.0 * (self.source_share * self.source + beam_size * (self.target + self.projection))

    def recompute(self, prefix: float, *, block: bool) -> float:
        """Return the operations of a call that runs `prefix` tokens through the decoder again, as the original did."""
        call = self.blockwise if block else self.greedy
        return call + 2.0 * self.target * prefix

    @property
    def _identity(self) -> bool:
        return self.heads is not None and self.heads.first_head == "identity"

    @property
    def _base_forward(self) -> float:
        return 2.0 * (self.source_share * self.source + self.target)


def model_size(settings: TrainSettings | ImageTrainSettings, vocabulary_size: int | None = None) -> ModelSize:
    """Return the size of the model that `settings` describe; a translation model has a vocabulary.

    Raises `BpdError` where that is missing.
    """
    if isinstance(settings, ImageTrainSettings):
        return _image_size(settings)
    if vocabulary_size is None:
        raise BpdError(f"{settings.model}: the size of its vocabulary is unknown")
    shape = settings.transformer
    d, f = shape.d_model, shape.d_ff
    projection = vocabulary_size * d
    small = shape.encoder_layers * (f + 5 * d) + shape.decoder_layers * (f + 7 * d) + 4 * d
    return ModelSize(
        embeddings=projection,
        source=_source_weights(shape),
        target=shape.decoder_layers * (6 * d * d + 2 * d * f),
        projection=projection,
        small=small,
        source_share=1.0,
        layers=shape.encoder_layers + shape.decoder_layers,
        **_heads(settings.heads, d, f, normalised=False),
    )


def _image_size(settings: ImageTrainSettings) -> ModelSize:
    shape = settings.image_transformer
    d, f = shape.d_model, shape.d_ff
    tables = 3 if shape.remaining_mean else 2
    projection = d * _INTENSITIES
    small = shape.encoder_layers * (f + 5 * d) + shape.decoder_layers * (f + 7 * d) + projection + _INTENSITIES
    return ModelSize(
        embeddings=tables * _CHANNELS * _INTENSITIES * d,
        source=_source_weights(shape),
        target=shape.decoder_layers * (6 * d * d + 2 * d * f),
        projection=projection,
        small=small,
        source_share=(settings.input_size / settings.output_size) ** 2,
        layers=shape.encoder_layers + shape.decoder_layers,
        **_heads(settings.heads, d, f, normalised=True),
    )


def _source_weights(shape: TransformerConfig | ImageTransformerConfig) -> int:
    encoder = shape.encoder_layers * (4 * shape.d_model**2 + 2 * shape.d_model * shape.d_ff)
    return encoder + shape.decoder_layers * 2 * shape.d_model**2


def _heads(spec: HeadSpec | None, d: int, f: int, *, normalised: bool) -> dict[str, object]:
    if spec is None:
        return {}
    k = spec.block_size
    small = k * f + k * d + (2 * d if normalised else 0)
    return {"block_size": k, "hidden": d * k * f, "output": k * f * d, "head_small": small, "heads": spec}
