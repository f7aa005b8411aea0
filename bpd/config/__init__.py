"""The configuration schema: frozen, typed, one class per stage, unknown keys refused by name.

A config holds science only: what is computed, never on how many threads, cards or gigabytes.
`config/README.md` explains every key to a person; the classes here are what the programs read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from bpd.config.measuring import (
    ScorecardConfig,
    TimedBatchesConfig,
    TimedSetConfig,
    TimingConfig,
    TolerancesConfig,
)
from bpd.config.section import (
    PositiveInt,
    RemoteFile,
    Section,
    SectionType,
    read_config_values,
    require_no_twins,
    validate_section,
)
from bpd.config.settings import (
    DecodeSettings,
    DistillSettings,
    HeadSpec,
    ImageDecodeSettings,
    ImageReportSettings,
    ImageTrainSettings,
    PrepareImagesSettings,
    PrepareSettings,
    ReportSettings,
    ScorecardSettings,
    SpeedReportSettings,
    SurveySettings,
    TimeSettings,
    TraceSettings,
    TrainSettings,
)
from bpd.config.super_resolution import (
    DrawnFacesConfig,
    GalleryConfig,
    ImageDataConfig,
    ImageDecodingConfig,
    ImageSetting,
    ImageTransformerConfig,
    SuperResolutionConfig,
    SurveyConfig,
)
from bpd.config.training import (
    AdamConfig,
    BaseConfig,
    HeadLoss,
    HeadsConfig,
    HeadTrainingConfig,
    ImageTrainingConfig,
    InverseSquareRootSchedule,
    LinearSchedule,
    RunConfig,
    TrainingConfig,
)
from bpd.config.translation import (
    DISTILLED_SETTINGS,
    FROZEN_SETTINGS,
    SETTINGS,
    Corpus,
    DecodingConfig,
    DistillationConfig,
    GeneratedTextConfig,
    Setting,
    TraceConfig,
    TransformerConfig,
    TranslationConfig,
    TranslationDataConfig,
    VocabularyConfig,
)

__all__ = [
    "DISTILLED_SETTINGS",
    "FROZEN_SETTINGS",
    "SETTINGS",
    "AdamConfig",
    "BaseConfig",
    "Config",
    "Corpus",
    "DecodeSettings",
    "DecodingConfig",
    "DistillSettings",
    "DistillationConfig",
    "DrawnFacesConfig",
    "GalleryConfig",
    "GeneratedTextConfig",
    "HeadLoss",
    "HeadSpec",
    "HeadTrainingConfig",
    "HeadsConfig",
    "ImageDataConfig",
    "ImageDecodeSettings",
    "ImageDecodingConfig",
    "ImageReportSettings",
    "ImageSetting",
    "ImageTrainSettings",
    "ImageTrainingConfig",
    "ImageTransformerConfig",
    "InverseSquareRootSchedule",
    "LinearSchedule",
    "PrepareImagesSettings",
    "PrepareSettings",
    "RemoteFile",
    "ReportSettings",
    "RunConfig",
    "ScorecardConfig",
    "ScorecardSettings",
    "Section",
    "SectionType",
    "Setting",
    "SpeedReportSettings",
    "SuperResolutionConfig",
    "SurveyConfig",
    "SurveySettings",
    "TimeSettings",
    "TimedBatchesConfig",
    "TimedSetConfig",
    "TimingConfig",
    "TolerancesConfig",
    "TraceConfig",
    "TraceSettings",
    "TrainSettings",
    "TrainingConfig",
    "TransformerConfig",
    "TranslationConfig",
    "TranslationDataConfig",
    "VocabularyConfig",
    "load_config",
    "read_config_values",
    "validate_section",
]


class Config(Section):
    """A whole scale: smoke, mini or paper."""

    scale: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    seeds: Annotated[tuple[PositiveInt, ...], Field(min_length=1)] = (1,)
    scorecard: ScorecardConfig
    translation: TranslationConfig
    super_resolution: SuperResolutionConfig

    @model_validator(mode="after")
    def _seeds_are_different_replicas(self) -> Self:
        require_no_twins(self, "seeds")
        if 1 not in self.seeds:
            raise ValueError(f"seeds ({list(self.seeds)}) lacks 1: survey, gallery, trace and timing show its models")
        return self


def load_config(path: Path) -> Config:
    """Read and validate a YAML config file; raise `BpdError` that names the file and every faulty key."""
    return validate_section(Config, read_config_values(path), str(path))
