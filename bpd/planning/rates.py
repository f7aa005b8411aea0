"""How fast each kind of work goes: as a run's records say, scaled from another model's, or assumed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import harmonic_mean
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from bpd.config import Section, read_config_values, validate_section
from bpd.config.section import PositiveInt
from bpd.errors import BpdError
from bpd.planning.data_size import CountedText
from bpd.planning.work import Work
from bpd.stored_json import read_json

ASSUMED = Path(__file__).with_name("assumed_rates.yaml")
_SAME = 0.001
_WITHOUT_MODEL = ("prepared_", "merged_", "scored_")

# No work is faster or slower: what is, would make sums that are no numbers.
PositiveFloat = Annotated[float, Field(ge=1e-12, le=1e30)]
Basis = Literal["measured", "scaled", "assumed"]


class LayerSeconds(Section):
    """The least time of a layer, however small the model."""

    training: PositiveFloat
    decoding: PositiveFloat


class JobSeconds(Section):
    """What a job takes before it begins."""

    on_card: PositiveFloat
    on_cpu: PositiveFloat


class AssumedRates(Section):
    """What is assumed of a card and of a CPU core; `assumed_rates.yaml` explains each key."""

    device: str
    peak: dict[str, PositiveFloat]
    sustained_share: dict[str, PositiveFloat]
    seconds_per_layer: LayerSeconds
    scaling_share: Annotated[float, Field(gt=0, le=1)]
    per_second: dict[str, PositiveFloat]
    seconds_per_job: JobSeconds

    def seconds(self, work: Work) -> float:
        """Return the assumed seconds of some work on one card, or on one CPU core."""
        if work.unit != "token":
            return work.amount / self.per_second[work.kind]
        sustained = self.peak[work.precision] * self.sustained_share[work.precision]
        layer = self.seconds_per_layer.training if work.kind.startswith("train") else self.seconds_per_layer.decoding
        call = max(work.at_once * work.flops / sustained, work.layers * layer)
        return work.amount / work.at_once * call


class MeasuredRate(Section):
    """What a job of a run did: `per_second` of `kind` on one card or CPU.

    Where a model computed, those are tokens, `at_once` inputs in a call, of `flops` operations each. Else there is no
    model, and `at_once` is all that there was to do.
    """

    task: Literal["translation", "super_resolution"]
    kind: str
    model: str | None = None
    per_second: PositiveFloat
    flops: PositiveFloat | None = None
    at_once: PositiveInt = 1
    parameters: PositiveInt | None = None
    device: str
    precision: str = "fp32"
    threads: PositiveInt = 1
    records: str

    @model_validator(mode="after")
    def _computing_tells_of_operations(self) -> Self:
        if self.flops is None and not self.kind.startswith(_WITHOUT_MODEL):
            raise ValueError(f"a rate of {self.kind[:100]!r} without its operations a token (flops)")
        return self


class Measured(Section):
    """The rates of a run, and what its preparation counted."""

    results: str
    text: CountedText | None
    rates: tuple[MeasuredRate, ...]

    @property
    def devices(self) -> list[str]:
        """What was measured on, each once."""
        computed = [rate for rate in self.rates if rate.flops is not None]
        return sorted({f"{rate.device}, {rate.precision}, {rate.threads} CPU thread(s)" for rate in computed})


@dataclass(frozen=True)
class Estimate:
    """Seconds that some work will take, and what they rest on."""

    seconds: float
    basis: Basis


@dataclass(frozen=True)
class RateBook:
    """Assumed rates, and the measured ones that go before them."""

    assumed: AssumedRates
    measured: Sequence[MeasuredRate] = ()

    def estimate(self, task: str | None, work: Work) -> Estimate:
        """Return how long some work takes on one card, or on one CPU core.

        A rate of the same task and kind, and of a model that computes as much for each token, is taken as it was
        measured. Without one, the nearest model's is scaled by operations a token; without any, rates are assumed.
        """
        found = [rate for rate in self.measured if (rate.task, rate.kind) == (task, work.kind)]
        # A run that was on cards in part says nothing of cards by what it did on CPUs.
        found = [rate for rate in found if rate.device.startswith("cuda")] or found
        if work.amount == 0:
            return Estimate(0.0, "measured" if found else "assumed")
        if not found:
            return Estimate(self.assumed.seconds(work), "assumed")
        if work.unit != "token":
            same = all(rate.at_once == work.amount for rate in found)
            seconds = work.amount / harmonic_mean([rate.per_second for rate in found])
            return Estimate(seconds, "measured" if same else "scaled")
        nearest = min(_distance(rate, work) for rate in found)
        alike = [rate for rate in found if _distance(rate, work) - nearest < _SAME]
        per_second = harmonic_mean([rate.per_second * rate.flops / work.flops for rate in alike])
        return Estimate(work.amount / per_second, "measured" if nearest < _SAME else "scaled")


def _distance(rate: MeasuredRate, work: Work) -> float:
    training = work.kind.startswith("train")
    return abs(math.log(rate.flops / work.flops)) + (0.0 if training else abs(math.log(rate.at_once / work.at_once)))


def read_assumed(path: Path = ASSUMED) -> AssumedRates:
    """Return the assumed rates; raise `BpdError` naming every faulty key."""
    return validate_section(AssumedRates, read_config_values(path), str(path))


def read_measured(path: Path) -> Measured:
    """Return what `bpd rates` wrote; raise `BpdError` naming every faulty key."""
    try:
        values = read_json(path)
    except OSError as error:
        raise BpdError(f"{path}: cannot read the measured rates: {error.strerror}; `bpd rates` writes them") from None
    except ValueError as error:
        raise BpdError(f"{path}: not a JSON file ({error}); `bpd rates` writes one") from None
    return validate_section(Measured, values, str(path))
