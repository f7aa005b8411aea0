"""What a part of the suite finds: ratios, each with its target if it has one, and the measurements behind them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from bench.interleave import Ratio


@dataclass(frozen=True)
class Finding:
    """A ratio, what it is a ratio of, and the target it has to keep: `at_most`, `at_least`, or none.

    `limit` is what the ratio could be at best here, as measured beside it, where that is known.
    """

    name: str
    ratio: Ratio
    at_most: float | None = None
    at_least: float | None = None
    limit: float | None = None

    @property
    def verdict(self) -> Literal["met", "missed"] | None:
        """Whether the median keeps the target; none without one."""
        if self.at_most is None and self.at_least is None:
            return None
        above = self.at_most is not None and self.ratio.value > self.at_most
        below = self.at_least is not None and self.ratio.value < self.at_least
        return "missed" if above or below else "met"


@dataclass
class Findings:
    """All that one part of the suite found; `skipped` holds, one a line, what it could not measure and why."""

    findings: list[Finding] = field(default_factory=list)
    measurements: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def add(
        self,
        name: str,
        ratio: Ratio | float,
        *,
        at_most: float | None = None,
        at_least: float | None = None,
        limit: float | None = None,
    ) -> None:
        """Note a ratio under its name; a plain number is one without spread."""
        if not isinstance(ratio, Ratio):
            ratio = Ratio(ratio, ratio, ratio)
        self.findings.append(Finding(name, ratio, at_most, at_least, limit))

    def record(self, **values: Any) -> None:
        """Note a measurement, as it is to stand in the JSON file."""
        self.measurements.append(values)

    def as_json(self) -> dict[str, Any]:
        """Return plain values for the JSON file; numbers keep five significant digits."""
        ratios = [
            {
                "name": one.name,
                **{key: float(f"{value:.5g}") for key, value in asdict(one.ratio).items()},
                "at_most": one.at_most,
                "at_least": one.at_least,
                "limit": None if one.limit is None else float(f"{one.limit:.5g}"),
                "verdict": one.verdict,
            }
            for one in self.findings
        ]
        return {"ratios": ratios, "measurements": self.measurements, "skipped": self.skipped}
