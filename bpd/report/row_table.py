"""Tables of plain rows: one list of columns, as CSV, Markdown and LaTeX."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bpd.atomic import write_text
from bpd.report.tables import GAP, escaped, markdown_row


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
        """Return the shown columns as Markdown."""
        titles = [title for title, _ in self.shown]
        lines = [f"**{self.caption}**", "", markdown_row(titles), markdown_row(["---"] * len(titles))]
        lines += [markdown_row(values) for values in self._printed()]
        return "\n".join([*lines, "", *(f"{note}  " for note in self.notes)]) + "\n"

    def latex(self) -> str:
        """Return the shown columns as LaTeX with booktabs."""
        lines = [
            "% Needs \\usepackage{booktabs}.",
            "\\begin{table}",
            "\\centering",
            f"\\caption{{{escaped(self.caption)}}}",
            f"\\begin{{tabular}}{{{'l' * len(self.shown)}}}",
            "\\toprule",
            " & ".join(escaped(title) for title, _ in self.shown) + " \\\\",
            "\\midrule",
            *(" & ".join(map(escaped, values)) + " \\\\" for values in self._printed()),
            "\\bottomrule",
            "\\end{tabular}",
            f"\\par\\smallskip\\footnotesize {' '.join(map(escaped, self.notes))}",
            "\\end{table}",
        ]
        return "\n".join(lines) + "\n"

    def write(self, folder: Path) -> list[Path]:
        """Write the table as CSV, Markdown and LaTeX into `folder` and return the paths."""
        paths = []
        for kind, text in (("csv", self.csv()), ("md", self.markdown()), ("tex", self.latex())):
            paths.append(folder / f"{self.name}.{kind}")
            write_text(paths[-1], text)
        return paths

    def _printed(self) -> list[list[str]]:
        return [[value or GAP for value in row] for row in zip(*(values for _, values in self.shown))]
