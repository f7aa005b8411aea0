"""Every number that the paper reports, and how ours for it is found among the finished tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bpd.config import ScorecardSettings
from bpd.report.kept_quality import largest, lossless_blocks, slight_loss_blocks
from bpd.report.published import published
from bpd.report.result_values import Values
from bpd.report.tables import SETTING_TITLES

Find = Callable[[Values, ScorecardSettings], float | None]

_TASKS = {"translation": "Translation", "super_resolution": "Super-resolution"}
_IMAGE_TITLES = {"approximate": "Approximate"} | SETTING_TITLES
_CRITERIA = {"top2": "top-2", "top3": "top-3"}


@dataclass(frozen=True)
class Number:
    """A published number: of which `measure` it is, and how ours is found, given the values and how is judged.

    `rule` says how it is judged where there are tolerances: `near` by its measure's tolerance, `reached` where ours
    may be larger, `steps` by a difference of two, `shown` not at all. Quoted numbers are others' constants: `find` is
    none.
    """

    item: str
    section: str
    published: float
    measure: str
    find: Find | None
    rule: str = "near"


def _cell(table: str, key: tuple, column: str) -> Find:
    return lambda values, settings: values.get(table, key, column)


def numbers() -> list[Number]:
    """Return every number of the paper's results, in its order."""
    return [*_table1(), *_approximate(), *_table2(), *_table3(), *_table4(), *_figure4(), *_trace(), *_abstract()]


def _table1() -> Iterator[Number]:
    paper = published()["table1"]
    yield Number(
        "Table 1, baseline: BLEU", "Table 1", paper["baseline_bleu"], "bleu", _cell("table1", (1, "base"), "bleu")
    )
    for k, row in paper["rows"].items():
        for setting, pair in row.items():
            yield from _pair(f"Table 1, k = {k}, {SETTING_TITLES[setting]}", "Table 1", "table1", (k, setting), pair)


def _pair(name: str, section: str, table: str, key: tuple, pair: tuple[float, float]) -> Iterator[Number]:
    for title, column, number in zip(("BLEU", "block size"), ("bleu", "mean_accepted_block_size"), pair):
        yield Number(f"{name}: {title}", section, number, column, _cell(table, key, column))


def _approximate() -> Iterator[Number]:
    for k, row in published()["approximate"]["rows"].items():
        for criterion, pair in row.items():
            name = f"Section 7.1, k = {k}, {_CRITERIA[criterion]}"
            yield from _pair(name, "Section 7.1", "approximate", (k, criterion), pair)


def _table2() -> Iterator[Number]:
    column = "mean_accepted_block_size"
    for k, row in published()["table2"]["rows"].items():
        for setting, block in row.items():
            name = f"Table 2, k = {k}, {_IMAGE_TITLES[setting]}: block size"
            yield Number(name, "Table 2", block, column, _cell("table2", (k, setting), column))


def _table3() -> Iterator[Number]:
    for criterion, row in published()["table3"]["rows"].items():
        for k, triple in row.items():
            for title, column, number in zip(("percent", "low", "high"), ("preference_percent", "low", "high"), triple):
                name = f"Table 3, Fine Tuning, {criterion}, k = {k}: {title}"
                find = _cell("table3", (k, criterion), column)
                yield Number(name, "Table 3", number, "preference_percent", find)


def _table4() -> Iterator[Number]:
    paper = published()["table4"]
    for k, pair in paper["ours"].items():
        for title, column, number in zip(("BLEU", "speedup"), ("bleu", "speedup"), pair):
            yield Number(f"Table 4, k = {k}: {title}", "Table 4", number, column, _cell("table4", (k,), column))
    for system, pair in paper["quoted"].items():
        for title, measure, number in zip(("BLEU", "speedup"), ("bleu", "speedup"), pair):
            if number is not None:
                yield Number(f"Table 4, {system}: {title}", "Table 4", number, measure, None)


def _figure4() -> Iterator[Number]:
    for task, title in _TASKS.items():
        peak = published()["figure4"][task]
        name = f"Figure 4, {title}, peak"
        yield Number(f"{name}: speedup", "Figure 4", peak["speedup"], "speedup", _peak(task, "speedup"))
        block = peak["mean_accepted_block_size"]
        measure = "mean_accepted_block_size"
        yield Number(f"{name}: block size", "Figure 4", block, measure, _peak(task, measure))
        yield Number(f"{name}: k", "Figure 4", peak["k"], "k", _peak(task, "k"), rule="steps")


def _peak(task: str, column: str) -> Find:
    def find(values: Values, settings: ScorecardSettings) -> float | None:
        speeds = {
            k: values.get("figure4", (task, k, "recompute"), "speedup") for k in values.block_sizes("figure4", task)
        }
        found = {k: speed for k, speed in speeds.items() if speed is not None}
        if not found:
            return None
        fastest = max(found, key=found.__getitem__)
        if column == "k":
            return fastest
        return values.get("figure4", (task, fastest, "recompute"), column)

    return find


def _trace() -> Iterator[Number]:
    sizes = published()["trace"]["accepted"]
    yield Number("Section 7.4, trace: steps", "Section 7.4", len(sizes), "steps", _cell("trace", (), "steps"), "steps")
    for place, size in enumerate(sizes, start=1):
        find = _cell("trace", (place,), "accepted")
        name = f"Section 7.4, trace: tokens accepted in step {place}"
        yield Number(name, "Section 7.4", size, "tokens", find, rule="shown")


def _abstract() -> Iterator[Number]:
    measure = "mean_accepted_block_size"

    def largest_lossless(values: Values, settings: ScorecardSettings) -> float | None:
        kept = largest(lossless_blocks(values, settings))
        return None if kept is None else kept.block

    def largest_at_slight_loss(values: Values, settings: ScorecardSettings) -> float | None:
        kept = largest(slight_loss_blocks(values, settings))
        return None if kept is None else kept.block

    yield Number(
        "Abstract: fewer iterations at no loss in quality, up to", "Abstract", 2.0, measure, largest_lossless, "reached"
    )
    yield Number(
        "Abstract: fewer iterations at a slight loss, up to", "Abstract", 7.0, measure, largest_at_slight_loss,
        "reached",
    )  # fmt: skip

    def largest_speedup(values: Values, settings: ScorecardSettings) -> float | None:
        cells = [
            ("figure4", (task, k, "recompute"), "speedup")
            for task in _TASKS
            for k in values.block_sizes("figure4", task)
        ]
        return _largest(values, cells)

    yield Number("Abstract: wall-clock speedup, up to", "Abstract", 4.0, "speedup", largest_speedup, "reached")


def _largest(values: Values, cells: list[tuple[str, tuple, str]]) -> float | None:
    return max((value for cell in cells if (value := values.get(*cell)) is not None), default=None)
