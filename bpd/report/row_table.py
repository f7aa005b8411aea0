"""Tables of plain rows: one list of columns, as CSV, Markdown and LaTeX."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bpd.report.latex_table import latex_table
from bpd.report.table_files import write_table_files
from bpd.report.tables import GAP, markdown_row


@dataclass(frozen=True)
class RowTable:
    """`rows` of values by column; `shown` gives the columns of Markdown and LaTeX: title and printed values.

    The CSV has every column as it is, empty where a value is none.
    """

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    shown: tuple[tuple[str, tuple[str, ...]], ...]
    caption: str
    notes: tuple[str, ...]

    def csv(self) -> str:
        """Return the rows as CSV."""
        import pandas

        frame = pandas.DataFrame(self.rows, columns=list(self.columns), dtype=object)
        return frame.to_csv(index=False, lineterminator="\n")

    def markdown(self) -> str:
        """Return the shown columns as Markdown, with caption and notes."""
        notes = "\n".join(f"{note}  " for note in self.notes)
        return f"**{self.caption}**\n\n{self.markdown_rows()}\n{notes}\n"

    def markdown_rows(self) -> str:
        """Return the shown columns as Markdown alone."""
        titles = [title for title, _ in self.shown]
        lines = [markdown_row(titles), markdown_row(["---"] * len(titles))]
        return "\n".join([*lines, *(markdown_row(values) for values in self._printed())]) + "\n"

    def latex(self) -> str:
        """Return the shown columns as LaTeX."""
        return latex_table(self.caption, [title for title, _ in self.shown], self._printed(), self.notes)

    def write(self, folder: Path) -> list[Path]:
        """Write the table into `folder` as `write_table_files` does, and return the paths."""
        return write_table_files(folder, self.name, self.csv(), self.markdown(), self.latex())

    def _printed(self) -> list[list[str]]:
        return [[value or GAP for value in row] for row in zip(*(values for _, values in self.shown))]
