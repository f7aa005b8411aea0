"""Commands that report: trace, tables, figures, scorecard, cost, page, show, pack, survey."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bpd.cli.application import (
    ConfigOption,
    DataOption,
    PartOption,
    SettingsOption,
    app,
    settings_of,
    survey_app,
)


@app.command("trace")
def trace_command(
    model: Annotated[Path, typer.Option(help="The model folder.")],
    data: DataOption,
    output: Annotated[Path, typer.Option(help="The JSON file to write.")],
    settings: SettingsOption = None,
    config: ConfigOption = None,
) -> None:
    """Decode one sentence and record each step: what was proposed, and what was accepted."""
    from bpd import grid
    from bpd.commands.trace import trace
    from bpd.config import TraceSettings

    chosen = settings_of(TraceSettings, settings, config, lambda whole: grid.trace_settings(whole.translation))
    trace(chosen, model, data, output)


@app.command("tables")
def tables_command(
    results: Annotated[Path, typer.Option(help="The scale's results, such as results/mini.")],
    output: Annotated[Path, typer.Option(help="The folder of tables to write.")],
    task: PartOption = "translation",
    settings: SettingsOption = None,
    config: ConfigOption = None,
) -> None:
    """Write every table, ours beside the published numbers, as CSV, Markdown and LaTeX."""
    from bpd import grid, image_grid
    from bpd.commands.results_page import require_scale
    from bpd.config import ImageReportSettings, ReportSettings, SpeedReportSettings

    if task == "super_resolution":
        from bpd.commands.image_report import write_image_tables

        wanted = settings_of(ImageReportSettings, settings, config, image_grid.report_settings)
        require_scale(results, wanted.scale)
        paths = write_image_tables(wanted, results, output)
    elif task == "speed":
        from bpd.commands.speed_report import write_speed_tables

        both = settings_of(SpeedReportSettings, settings, config, image_grid.speed_settings)
        require_scale(results, both.translation.scale)
        paths = write_speed_tables(both, results, output)
    else:
        from bpd.commands.report import write_tables

        text = settings_of(ReportSettings, settings, config, grid.report_settings)
        require_scale(results, text.scale)
        paths = write_tables(text, results, output)
    print(*paths, sep="\n")


@app.command("figures")
def figures_command(
    results: Annotated[Path, typer.Option(help="The scale's results, such as results/mini.")],
    output: Annotated[Path, typer.Option(help="The folder of figures to write.")],
    task: PartOption = "translation",
    settings: SettingsOption = None,
    config: ConfigOption = None,
) -> None:
    """Draw every figure as PDF and PNG, on no display."""
    from bpd import grid, image_grid
    from bpd.commands.results_page import require_scale
    from bpd.config import ImageReportSettings, ReportSettings, SpeedReportSettings

    if task == "super_resolution":
        from bpd.commands.image_report import write_image_figures

        wanted = settings_of(ImageReportSettings, settings, config, image_grid.report_settings)
        require_scale(results, wanted.scale)
        paths = write_image_figures(wanted, results, output)
    elif task == "speed":
        from bpd.commands.speed_report import write_speed_figures

        both = settings_of(SpeedReportSettings, settings, config, image_grid.speed_settings)
        require_scale(results, both.translation.scale)
        paths = write_speed_figures(both, results, output)
    else:
        from bpd.commands.report import write_figures

        text = settings_of(ReportSettings, settings, config, grid.report_settings)
        require_scale(results, text.scale)
        paths = write_figures(text, results, output)
    print(*paths, sep="\n")


@app.command("scorecard")
def scorecard_command(
    tables: Annotated[Path, typer.Option(help="The folder of finished tables, where the scorecard is written too.")],
    trace: Annotated[Path, typer.Option(help="The trace of one translation, trace.json.")],
    settings: SettingsOption = None,
    config: ConfigOption = None,
) -> None:
    """Hold every number and claim of the paper against the finished tables."""
    from bpd import grid
    from bpd.commands.results_page import require_scale
    from bpd.commands.scorecard import write_scorecard
    from bpd.config import ScorecardSettings

    chosen = settings_of(ScorecardSettings, settings, config, grid.scorecard_settings)
    require_scale(tables.parent, chosen.scale)
    print(*write_scorecard(chosen, tables, trace), sep="\n")


@app.command("cost")
def cost_command(
    results: Annotated[Path, typer.Option(help="The scale's results, such as results/mini.")],
    output: Annotated[Path, typer.Option(help="The folder of tables to write.")],
    settings: SettingsOption = None,
    config: ConfigOption = None,
) -> None:
    """Write what each stage of the run cost: jobs, hours of wall-clock time, CPU and GPU, and peak memory."""
    from bpd.commands.cost import write_cost
    from bpd.commands.results_page import require_scale
    from bpd.config import Config

    chosen = settings_of(Config, settings, config, lambda whole: whole)
    require_scale(results, chosen.scale)
    print(*write_cost(chosen, results, output), sep="\n")


@app.command("page")
def page_command(
    results: Annotated[Path, typer.Option(help="The scale's results, such as results/mini.")],
    figures: Annotated[Path, typer.Option(help="The scale's figures, such as paper_figures/mini.")],
    settings: SettingsOption = None,
    config: ConfigOption = None,
) -> None:
    """Write the results' README.md, with every table and figure, and the resolved configuration beside it."""
    from bpd.commands.results_page import write_results_page
    from bpd.config import Config

    chosen = settings_of(Config, settings, config, lambda whole: whole)
    print(*write_results_page(chosen, figures, results), sep="\n")


@app.command("show")
def show_command(
    results: Annotated[Path, typer.Argument(help="The scale's results, such as results/smoke.")],
    figures: Annotated[Path, typer.Argument(help="The scale's figures, such as paper_figures/smoke.")],
) -> None:
    """Print the finished tables, and where tables and figures lie."""
    from bpd.commands.report import show

    print(show(results, figures))


@app.command("pack")
def pack_command(
    results: Annotated[Path, typer.Argument(help="The scale's results, such as results/mini.")],
) -> None:
    """Pack what a run's numbers rest on into one small archive: records, curves, configurations and provenance."""
    from bpd.evaluation.record_archive import pack_records

    path = pack_records(results)
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


@survey_app.command("build")
def survey_build_command(
    results: Annotated[Path, typer.Option(help="The scale's results, such as results/mini.")],
    output: Annotated[Path, typer.Option(help="The folder to write survey.html and survey.json into.")],
    settings: SettingsOption = None,
    config: ConfigOption = None,
) -> None:
    """Build the page on which people vote, and the key to it."""
    from bpd import image_grid
    from bpd.commands.results_page import require_scale
    from bpd.commands.survey import build_survey
    from bpd.config import SurveySettings

    chosen = settings_of(SurveySettings, settings, config, image_grid.survey_settings)
    require_scale(results, chosen.scale)
    study = build_survey(chosen, results, output)
    repeated = sum(pair.repeat_of is not None for pair in study.pairs)
    print(f"{output / 'survey.html'}: {len(study.pairs)} pairs, {repeated} of them repeated; survey {study.survey_id}")


@survey_app.command("score")
def survey_score_command(
    votes: Annotated[list[Path], typer.Argument(help="Files of votes that the page handed out.")],
    survey: Annotated[Path, typer.Option(help="The key survey.json that was built with the page.")],
    output: Annotated[Path | None, typer.Option(help="The JSON file to write; without it, only print.")] = None,
    skip_faulty: Annotated[
        bool, typer.Option("--skip-faulty", help="Leave faulty lines out instead of refusing.")
    ] = False,
) -> None:
    """Merge votes and print how often each method was preferred, with 90 % bootstrap intervals."""
    from bpd.commands.survey import score_votes
    from bpd.evaluation.survey import read_study
    from bpd.report.table3 import table3

    result = score_votes(survey, votes, output, skip_faulty)
    for fault in result["faults"]:
        print(f"bpd: left out: {fault}", file=sys.stderr)
    print(table3(read_study(survey), result).markdown(), end="")
    for rater, found in result["raters"].items():
        print(f"{rater}: {found['votes']} votes, {found['alike']} of {found['repeated']} repeated pairs answered alike")


@survey_app.command("table")
def survey_table_command(
    survey: Annotated[Path, typer.Option(help="The key survey.json that was built with the page.")],
    output: Annotated[Path, typer.Option(help="The folder of tables to write.")],
    preference: Annotated[Path | None, typer.Option(help="Scored votes; without them our columns stay empty.")] = None,
) -> None:
    """Write Table 3 as CSV, Markdown and LaTeX."""
    from bpd.commands.survey import write_table3

    print(*write_table3(survey, preference, output), sep="\n")
