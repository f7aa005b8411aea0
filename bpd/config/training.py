"""Training runs and what they share: optimizer, schedules, and the losses of proposal heads."""

from __future__ import annotations

from typing import Annotated, Generic, Literal, Self, TypeVar

from pydantic import Field, model_validator

from bpd.config.section import FirstHead, PositiveInt, Precision, Probability, Section, Seed, require_no_twins

HeadLoss = Literal["sampled", "sampled_per_position", "mean"]


class InverseSquareRootSchedule(Section):
    """Tensor2Tensor's: scale · d_model^−0.5 · min(1, step/warmup) · max(step, warmup)^−0.5."""

    kind: Literal["inverse_square_root"]
    scale: Annotated[float, Field(gt=0)]
    warmup_steps: PositiveInt


class LinearSchedule(Section):
    """Linear warm-up to `peak`, then linear decay to zero at the last step."""

    kind: Literal["linear"]
    peak: Annotated[float, Field(gt=0)]
    warmup_steps: PositiveInt


class AdamConfig(Section):
    """Adam's moments and epsilon."""

    beta1: Probability
    beta2: Probability
    epsilon: Annotated[float, Field(gt=0)]


class RunConfig(Section):
    """What every training run has: how many steps, at which learning rate, recorded how often."""

    steps: PositiveInt
    micro_batches: PositiveInt
    label_smoothing: Probability
    adam: AdamConfig
    schedule: Annotated[InverseSquareRootSchedule | LinearSchedule, Field(discriminator="kind")]
    gradient_clip: Annotated[float, Field(gt=0)] | None = None
    precision: Precision
    log_every: PositiveInt
    checkpoint_every: PositiveInt
    evaluate_every: PositiveInt

    @model_validator(mode="after")
    def _warmup_ends_before_training(self) -> Self:
        if isinstance(self.schedule, LinearSchedule) and self.schedule.warmup_steps >= self.steps:
            raise ValueError(f"schedule.warmup_steps ({self.schedule.warmup_steps}) must be below steps ({self.steps})")
        return self


class TrainingConfig(RunConfig):
    """A training run on sentence pairs."""

    micro_batch_tokens: PositiveInt
    evaluate_sentences: PositiveInt


class ImageTrainingConfig(RunConfig):
    """A training run on images."""

    micro_batch_images: PositiveInt
    evaluate_images: PositiveInt


Run = TypeVar("Run", bound=RunConfig)
SettingName = TypeVar("SettingName")


class BaseConfig(Section, Generic[Run]):
    """The base model's seed and training."""

    seed: Seed
    training: Run


class HeadTrainingConfig(Section, Generic[Run]):
    """Training of proposal heads on one kind of base: which loss (paper section 6), and the run itself."""

    head_loss: HeadLoss
    base_dropout: bool
    training: Run


class HeadsConfig(Section, Generic[SettingName, Run]):
    """The grid of proposal-head models: block sizes × settings (Tables 1 and 2)."""

    seed: Seed
    block_sizes: Annotated[tuple[PositiveInt, ...], Field(min_length=1)]
    settings: Annotated[tuple[SettingName, ...], Field(min_length=1)]
    first_head: FirstHead
    frozen: HeadTrainingConfig[Run]
    fine_tuned: HeadTrainingConfig[Run]

    @model_validator(mode="after")
    def _grid_has_no_twins(self) -> Self:
        require_no_twins(self, "block_sizes", "settings")
        return self
