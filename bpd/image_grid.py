"""The grid of image models that a config asks for, and what each command needs to know of each model."""

from __future__ import annotations

import re

from bpd import grid
from bpd.config import (
    Config,
    ImageDecodeSettings,
    ImageReportSettings,
    ImageSetting,
    ImageTrainSettings,
    PrepareImagesSettings,
    SpeedReportSettings,
    SuperResolutionConfig,
    SurveySettings,
    TimeSettings,
)
from bpd.errors import BpdError
from bpd.grid import head_model_name, head_spec, replica_seed

DEV_SET = "dev"
_MODEL_NAME = re.compile(r"^(regular|fine_tuning)_k([1-9]\d*)$")


def parse_head_model_name(model: str) -> tuple[ImageSetting, int]:
    """Return setting and block size of a proposal-head model's name; raise `BpdError` for any other name."""
    match = _MODEL_NAME.match(model)
    if not match:
        raise BpdError(
            f"'{model}' names no image proposal-head model: expected for instance regular_k2, fine_tuning_k10"
        )
    return match.group(1), int(match.group(2))  # type: ignore[return-value]


def head_models(config: SuperResolutionConfig) -> list[str]:
    """Return the names of all proposal-head models, in Table 2's order.

    With k = 1 nothing is proposed, and the paper trains it over a frozen base only: 11 models at the paper scale.
    """
    return [
        head_model_name(setting, block_size)
        for block_size in config.heads.block_sizes
        for setting in config.heads.settings
        if block_size > 1 or setting == "regular"
    ]


def train_settings(config: SuperResolutionConfig, model: str, replica: int = 1) -> ImageTrainSettings:
    """Return what `bpd train` needs for `base` or a proposal-head model of the grid."""
    common = {
        "task": "super_resolution",
        "model": model,
        "input_size": config.data.input_size,
        "output_size": config.data.output_size,
        "image_transformer": config.image_transformer,
    }
    if model == "base":
        seed = replica_seed(config.base.seed, replica)
        return ImageTrainSettings(**common, seed=seed, training=config.base.training)
    setting, block_size = parse_head_model_name(model)
    if model not in head_models(config):
        raise BpdError(f"model '{model}' is not in this config's grid: {', '.join(head_models(config))}")
    frozen = setting == "regular"
    kind = config.heads.frozen if frozen else config.heads.fine_tuned
    spec = head_spec(config.heads, block_size, frozen=frozen)
    seed = replica_seed(config.heads.seed, replica)
    return ImageTrainSettings(**common, seed=seed, training=kind.training, heads=spec)


def prepare_settings(config: SuperResolutionConfig) -> PrepareImagesSettings:
    """Return what `bpd prepare images` needs."""
    return PrepareImagesSettings(data=config.data)


def criteria(config: SuperResolutionConfig, model: str) -> tuple[str, ...]:
    """Return the decoding criteria of `model`: exact, and the approximate ones wherever something is proposed."""
    if model == "base" or parse_head_model_name(model)[1] == 1:
        return ("exact",)
    return ("exact", *config.decoding.approximate_criteria)


def decode_settings(config: SuperResolutionConfig, model: str) -> ImageDecodeSettings:
    """Return what `bpd decode` needs for one image model."""
    return ImageDecodeSettings(
        criteria=criteria(config, model), images=config.decoding.images, precision=config.decoding.precision
    )


def timed_models(config: SuperResolutionConfig) -> list[str]:
    """Return the models whose decoding is timed (Figure 4): fine-tuned ones, or else those over a frozen base."""
    setting = "fine_tuning" if "fine_tuning" in config.heads.settings else "regular"
    parsed = {model: parse_head_model_name(model) for model in head_models(config)}
    return [model for model, (name, block_size) in parsed.items() if name == setting and block_size > 1]


def time_settings(config: SuperResolutionConfig) -> TimeSettings:
    """Return what `bpd time` needs: the dev set, by the approximate criterion, one image at a time as in Figure 4."""
    return TimeSettings(
        set_name=DEV_SET,
        criterion=config.decoding.approximate_criteria[0],
        max_extra_tokens=None,
        precision=config.decoding.precision,
        timing=config.timing,
    )


def decoded_models(config: SuperResolutionConfig) -> list[str]:
    """Return the models whose decodings are scored: the base and every proposal-head model."""
    return ["base", *head_models(config)]


def trained_models(config: SuperResolutionConfig) -> list[str]:
    """Return every model that is trained, base first, then setting by setting."""
    rank = config.heads.settings.index
    return ["base", *sorted(head_models(config), key=lambda model: rank(parse_head_model_name(model)[0]))]


def survey_settings(config: Config) -> SurveySettings:
    """Return what `bpd survey` needs: "Fine Tuning" and "Both" of each k above 1 are compared with `regular_k1`."""
    part = config.super_resolution
    compared = "fine_tuning" in part.heads.settings
    return SurveySettings(
        scale=config.scale,
        block_sizes=tuple(k for k in part.heads.block_sizes if k > 1 and compared),
        criteria=("exact", part.decoding.approximate_criteria[0]),
        **part.survey.model_dump(),
    )


def report_settings(config: Config) -> ImageReportSettings:
    """Return what the super-resolution tables and figures need."""
    part = config.super_resolution
    return ImageReportSettings(
        scale=config.scale,
        block_sizes=part.heads.block_sizes,
        settings=part.heads.settings,
        approximate_criterion=part.decoding.approximate_criteria[0],
        trained_models=tuple(trained_models(part)),
        criteria={model: criteria(part, model) for model in decoded_models(part)},
        timed_models=tuple(timed_models(part)),
        seeds=config.seeds,
        gallery_images=part.gallery.images,
    )


def speed_settings(config: Config) -> SpeedReportSettings:
    """Return what the tables and figures of speed need: the grids of both halves."""
    return SpeedReportSettings(translation=grid.report_settings(config), super_resolution=report_settings(config))
