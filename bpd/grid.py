"""The grid of models that a config asks for, and what each command needs to know of each model."""

from __future__ import annotations

import re
from pathlib import Path

from bpd.config import (
    DISTILLED_SETTINGS,
    FROZEN_SETTINGS,
    Config,
    DecodeSettings,
    DistillSettings,
    HeadsConfig,
    HeadSpec,
    ImageSetting,
    PrepareSettings,
    ReportSettings,
    ScorecardSettings,
    Setting,
    TimeSettings,
    TraceSettings,
    TrainSettings,
    TranslationConfig,
)
from bpd.errors import BpdError

MODEL_NAME = re.compile(r"^(regular|distillation|fine_tuning|both)_k([1-9]\d*)$")


def head_model_name(setting: Setting | ImageSetting, block_size: int) -> str:
    """Return the folder name of a proposal-head model, such as `both_k4`."""
    return f"{setting}_k{block_size}"


def head_spec(heads: HeadsConfig, block_size: int, *, frozen: bool) -> HeadSpec:
    """Return what distinguishes the head model with `block_size` over a frozen or a fine-tuned base from others."""
    kind = heads.frozen if frozen else heads.fine_tuned
    return HeadSpec(
        block_size=block_size,
        first_head=heads.first_head,
        frozen=frozen,
        base_dropout=kind.base_dropout,
        head_loss=kind.head_loss,
    )


def parse_head_model_name(model: str) -> tuple[Setting, int]:
    """Return setting and block size of a proposal-head model's name; raise `BpdError` for any other name."""
    match = MODEL_NAME.match(model)
    if not match:
        raise BpdError(f"'{model}' names no proposal-head model: expected for instance regular_k2 or both_k10")
    return match.group(1), int(match.group(2))  # type: ignore[return-value]


def head_models(config: TranslationConfig) -> list[str]:
    """Return the names of all proposal-head models, in Table 1's order.

    With k = 1 nothing is proposed, and the paper trains it over a frozen base only: 22 models at the paper scale.
    """
    return [
        head_model_name(setting, block_size)
        for block_size in config.heads.block_sizes
        for setting in config.heads.settings
        if block_size > 1 or setting in FROZEN_SETTINGS
    ]


def needs_distillation(config: TranslationConfig) -> bool:
    """Return whether any model of the grid is trained on distilled data."""
    return any(setting in DISTILLED_SETTINGS for setting in config.heads.settings)


def replica_seed(seed: int, replica: int) -> int:
    """Return the seed of a training in one of the config's `seeds`: seed 1 takes what the config says, others far off.

    Base, teacher and heads of one replica keep their distances, so that no two trainings share a seed.
    """
    return seed + 1000 * (replica - 1)


def replica_folder(results: Path, replica: int) -> Path:
    """Return the folder of one of the config's `seeds` below a scale's results: of seed 1, the results themselves."""
    return results if replica == 1 else results / f"seed_{replica}"


def train_settings(config: TranslationConfig, model: str, replica: int = 1) -> TrainSettings:
    """Return what `bpd train` needs for `base`, `teacher` or a proposal-head model of the grid."""
    common = {
        "task": "translation",
        "model": model,
        "transformer": config.transformer,
    }
    if model in ("base", "teacher"):
        seed = config.base.seed if model == "base" else config.distillation.teacher_seed
        seed = replica_seed(seed, replica)
        return TrainSettings(**common, seed=seed, corpus="gold", training=config.base.training)
    setting, block_size = parse_head_model_name(model)
    if model not in head_models(config):
        raise BpdError(f"model '{model}' is not in this config's grid: {', '.join(head_models(config))}")
    frozen = setting in FROZEN_SETTINGS
    kind = config.heads.frozen if frozen else config.heads.fine_tuned
    spec = head_spec(config.heads, block_size, frozen=frozen)
    corpus = "distilled" if setting in DISTILLED_SETTINGS else "gold"
    seed = replica_seed(config.heads.seed, replica)
    return TrainSettings(**common, seed=seed, corpus=corpus, training=kind.training, heads=spec)


def prepare_settings(config: TranslationConfig) -> PrepareSettings:
    """Return what `bpd prepare text` needs."""
    return PrepareSettings(data=config.data)


def distill_settings(config: TranslationConfig) -> DistillSettings:
    """Return what `bpd distill` needs."""
    return DistillSettings(
        beam_size=config.distillation.beam_size,
        length_penalty=config.distillation.length_penalty,
        shards=config.distillation.shards,
        max_extra_tokens=config.decoding.max_extra_tokens,
    )


def criteria(config: TranslationConfig, model: str, role: str) -> tuple[str, ...]:
    """Return the decoding criteria of `model` on the set with `role` dev or test.

    Every model is decoded exactly (for `base` that is greedy decoding). The base is also decoded by beam search,
    and on the dev set the "Both" models by each approximate criterion that their block size allows.
    """
    if model in ("base", "teacher"):
        return ("exact", f"beam{config.decoding.baseline_beam_size}")
    setting, block_size = parse_head_model_name(model)
    if role == "test" or setting != "both":
        return ("exact",)
    allowed = [
        name
        for name in config.decoding.approximate_criteria
        if not name.startswith("minimum") or int(name.removeprefix("minimum")) <= block_size
    ]
    return ("exact", *allowed)


def decode_settings(config: TranslationConfig, model: str) -> DecodeSettings:
    """Return what `bpd decode` needs for one model."""
    return DecodeSettings(
        dev_criteria=criteria(config, model, "dev"),
        test_criteria=criteria(config, model, "test"),
        length_penalty=config.decoding.baseline_length_penalty,
        max_extra_tokens=config.decoding.max_extra_tokens,
        precision=config.decoding.precision,
    )


def set_names(config: TranslationConfig) -> dict[str, str]:
    """Return the names of the dev and test sets by role."""
    names = {
        "generated": ("dev", "test"),
        "multi30k": ("val", "test_2016_flickr"),
        "wmt14": ("newstest2013", "newstest2014"),
    }
    return dict(zip(("dev", "test"), names[config.data.source], strict=True))


def trace_settings(config: TranslationConfig) -> TraceSettings:
    """Return what `bpd trace` needs."""
    return TraceSettings(trace=config.trace, max_extra_tokens=config.decoding.max_extra_tokens)


def trace_model(config: TranslationConfig) -> str:
    """Return the model whose decoding is traced: the largest block size, of the last setting that has it."""
    return max(head_models(config), key=lambda model: parse_head_model_name(model)[1] * 10 + _rank(config, model))


def _rank(config: TranslationConfig, model: str) -> int:
    return config.heads.settings.index(parse_head_model_name(model)[0])


def timed_models(config: TranslationConfig) -> list[str]:
    """Return the models whose decoding is timed (Table 4, Figure 4): "Both", or the grid's last setting, at every k."""
    setting = "both" if "both" in config.heads.settings else config.heads.settings[-1]
    parsed = {model: parse_head_model_name(model) for model in head_models(config)}
    return [model for model, (name, block_size) in parsed.items() if name == setting and block_size > 1]


def time_settings(config: TranslationConfig) -> TimeSettings:
    """Return what `bpd time` needs: the test set, exact, one sentence at a time as in Table 4."""
    return TimeSettings(
        set_name=set_names(config)["test"],
        criterion="exact",
        max_extra_tokens=config.decoding.max_extra_tokens,
        precision=config.decoding.precision,
        timing=config.timing,
    )


def decoded_models(config: TranslationConfig) -> list[str]:
    """Return the models whose decodings are scored: the base and every proposal-head model."""
    return ["base", *head_models(config)]


def trained_models(config: TranslationConfig) -> list[str]:
    """Return every model that is trained, base and teacher first, then setting by setting."""
    teacher = ["teacher"] if needs_distillation(config) else []
    heads = sorted(head_models(config), key=lambda model: _rank(config, model))
    return ["base", *teacher, *heads]


def report_settings(config: Config) -> ReportSettings:
    """Return what `bpd tables` and `bpd figures` need."""
    translation = config.translation
    return ReportSettings(
        scale=config.scale,
        block_sizes=translation.heads.block_sizes,
        settings=translation.heads.settings,
        approximate_criteria=translation.decoding.approximate_criteria,
        trained_models=tuple(trained_models(translation)),
        set_names=set_names(translation),
        criteria={
            model: {role: criteria(translation, model, role) for role in ("dev", "test")}
            for model in decoded_models(translation)
        },
        timed_models=tuple(timed_models(translation)),
        seeds=config.seeds,
    )


def scorecard_settings(config: Config) -> ScorecardSettings:
    """Return what `bpd scorecard` needs."""
    return ScorecardSettings(scale=config.scale, **config.scorecard.model_dump())
