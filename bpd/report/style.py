"""How figures look and how they are written: no display needed, the same bytes on every run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bpd.atomic import atomic_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's palette, told apart by colour-blind readers; each setting also has a marker of its own.
COLOURS = {
    "regular": "#0072B2",
    "distillation": "#E69F00",
    "fine_tuning": "#009E73",
    "both": "#D55E00",
    "base": "#444444",
}
MARKERS = {"regular": "o", "distillation": "s", "fine_tuning": "^", "both": "D", "base": "*"}


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of `width` × `height` inches, on no display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def write_figure(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write `figure` as PDF and PNG into `folder`, without dates, and return the paths."""
    import matplotlib

    paths = []
    with matplotlib.rc_context({"pdf.fonttype": 42, "svg.hashsalt": name}):
        for kind, metadata in (
            ("pdf", {"CreationDate": None, "Producer": None, "Creator": None}),
            ("png", {"Software": None}),
        ):
            path = folder / f"{name}.{kind}"
            with atomic_path(path) as temporary:
                figure.savefig(temporary, format=kind, dpi=150, metadata=metadata)
            paths.append(path)
    return paths
