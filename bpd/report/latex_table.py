"""LaTeX of a table: columns that share the width of the page, and rows over as many pages as they need."""

from __future__ import annotations

import math
from collections.abc import Sequence

_CHARACTERS = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}
    | {"|": "\\textbar{}", "–": "--", "†": "$^\\dagger$", "ε": "$\\epsilon$", "₁": "$_1$", "×": "$\\times$"}
    | {
        "±": "$\\pm$",
        "÷": "$\\div$",
        "−": "$-$",
        "<": "$<$",
        ">": "$>$",
        "\u00a0": "~",
        "≥": "$\\geq$",
        "≤": "$\\leq$",
        "·": "$\\cdot$",
        "…": "\\dots{}",
    }
)
# An article's line and the space between two columns, in figures of \footnotesize.
_LINE = 80.0
_SPACE = 1.6
# What no line may begin or end with.
_TIED = (" ± ", " = ", " %")
_NARROW, _WIDE = frozenset(" .,;:|'!()[]fijlrtI/"), frozenset("mwMW%@±×–−…÷≥≤")

Texts = Sequence[str]


def latex_table(
    caption: str, titles: Texts, rows: Sequence[Texts], notes: Texts, *, below: Sequence[Texts] = (), origins: str = ""
) -> str:
    """Return a table of plain texts, as wide as a line, that breaks across pages; its rows are escaped here.

    `below` are rows that stand below each of `rows`, smaller and slanted; with them the cells are centred. `origins`
    is LaTeX that follows the notes.
    """
    about = [f"\\caption{{{escaped(caption)}}} \\\\"]
    lines = [
        "% Needs \\usepackage{booktabs,longtable,array}.",
        "\\begingroup\\footnotesize\\setlength{\\tabcolsep}{3pt}\\setlength{\\LTcapwidth}{\\linewidth}",
        *_rows(titles, rows, below, about),
        f"\\noindent\\raggedright {' '.join(map(escaped, notes))}\\par",
        *([origins] if origins else []),
        "\\endgroup",
    ]
    return "\n".join(lines) + "\n"


def latex_rows(titles: Texts, rows: Sequence[Texts]) -> str:
    """Return small rows without a caption and without a number, to stand below a table."""
    # Every longtable counts as a table, with or without a caption.
    return "\n".join(["\\scriptsize", *_rows(titles, rows, (), []), "\\addtocounter{table}{-1}"])


def escaped(text: str) -> str:
    """Return `text` with LaTeX's own characters escaped, and those that its fonts lack as commands."""
    return _tied(text).translate(_CHARACTERS)


def _tied(text: str) -> str:
    for part in _TIED:
        text = text.replace(part, part.replace(" ", "\u00a0"))
    return text


def _rows(titles: Texts, rows: Sequence[Texts], below: Sequence[Texts], about: list[str]) -> list[str]:
    head = [
        "\\toprule",
        " & ".join("$k$" if title == "k" else escaped(title) for title in titles) + " \\\\",
        "\\midrule",
    ]
    body = []
    for place, row in enumerate(rows):
        # A page must not break between a row and what stands below it.
        body.append(" & ".join(map(escaped, row)) + (" \\\\*" if below else " \\\\"))
        if below:
            smaller = (f"{{\\scriptsize\\textit{{{escaped(text)}}}}}" if text else "" for text in below[place])
            body.append(" & ".join(smaller) + " \\\\")
    set_as = "\\centering" if below else "\\raggedright"
    columns = "".join(
        f">{{{set_as}\\arraybackslash}}p{{\\dimexpr{share:.3f}\\linewidth-2\\tabcolsep\\relax}}"
        for share in _shares([titles, *rows, *below])
    )
    return [
        f"\\begin{{longtable}}{{{columns}}}", *about, *head, "\\endfirsthead", *head, "\\endhead", "\\bottomrule",
        "\\endfoot", *body, "\\end{longtable}",
    ]  # fmt: skip


def _shares(rows: Sequence[Texts]) -> list[float]:
    """Return the share of the line that each column gets: enough for its longest word, and the rest where it helps."""
    columns = [[_width(text) for text in column] for column in zip(*rows)]
    widths = [max(_width(word) for text in column for word in _words(text)) for column in zip(*rows)]
    room = _LINE - _SPACE * len(widths) - sum(widths)
    while room > 0:
        # The squares make a cell of many lines dearer than many cells of a few: its row is as high as that one.
        gains = [
            sum(max(1, text / width) ** 2 - max(1, text / (width + 1)) ** 2 for text in column)
            for column, width in zip(columns, widths)
        ]
        if max(gains) == 0:
            break
        widths[gains.index(max(gains))] += 1
        room -= 1
    # The widths are estimates: where there is room, columns take some more.
    total = sum(widths) + _SPACE * len(widths)
    line = min(1.0, 1.15 * total / _LINE)
    return [math.floor(1000 * line * (width + _SPACE) / total) / 1000 for width in widths]


def _words(text: str) -> list[str]:
    """Return the parts of `text` that no line break divides."""
    return _tied(text).replace("-", "- ").split(" ")


def _width(text: str) -> float:
    """Return about how wide `text` is, in figures."""
    return sum(0.65 if one in _NARROW else 1.7 if one in _WIDE else 1.5 if one.isupper() else 1.06 for one in text)
