"""The scorecard: every number and every claim of the paper, published and ours, with a verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bpd.config import ScorecardSettings
from bpd.report.claims import Claim, Finding, claims
from bpd.report.kept_quality import LEAST_PERCENT
from bpd.report.published import PAPER
from bpd.report.published_numbers import Number, numbers
from bpd.report.result_values import Cell, Values, measured_values, published_values
from bpd.report.row_table import RowTable
from bpd.report.table2 import MOST_BITS_LOST, MOST_PSNR_LOST
from bpd.report.table_files import write_table_files

COLUMNS = ("item", "published", "ours", "difference", "verdict", "section", "kind", "judged_by")
NOT_MEASURED = "not measured"
_MOST_STEPS = 2
# The paper's own numbers are checked with these at every scale, so that what stands as published never moves: the
# margins of config/paper.yaml.
PAPER_MARGINS = ScorecardSettings(scale="paper", tolerances=None, same_bleu=0.5, slight_bleu=1.5)
_PLURAL = {"holds": "hold", "fails": "fail"}


@dataclass(frozen=True)
class Entry:
    """A line of the scorecard: `kind` is claim, number or quoted; `cells` are the results that it depends on."""

    item: str
    published: str
    ours: str
    difference: str
    verdict: str
    section: str
    kind: str
    judged_by: str
    cells: frozenset[Cell]


def scorecard(tables: Path, trace: Path, settings: ScorecardSettings) -> list[Entry]:
    """Return the scorecard of the finished tables in `tables` and of the trace: claims first, then numbers.

    Raises `BpdError` where one of them is missing or damaged.
    """
    return judged(Values(measured_values(tables, trace)), settings)


def judged(values: Values, settings: ScorecardSettings) -> list[Entry]:
    """Return the scorecard of `values`."""
    paper = Values(published_values())
    return [
        *(_claim(claim, values.again(), paper, settings) for claim in claims()),
        *(_number(number, values.again(), settings) for number in numbers()),
    ]


def _claim(claim: Claim, values: Values, paper: Values, settings: ScorecardSettings) -> Entry:
    theirs = claim.check(paper, PAPER_MARGINS)
    ours = claim.check(values, settings)
    verdicts = {True: "holds", False: "fails", None: NOT_MEASURED}
    return Entry(
        item=claim.item,
        published="described, without numbers" if claim.described else _told(theirs),
        ours=ours.evidence,
        difference="",
        verdict=verdicts[ours.holds],
        section=claim.section,
        kind="claim",
        judged_by="its own rule, the same for both",
        cells=frozenset(values.seen),
    )


def _told(finding: Finding) -> str:
    return finding.evidence if finding.holds else f"{finding.evidence} ({NOT_MEASURED} or not so)"


def _number(number: Number, values: Values, settings: ScorecardSettings) -> Entry:
    digits = 0 if number.measure in ("k", "steps", "tokens") else 1 if number.measure == "preference_percent" else 2
    ours = None if number.find is None else number.find(values, settings)
    difference = None if ours is None else ours - number.published
    verdict, judged_by = _verdict(number, difference, settings)
    return Entry(
        item=number.item,
        published=f"{number.published:.{digits}f}",
        ours="" if ours is None else f"{ours:.{digits}f}",
        difference="" if difference is None else f"{difference:+.{digits}f}",
        verdict=verdict,
        section=number.section,
        kind="quoted" if number.find is None else "number",
        judged_by=judged_by,
        cells=frozenset(values.seen),
    )


def _verdict(number: Number, difference: float | None, settings: ScorecardSettings) -> tuple[str, str]:
    if number.find is None:
        return "quoted", "another system's, as the paper quotes it: nothing to replicate"
    if number.rule == "shown":
        return (NOT_MEASURED if difference is None else "shown"), "one sentence: shown, not judged"
    if settings.tolerances is None:
        rule = "no tolerance at this scale: other data and models"
        return (NOT_MEASURED if difference is None else "not compared"), rule
    if number.rule == "steps":
        most, rule = float(_MOST_STEPS), f"at most {_MOST_STEPS} off"
    else:
        most = getattr(settings.tolerances, number.measure)
        rule = f"at most {most:g} below" if number.rule == "reached" else f"at most {most:g} off"
    if difference is None:
        return NOT_MEASURED, rule
    # A difference of two floats may lie above the tolerance by its rounding alone.
    off = round(-difference if number.rule == "reached" else abs(difference), 9)
    return ("within tolerance" if off <= most else "outside tolerance"), rule


def write_scorecard_files(entries: Sequence[Entry], settings: ScorecardSettings, folder: Path) -> list[Path]:
    """Write the scorecard into `folder` as every table is written; return the paths.

    The CSV has all entries. Markdown has the claims, and below them the numbers folded away: there are many.
    """
    whole = scorecard_table(entries, settings)
    claims_table = scorecard_table([entry for entry in entries if entry.kind == "claim"], settings)
    numbers_table = scorecard_table([entry for entry in entries if entry.kind != "claim"], settings)
    folded = numbers_table.markdown_rows()
    count = sum(entry.kind != "claim" for entry in entries)
    markdown = (
        f"**{summary(entries)}.**\n\n{claims_table.markdown()}\n"
        f"<details>\n<summary>All {count} numbers</summary>\n\n{folded}\n</details>\n"
    )
    return write_table_files(folder, whole.name, whole.csv(), markdown, whole.latex())


def scorecard_table(entries: Sequence[Entry], settings: ScorecardSettings) -> RowTable:
    """Return entries of the scorecard as a table."""
    titles = {
        "section": "Section", "item": "Claim or number", "verdict": "Verdict", "ours": "Ours",
        "published": "Published", "difference": "Difference",
    }  # fmt: skip
    filled = [name for name in titles if any(getattr(entry, name) for entry in entries)]
    return RowTable(
        name="scorecard",
        columns=COLUMNS,
        rows=tuple(tuple(getattr(entry, name) or None for name in COLUMNS) for entry in entries),
        shown=tuple((titles[name], tuple(getattr(entry, name) for entry in entries)) for name in filled),
        caption=f"Scorecard: every number and claim of {PAPER}, published and ours, scale {settings.scale}",
        notes=tuple(_notes(settings)),
    )


def _notes(settings: ScorecardSettings) -> list[str]:
    notes = []
    if settings.tolerances is None:
        notes.append(
            "Below the paper scale data and models are others: claims are judged, numbers are shown beside the "
            "published ones and not judged."
        )
    notes.append(
        f"A claim about no loss in quality allows {settings.same_bleu:g} BLEU, one about a slight loss "
        f"{settings.slight_bleu:g}; the published numbers are checked with {PAPER_MARGINS.same_bleu:g} and "
        f"{PAPER_MARGINS.slight_bleu:g} at every scale. “Every k” are those above 1 that were measured."
    )
    notes.append(
        f"Images lose slightly where at least {LEAST_PERCENT:g} % of votes prefer them, their PSNR is at most "
        f"{MOST_PSNR_LOST:g} dB below the base model's, and p₁ loses at most {MOST_BITS_LOST:g} bits per intensity, as "
        "far as these were measured: the published ones by votes alone."
    )
    return notes


def summary(entries: Sequence[Entry]) -> str:
    """Return how many claims and numbers got which verdict, in one sentence."""
    found = {kind: Counter(entry.verdict for entry in entries if entry.kind == kind) for kind in ("claim", "number")}
    parts = []
    for kind, counts in found.items():
        if not counts:
            continue
        told = ", ".join(f"{count} {_PLURAL.get(verdict, verdict)}" for verdict, count in sorted(counts.items()))
        parts.append(f"{sum(counts.values())} {kind}s: {told}")
    quoted = sum(entry.kind == "quoted" for entry in entries)
    return "; ".join([*parts, *([f"{quoted} numbers quoted from others"] if quoted else [])])
