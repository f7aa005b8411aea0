"""What is measured beyond quality: wall-clock time (sections 7.3 and 7.4), and how results are judged."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from bpd.config.section import PositiveInt, Section, require_no_twins


class TimedSetConfig(Section):
    """What one protocol is timed on: the first `inputs` of the set, none for all, to `tokens` each, none for all.

    A set that holds fewer is timed as a whole.
    """

    inputs: PositiveInt | None = None
    tokens: PositiveInt | None = None


class TimedBatchesConfig(TimedSetConfig):
    """What the speedup against batch size is timed on, in the cached protocol."""

    sizes: Annotated[tuple[PositiveInt, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _sizes_can_be_filled(self) -> Self:
        require_no_twins(self, "sizes")
        if self.inputs is not None and max(self.sizes) > self.inputs:
            raise ValueError(f"sizes asks for batches of {max(self.sizes)}, but inputs is {self.inputs}: raise it")
        return self


class TimingConfig(Section):
    """Wall-clock timing: `repeats` of both arms, interleaved, by each protocol."""

    repeats: Annotated[int, Field(ge=3)]
    recompute: TimedSetConfig
    cached: TimedSetConfig
    batches: TimedBatchesConfig

    def require_batches_within(self, available: int, where: str) -> None:
        """Raise `ValueError` where a batch is larger than the timed set, which `where` says holds `available`."""
        largest = max(self.batches.sizes)
        if largest > available:
            raise ValueError(f"timing.batches.sizes asks for batches of {largest}, but {where} is {available}")


class TolerancesConfig(Section):
    """How far one of our numbers may lie from the published one and still be called reproduced."""

    bleu: Annotated[float, Field(ge=0)]
    mean_accepted_block_size: Annotated[float, Field(ge=0)]
    speedup: Annotated[float, Field(ge=0)]
    preference_percent: Annotated[float, Field(ge=0)]


class ScorecardConfig(Section):
    """How the scorecard judges: numbers by `tolerances`, none below the paper scale, and claims by these margins.

    Quality counts as kept where at most `same_bleu` is lost, and as slightly lower where at most `slight_bleu` is.
    """

    tolerances: TolerancesConfig | None = None
    same_bleu: Annotated[float, Field(ge=0)]
    slight_bleu: Annotated[float, Field(ge=0)]

    @model_validator(mode="after")
    def _slight_is_more_than_none(self) -> Self:
        if self.slight_bleu < self.same_bleu:
            raise ValueError(f"slight_bleu ({self.slight_bleu}) is below same_bleu ({self.same_bleu})")
        return self
