"""Table 1 and the approximate table: ours beside the published numbers, as CSV, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Protocol

from bpd.grid import head_model_name
from bpd.report.latex_table import latex_rows, latex_table
from bpd.report.published import PAPER, approximate_cell, missing_note, published, table1_cell
from bpd.report.scores import Scores
from bpd.report.table_files import write_table_files

GAP = "–"
SETTING_TITLES = {
    "regular": "Regular",
    "distillation": "Distillation",
    "fine_tuning": "Fine Tuning",
    "both": "Both",
}


class AnyCell(Protocol):
    """A dataclass of numbers, whose fields are columns of the CSV."""

    def ours(self) -> str:
        """Return our numbers as the paper prints them, or a gap."""
        ...

    def theirs(self) -> str:
        """Return the published numbers, or a gap."""
        ...


@dataclass(frozen=True)
class Cell:
    """BLEU and mean accepted block size, ours and published; none where there is no such number."""

    bleu: float | None
    mean_accepted_block_size: float | None
    published_bleu: float | None
    published_mean_accepted_block_size: float | None
    bleu_sd: float | None = None
    mean_accepted_block_size_sd: float | None = None

    def ours(self) -> str:
        """Return our two numbers as the paper prints them, with their deviations over seeds, or a gap."""
        return _printed(self.bleu, self.mean_accepted_block_size, self.bleu_sd, self.mean_accepted_block_size_sd)

    def theirs(self) -> str:
        """Return the published two numbers, or a gap."""
        return _printed(self.published_bleu, self.published_mean_accepted_block_size)


@dataclass(frozen=True)
class Table:
    """A table laid out like the paper's: a row for each k, a column for each setting or criterion.

    `cells` may hold more than the layout shows: the baseline stands in the CSV and in the notes. `origins` says of
    each model what its numbers were made with.
    """

    name: str
    column_key: str
    block_sizes: tuple[int, ...]
    columns: dict[str, str]
    cells: dict[tuple[int, str], AnyCell]
    caption: str
    notes: tuple[str, ...]
    origins: list[dict[str, str]]
    cell_kind: type = Cell

    def csv(self) -> str:
        """Return one line a cell: k, column, ours and published, empty where there is no number."""
        import pandas

        names = ["k", self.column_key, *(field.name for field in fields(self.cell_kind))]
        rows = [(*place, *astuple(cell)) for place, cell in self.cells.items()]
        return pandas.DataFrame(rows, columns=names, dtype=object).to_csv(index=False, lineterminator="\n")

    def markdown(self) -> str:
        """Return the table as Markdown: ours and published in two columns for each setting."""
        titles = ["k"]
        for title in self.columns.values():
            titles += [title, f"{title}, published"]
        lines = [f"**{self.caption}**", "", markdown_row(titles), markdown_row(["---:"] + ["---"] * (len(titles) - 1))]
        for block_size in self.block_sizes:
            values = [str(block_size)]
            for column in self.columns:
                cell = self.cells.get((block_size, column))
                values += [cell.ours(), cell.theirs()] if cell else [GAP, GAP]
            lines.append(markdown_row(values))
        lines += ["", *(f"{note}  " for note in self.notes)]
        if self.origins:
            names = list(self.origins[0])
            lines += [
                "",
                markdown_row(names),
                markdown_row(["---"] * len(names)),
                *(markdown_row(list(row.values())) for row in self.origins),
            ]
        return "\n".join(lines) + "\n"

    def latex(self) -> str:
        """Return the table as LaTeX with booktabs; published numbers stand below ours, smaller and slanted."""
        places = [(size, [self.cells.get((size, column)) for column in self.columns]) for size in self.block_sizes]
        return latex_table(
            self.caption,
            ["k", *self.columns.values()],
            [[str(size), *(cell.ours() if cell else GAP for cell in cells)] for size, cells in places],
            self.notes,
            below=[["", *(f"published {cell.theirs()}" if cell else "" for cell in cells)] for _, cells in places],
            origins=latex_rows(list(self.origins[0]), [list(row.values()) for row in self.origins])
            if self.origins
            else "",
        )


def table1(scores: Scores, block_sizes: Sequence[int], settings: Sequence[str], scale: str) -> Table:
    """Return Table 1 on the dev set; the base model's greedy BLEU stands in the notes and, as k = 1, in the CSV."""
    cells = {}
    base = scores.get("base", "exact")
    if base:
        cells[1, "base"] = _cell(base, (published()["table1"]["baseline_bleu"], None))
    for block_size in block_sizes:
        for setting in settings:
            ours = scores.get(head_model_name(setting, block_size), "exact")
            theirs = table1_cell(block_size, setting)
            if ours or theirs:
                cells[block_size, setting] = _cell(ours, theirs)
    baseline = "No baseline was decoded"
    if base:
        printed = with_spread(base["bleu"], base.get("sd", {}).get("bleu"))
        baseline = f"Baseline, greedy, before any head: BLEU {printed}"
    baseline += f"; published {published()['table1']['baseline_bleu']:.2f}."
    return Table(
        name="table1",
        column_key="setting",
        block_sizes=tuple(block_sizes),
        columns={setting: SETTING_TITLES[setting] for setting in settings},
        cells=cells,
        caption=f"Table 1. BLEU / mean accepted block size on {scores.set_name()} (dev), scale {scale}",
        notes=(baseline, *missing_note("table1", block_sizes), *_notes(scores, scale)),
        origins=scores.origins([("base", "exact"), *((_model(cell), "exact") for cell in cells if cell[1] != "base")]),
    )


def approximate_table(scores: Scores, block_sizes: Sequence[int], criteria: Sequence[str], scale: str) -> Table:
    """Return the approximate decodings of the "Both" models of section 7.1, beside the exact one, on the dev set."""
    columns = ["exact", *criteria]
    titles = {"exact": "Exact"} | {name: _criterion_title(name) for name in criteria}
    cells = {}
    for block_size in (size for size in block_sizes if size > 1):
        for criterion in columns:
            ours = scores.get(head_model_name("both", block_size), criterion)
            theirs = approximate_cell(block_size, criterion)
            if ours or theirs:
                cells[block_size, criterion] = _cell(ours, theirs)
    described = f"Minimum block sizes, published: {published()['approximate']['minimum']}."
    return Table(
        name="approximate",
        column_key="criterion",
        block_sizes=tuple(size for size in block_sizes if size > 1),
        columns={name: titles[name] for name in columns},
        cells=cells,
        caption=(
            "Approximate decoding of the models with distillation and fine tuning: "
            f"BLEU / mean accepted block size on {scores.set_name()} (dev), scale {scale}"
        ),
        notes=(described, *missing_note("approximate", block_sizes), *_notes(scores, scale)),
        origins=scores.origins([(head_model_name("both", size), criterion) for size, criterion in cells]),
    )


def write_table(table: Table, folder: Path) -> list[Path]:
    """Write `table` into `folder` as `write_table_files` does, and return the paths."""
    return write_table_files(folder, table.name, table.csv(), table.markdown(), table.latex())


def _model(cell: tuple[int, str]) -> str:
    return head_model_name(cell[1], cell[0])


def _cell(ours: dict | None, theirs: tuple[float, float | None] | None) -> Cell:
    bleu, block = (ours["bleu"], ours["mean_accepted_block_size"]) if ours else (None, None)
    spread = ours.get("sd", {}) if ours else {}
    return Cell(bleu, block, *(theirs or (None, None)), spread.get("bleu"), spread.get("mean_accepted_block_size"))


def _notes(scores: Scores, scale: str) -> tuple[str, ...]:
    about = f"Published: {PAPER}, newstest2013, WMT14 English–German."
    if scale != "paper":
        about += " They are of other data and a larger model: compare the pattern, not the numbers."
    return (
        *scores.spread_note(),
        *scores.unlike_greedy_note(),
        about,
        f"sacreBLEU signature: {scores.signature()}.",
        f"{scores.provenance()}; all hashes: scores.csv.",
    )


def _criterion_title(name: str) -> str:
    for kind, title in (("top", "Top-{}"), ("minimum", "Minimum {}"), ("distance", "Distance {}")):
        if name.startswith(kind):
            return title.format(name.removeprefix(kind))
    return name


def _printed(
    bleu: float | None, block: float | None, bleu_sd: float | None = None, block_sd: float | None = None
) -> str:
    if bleu is None or block is None:
        return GAP
    return f"{with_spread(bleu, bleu_sd)} / {with_spread(block, block_sd)}"


def with_spread(number: float, deviation: float | None, digits: int = 2) -> str:
    """Return a number with its digits, and with its standard deviation where it has one."""
    return f"{number:.{digits}f}" + ("" if deviation is None else f" ± {deviation:.{digits}f}")


def markdown_row(values: Sequence[str]) -> str:
    return "| " + " | ".join(values) + " |"
