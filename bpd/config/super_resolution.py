"""The super-resolution half of a configuration."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from bpd.config.measuring import TimingConfig
from bpd.config.section import (
    CriterionName,
    LayerCount,
    PositiveInt,
    Precision,
    Probability,
    RemoteFile,
    Section,
    Seed,
    require_known_files,
)
from bpd.config.training import BaseConfig, HeadsConfig, ImageTrainingConfig

ImageSetting = Literal["regular", "fine_tuning"]


class DrawnFacesConfig(Section):
    """Simple faces drawn from a seed."""

    train_images: PositiveInt
    dev_images: PositiveInt
    seed: Seed


class ImageDataConfig(Section):
    """Where photographs come from, and the two sizes that each is averaged to (pixels a side)."""

    source: Literal["drawn_faces", "lfw", "celeba"]
    drawn_faces: DrawnFacesConfig | None = None
    input_size: Annotated[int, Field(ge=2)]
    output_size: Annotated[int, Field(ge=2)]
    files: Annotated[dict[str, RemoteFile], Field(default_factory=dict)]

    @model_validator(mode="after")
    def _drawing_belongs_to_its_source(self) -> Self:
        if (self.source == "drawn_faces") != (self.drawn_faces is not None):
            raise ValueError("the section 'drawn_faces' must be given exactly when source is 'drawn_faces'")
        return self

    @model_validator(mode="after")
    def _input_divides_the_output(self) -> Self:
        if self.output_size % self.input_size or self.output_size == self.input_size:
            raise ValueError(f"output_size ({self.output_size}) must be a multiple of input_size ({self.input_size})")
        return self

    @model_validator(mode="after")
    def _files_are_known(self) -> Self:
        require_known_files(self.files)
        return self


class ImageTransformerConfig(Section):
    """Shape and regularisation of the Image Transformer; the last six are departures from the original."""

    d_model: PositiveInt
    d_ff: PositiveInt
    attention_heads: PositiveInt
    encoder_layers: LayerCount
    decoder_layers: LayerCount
    local_block: PositiveInt
    residual_dropout: Probability
    ordinal_start: bool
    covering_pixel: bool
    shared_coordinates: bool
    remaining_mean: bool
    token_noise: Annotated[float, Field(ge=0.0, lt=256.0)]
    misread_areas: Probability

    @model_validator(mode="after")
    def _heads_divide_the_model(self) -> Self:
        if self.d_model % self.attention_heads:
            raise ValueError(f"d_model ({self.d_model}) is not a multiple of attention_heads ({self.attention_heads})")
        if self.d_model % 4:
            raise ValueError(f"d_model ({self.d_model}) must be a multiple of 4: half of it serves each coordinate")
        return self


class ImageDecodingConfig(Section):
    """How trained image models are decoded on the dev set, or on its first `images`."""

    approximate_criteria: Annotated[tuple[CriterionName, ...], Field(min_length=1)]
    images: PositiveInt | None = None
    precision: Precision


class GalleryConfig(Section):
    """The pictures to look at: how many rows of (input, greedy, approximate, target)."""

    images: PositiveInt


class SurveyConfig(Section):
    """The human-preference study (Table 3): pairs a method, how many of all are shown twice, bootstrap samples."""

    seed: Seed
    pairs_per_method: PositiveInt
    repeated_pairs: Annotated[int, Field(ge=0)]
    bootstrap_samples: Annotated[int, Field(ge=100)]


class SuperResolutionConfig(Section):
    """The super-resolution half of the paper."""

    data: ImageDataConfig
    image_transformer: ImageTransformerConfig
    base: BaseConfig[ImageTrainingConfig]
    heads: HeadsConfig[ImageSetting, ImageTrainingConfig]
    decoding: ImageDecodingConfig
    gallery: GalleryConfig
    survey: SurveyConfig
    timing: TimingConfig

    @model_validator(mode="after")
    def _combinations_are_possible(self) -> Self:
        if 1 not in self.heads.block_sizes or "regular" not in self.heads.settings:
            raise ValueError(
                "heads.block_sizes needs 1, and heads.settings 'regular': all are compared with regular_k1 (Table 3)"
            )
        if self.data.drawn_faces is not None:
            self.timing.require_batches_within(self.data.drawn_faces.dev_images, "data.drawn_faces.dev_images")
        if len(set(self.decoding.approximate_criteria)) < len(self.decoding.approximate_criteria):
            raise ValueError("decoding.approximate_criteria names a criterion twice")
        for name in self.decoding.approximate_criteria:
            if not name.startswith("distance"):
                raise ValueError(f"decoding.approximate_criteria: '{name}' is no approximate criterion for images")
            if int(name.removeprefix("distance")) > 255:
                raise ValueError(f"decoding.approximate_criteria: '{name}' would accept every intensity")
        if self.decoding.images is not None and self.gallery.images > self.decoding.images:
            raise ValueError(
                f"gallery.images ({self.gallery.images}) is more than decoding.images ({self.decoding.images}) decodes"
            )
        return self
