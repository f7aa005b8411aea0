"""Table 3: how often people preferred each method's images to the greedy baseline's, beside the published numbers."""

from __future__ import annotations

from typing import Any

from bpd.evaluation.survey import QUESTION, Method, Study
from bpd.report.published import PAPER, published
from bpd.report.row_table import RowTable

_COLUMNS = (
    "method_1", "method_2", "preference_percent", "low", "high", "votes", "published_preference_percent",
    "published_low", "published_high",
)  # fmt: skip
_BASELINE = "Regular, exact, k = 1"


def table3(study: Study, preference: dict[str, Any] | None) -> RowTable:
    """Return Table 3 from the scored votes of `study`, or without our numbers where none were collected."""
    found = preference["methods"] if preference else [None] * len(study.methods)
    rows = [
        (_title(method), _BASELINE, *_ours(values), *_theirs(method)) for method, values in zip(study.methods, found)
    ]
    return RowTable(
        name="table3",
        columns=_COLUMNS,
        rows=tuple(rows),
        shown=(
            ("Method 1", tuple(row[0] for row in rows)),
            ("Method 2", tuple(row[1] for row in rows)),
            ("1 preferred to 2", tuple(_printed(row[2:5]) for row in rows)),
            ("Votes", tuple("" if row[5] is None else str(row[5]) for row in rows)),
            ("1 preferred to 2, published", tuple(_printed(row[6:9]) for row in rows)),
        ),
        caption=f"Table 3. Human preference: percent of votes and 90 % bootstrap interval, scale {study.scale}",
        notes=tuple(_notes(study, preference)),
    )


def _title(method: Method) -> str:
    rule = "exact" if method.criterion == "exact" else f"approximate (ε = {method.criterion.removeprefix('distance')})"
    return f"Fine tuning, {rule}, k = {method.block_size}"


def _ours(values: dict[str, Any] | None) -> tuple[Any, ...]:
    return (values["percent"], values["low"], values["high"], values["votes"]) if values else (None,) * 4


def _theirs(method: Method) -> tuple[float | None, ...]:
    rows = published()["table3"]["rows"]["exact" if method.criterion == "exact" else "approximate"]
    return tuple(rows.get(method.block_size, (None,) * 3))


def _printed(numbers: tuple[float | None, ...]) -> str:
    percent, low, high = numbers
    return "" if percent is None else f"{percent:.1f} % ({low:.1f}, {high:.1f})"


def _notes(study: Study, preference: dict[str, Any] | None) -> list[str]:
    notes = [
        f"Published: {PAPER}, CelebA. Question: {QUESTION} Both images are made from the same low-resolution input."
    ]
    if preference is None:
        return [*notes, "Votes were not collected at this scale: our columns are empty."]
    raters = preference["raters"]
    repeated, alike = (sum(rater[key] for rater in raters.values()) for key in ("repeated", "alike"))
    notes.append(
        f"{sum(rater['votes'] for rater in raters.values())} votes of {len(raters)} rater(s); "
        + (f"{alike} of {repeated} repeated pairs were answered alike." if repeated else "no pair was answered twice.")
    )
    if preference["faults"]:
        notes.append(f"{len(preference['faults'])} faulty lines of votes were left out.")
    return [*notes, f"Survey {study.survey_id}, seed {study.seed}, {study.bootstrap_samples} bootstrap samples."]
