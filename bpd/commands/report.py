"""`bpd tables`, `bpd figures` and `bpd show`: a scale's report from its scores, journals and trace."""

from __future__ import annotations

from pathlib import Path

from bpd.atomic import write_text
from bpd.config import ReportSettings
from bpd.errors import BpdError
from bpd.evaluation.score import score_path
from bpd.grid import replica_folder
from bpd.report.block_histograms import block_histograms
from bpd.report.scatter import table1_scatter
from bpd.report.scores import Scores
from bpd.report.style import write_figure
from bpd.report.table4 import table4
from bpd.report.table_files import markdown_page, read_markdown
from bpd.report.tables import approximate_table, table1, write_table
from bpd.report.timings import Timings
from bpd.report.trace import read_trace, trace_figure, trace_markdown
from bpd.report.trace_animation import write_trace_animation
from bpd.report.training_curves import training_curves


def score_files(settings: ReportSettings, results: Path) -> dict[int, list[Path]]:
    """Return, by seed, the score file of each decoding that the grid asks for, whatever else lies in the folders."""
    return {
        seed: [
            score_path(root / "translation" / model / "decode" / settings.set_names[role] / f"{criterion}.jsonl")
            for model, roles in settings.criteria.items()
            for role, criteria in roles.items()
            for criterion in criteria
        ]
        for seed in settings.seeds
        for root in [replica_folder(results, seed)]
    }


def write_tables(settings: ReportSettings, results: Path, output: Path) -> list[Path]:
    """Write Tables 1 and 4, the approximate table, all scores and the trace into `output`; return the paths."""
    scores = Scores(score_files(settings, results))
    paths = write_table(table1(scores, settings.block_sizes, settings.settings, settings.scale), output)
    approximate = approximate_table(scores, settings.block_sizes, settings.approximate_criteria, settings.scale)
    paths += write_table(approximate, output)
    timings = Timings(results, "translation", settings.set_names["test"], "exact", settings.timed_models)
    timings.require_models_of(scores)
    paths += table4(scores, timings, settings.block_sizes, settings.settings, settings.scale).write(output)
    write_text(output / "scores.csv", scores.frame().to_csv(index=False, lineterminator="\n"))
    trace = read_trace(results / "translation" / "trace.json")
    steps = trace_markdown(trace, settings.scale)
    write_text(output / "trace.md", steps)
    write_text(output / "trace.html", markdown_page(steps, "trace"))
    return [*paths, output / "scores.csv", output / "trace.md", output / "trace.html"]


def write_figures(settings: ReportSettings, results: Path, output: Path) -> list[Path]:
    """Draw the scatter plot, block histograms, training curves and the trace into `output`; return the paths.

    The trace is drawn twice: as a figure, and in motion.
    """
    scores = Scores(score_files(settings, results))
    grid = (settings.block_sizes, settings.settings, settings.scale)
    journals = {model: results / "translation" / model / "training.jsonl" for model in settings.trained_models}
    trace = read_trace(results / "translation" / "trace.json")
    figures = {
        "table1_scatter": table1_scatter(scores, *grid),
        "accepted_blocks": block_histograms(scores, *grid),
        "training_curves": training_curves(journals, settings.scale),
        "trace": trace_figure(trace, settings.scale),
    }
    paths = [path for name, figure in figures.items() for path in write_figure(figure, output, name)]
    return [*paths, write_trace_animation(trace, settings.scale, output / "trace.gif")]


def show(results: Path, figures: Path) -> str:
    """Return the Markdown tables of a finished scale, and the paths of all its tables, figures and pages."""
    tables = sorted((results / "tables").glob("*.md"))
    if not tables:
        raise BpdError(f"{results / 'tables'}: no tables yet; run the workflow first")
    # What is folded away in Markdown, a terminal need not show.
    parts = [read_markdown(table).partition("<details>")[0] for table in tables]
    paths = sorted(
        [*(results / "tables").iterdir(), *figures.glob("*.pdf"), *figures.glob("*.png"), *figures.glob("*.gif")]
    )
    paths += results.glob("super_resolution/survey/survey.html")
    paths += [path for name in ("README.md", "report.html") if (path := results / name).is_file()]
    return "\n".join(parts) + "\n" + "\n".join(f"{path}" for path in paths)
