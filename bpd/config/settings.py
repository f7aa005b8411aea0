"""What each command needs to know: parts of a configuration, or what the grid derives from it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from bpd.config.measuring import TimingConfig, TolerancesConfig
from bpd.config.section import FirstHead, PositiveInt, Precision, Section, Seed, ShardCount
from bpd.config.super_resolution import ImageDataConfig, ImageSetting, ImageTransformerConfig
from bpd.config.training import HeadLoss, ImageTrainingConfig, TrainingConfig
from bpd.config.translation import Corpus, Setting, TraceConfig, TransformerConfig, TranslationDataConfig


class HeadSpec(Section):
    """What distinguishes one proposal-head model from another."""

    block_size: PositiveInt
    first_head: FirstHead
    frozen: bool
    base_dropout: bool
    head_loss: HeadLoss


class TrainSettings(Section):
    """All that `bpd train` needs to know; `heads` is absent for a base model or a teacher."""

    task: Literal["translation"]
    model: str
    seed: Seed
    corpus: Corpus
    transformer: TransformerConfig
    training: TrainingConfig
    heads: HeadSpec | None = None


class ImageTrainSettings(Section):
    """All that `bpd train` needs to know of an image model; `heads` is absent for the base model."""

    task: Literal["super_resolution"]
    model: str
    seed: Seed
    input_size: PositiveInt
    output_size: PositiveInt
    image_transformer: ImageTransformerConfig
    training: ImageTrainingConfig
    heads: HeadSpec | None = None


class PrepareSettings(Section):
    """All that `bpd prepare text` needs to know."""

    data: TranslationDataConfig


class PrepareImagesSettings(Section):
    """All that `bpd prepare images` needs to know."""

    data: ImageDataConfig


class DistillSettings(Section):
    """All that `bpd distill` needs to know."""

    beam_size: PositiveInt
    length_penalty: Annotated[float, Field(ge=0)]
    shards: ShardCount
    max_extra_tokens: PositiveInt


class DecodeSettings(Section):
    """All that `bpd decode` needs to know of one model: criteria by set role, and the baseline's beam."""

    dev_criteria: tuple[str, ...]
    test_criteria: tuple[str, ...]
    length_penalty: Annotated[float, Field(ge=0)]
    max_extra_tokens: PositiveInt
    precision: Precision


class ImageDecodeSettings(Section):
    """All that `bpd decode` needs to know of one image model; `images` is how many of the dev set, none for all."""

    criteria: tuple[str, ...]
    images: PositiveInt | None
    precision: Precision


class TraceSettings(Section):
    """All that `bpd trace` needs to know."""

    trace: TraceConfig
    max_extra_tokens: PositiveInt


class TimeSettings(Section):
    """All that `bpd time` needs to know of one model: which set, decoded by which criterion, and how often.

    `max_extra_tokens` is none for images, whose length is fixed.
    """

    set_name: str
    criterion: str
    max_extra_tokens: PositiveInt | None
    precision: Precision
    timing: TimingConfig


class ScorecardSettings(Section):
    """All that `bpd scorecard` needs to know: how numbers and claims are judged; `tolerances` none for claims only."""

    scale: str
    tolerances: TolerancesConfig | None
    same_bleu: Annotated[float, Field(ge=0)]
    slight_bleu: Annotated[float, Field(ge=0)]


class SurveySettings(Section):
    """All that `bpd survey` needs to know: the study, and the grid whose models are compared with `regular_k1`."""

    scale: str
    block_sizes: tuple[PositiveInt, ...]
    criteria: tuple[str, ...]
    seed: Seed
    pairs_per_method: PositiveInt
    repeated_pairs: Annotated[int, Field(ge=0)]
    bootstrap_samples: PositiveInt


class ReportSettings(Section):
    """All that `bpd tables` and `bpd figures` need to know: the grid, and which records exist by set role."""

    scale: str
    block_sizes: tuple[PositiveInt, ...]
    settings: tuple[Setting, ...]
    approximate_criteria: tuple[str, ...]
    trained_models: tuple[str, ...]
    set_names: dict[str, str]
    criteria: dict[str, dict[str, tuple[str, ...]]]
    timed_models: tuple[str, ...]
    seeds: tuple[PositiveInt, ...]


class ImageReportSettings(Section):
    """All that the super-resolution tables and figures need to know: the grid, and which records exist."""

    scale: str
    block_sizes: tuple[PositiveInt, ...]
    settings: tuple[ImageSetting, ...]
    approximate_criterion: str
    trained_models: tuple[str, ...]
    criteria: dict[str, tuple[str, ...]]
    timed_models: tuple[str, ...]
    seeds: tuple[PositiveInt, ...]
    gallery_images: PositiveInt


class SpeedReportSettings(Section):
    """All that the tables and figures of speed need to know: the grids of both halves."""

    translation: ReportSettings
    super_resolution: ImageReportSettings
