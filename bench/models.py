"""Models with random weights at named dimensions, and sentences for them: what is timed does not depend on meaning."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from bpd.config import HeadSpec, ImageTransformerConfig, TransformerConfig, load_config
from bpd.data.batch import Batch, BatchPosition
from bpd.models.image_model import ImageModel
from bpd.models.translation_model import END_ID, TranslationModel

ROOT = Path(__file__).resolve().parents[1]
SEED = 1


@dataclass(frozen=True)
class Dimensions:
    """A Transformer's shape, and the size of its vocabulary."""

    name: str
    transformer: TransformerConfig
    vocabulary_size: int


def dimensions(name: str) -> Dimensions:
    """Return the dimensions called `mini` (of config/mini.yaml), `small` or `base` (transformer_base, WMT14).

    Raises `ValueError` for other names.
    """
    if name in ("mini", "base"):
        config = load_config(ROOT / "config" / {"mini": "mini.yaml", "base": "paper.yaml"}[name]).translation
        return Dimensions(name, config.transformer, config.data.vocabulary.size)
    if name == "small":
        shape = dict(d_model=256, d_ff=1024, attention_heads=8, encoder_layers=3, decoder_layers=3)
        dropout = dict(residual_dropout=0.1, attention_dropout=0.1, relu_dropout=0.1)
        return Dimensions(name, TransformerConfig(**shape, **dropout), 6000)
    raise ValueError(f"no dimensions are called '{name}': mini, small and base are known")


def head_spec(block_size: int, *, frozen: bool = True, head_loss: str = "sampled") -> HeadSpec:
    """Return what distinguishes a model with k = `block_size` heads, the first one learned as in the paper."""
    return HeadSpec(block_size=block_size, first_head="learned", frozen=frozen, base_dropout=True, head_loss=head_loss)


def translation_model(
    shape: Dimensions, block_size: int | None = None, device: torch.device | str = "cpu"
) -> TranslationModel:
    """Return a model with random weights, in evaluation mode; without `block_size` it is a base model.

    All models of one shape share the weights of their Transformer, so that their greedy outputs may be compared.
    """
    torch.manual_seed(SEED)
    spec = None if block_size is None else head_spec(block_size)
    return TranslationModel(shape.transformer, shape.vocabulary_size, spec).to(device).eval()


def image_config(scale: str = "mini") -> ImageTransformerConfig:
    """Return the Image Transformer of config/mini.yaml or config/paper.yaml."""
    return load_config(ROOT / "config" / f"{scale}.yaml").super_resolution.image_transformer


def image_model(
    config: ImageTransformerConfig,
    output_size: int,
    block_size: int | None = None,
    device: torch.device | str = "cpu",
) -> ImageModel:
    """Return an image model with random weights from 8 to `output_size` pixels a side, in evaluation mode."""
    torch.manual_seed(SEED)
    spec = None if block_size is None else head_spec(block_size)
    return ImageModel(config, 8, output_size, spec).to(device).eval()


def sentences(count: int, length: int, vocabulary_size: int, seed: int = SEED) -> list[list[int]]:
    """Return `count` sources of `length` random subwords, the end symbol last and included."""
    random = np.random.default_rng(seed)
    words = random.integers(4, vocabulary_size, size=(count, length - 1))
    return [[*row, END_ID] for row in words.tolist()]


class RandomBatches:
    """An endless stream of one batch of `rows` sentence pairs of `length` tokens a side, without padding."""

    position = BatchPosition()

    def __init__(self, rows: int, length: int, vocabulary_size: int) -> None:
        source, target = (
            np.array(sentences(rows, length, vocabulary_size, seed), dtype=np.int64) for seed in (SEED, SEED + 1)
        )
        self.batch = Batch(source, target, np.arange(rows))

    def next(self) -> Batch:
        """Return the batch."""
        return self.batch


class RandomImages:
    """An endless stream of one batch of `rows` images of noise, `sizes` pixels a side small and large."""

    position = BatchPosition()

    def __init__(self, rows: int, sizes: tuple[int, int]) -> None:
        random = np.random.default_rng(SEED)
        source, target = (random.integers(0, 256, size=(rows, size * size * 3)) for size in sizes)
        self.batch = Batch(source, target, np.arange(rows))

    def next(self) -> Batch:
        """Return the batch."""
        return self.batch
