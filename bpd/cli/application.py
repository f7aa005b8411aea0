"""The application and its commands' common options. Heavy modules are imported only by the command that needs them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer
from typer.core import TyperGroup

from bpd.config import Section, load_config, validate_section
from bpd.errors import BpdError
from bpd.stored_json import parse_json

# The commands as help lists them.
PANELS = {
    "Use a trained model": ("translate", "upscale", "inspect"),
    "Plan a run": ("validate", "plan", "rates"),
    "Make data, models and records": ("prepare", "train", "distill", "decode", "time", "score", "trace"),
    "Report": ("tables", "figures", "scorecard", "cost", "page", "show", "pack", "survey"),
}


class Stopped(Exception):
    """Ctrl-C was pressed; Typer would end the program without a word."""


class _InPanels(TyperGroup):
    """The application's commands, in the order of `PANELS`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for panel, names in PANELS.items():
            for name in names:
                command = self.commands.pop(name)
                command.rich_help_panel = panel
                self.commands[name] = command

    def invoke(self, ctx: typer.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Stopped from None


app = typer.Typer(
    name="bpd",
    cls=_InPanels,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
prepare_app = typer.Typer(help="Fetch, verify and prepare data.", no_args_is_help=True)
distill_app = typer.Typer(
    help="Translate the training sources with the teacher, for distillation.", no_args_is_help=True
)
app.add_typer(prepare_app, name="prepare")
survey_app = typer.Typer(help="Build, score and report the human-preference study of Table 3.", no_args_is_help=True)
app.add_typer(distill_app, name="distill")
app.add_typer(survey_app, name="survey")

SectionType = TypeVar("SectionType", bound=Section)

SettingsOption = Annotated[
    str | None, typer.Option(help="The part of the configuration that this command uses, as JSON; rules pass it.")
]
ConfigOption = Annotated[Path | None, typer.Option(help="A whole config file, such as config/mini.yaml.")]
DataOption = Annotated[Path, typer.Option(help="The folder that `bpd prepare` wrote.")]
BatchRowsOption = Annotated[int, typer.Option(min=1, help="Inputs decoded at once; changes speed, not results.")]
ProcessesOption = Annotated[
    int, typer.Option(min=1, help="Processes that share the work on this machine, each with a card of its own.")
]
Task = Literal["translation", "super_resolution"]
TaskOption = Annotated[Task, typer.Option(help="The half of the paper; --settings say it themselves.")]
HalfOption = Annotated[Task, typer.Option(help="The half of the paper.")]
Part = Literal["translation", "super_resolution", "speed"]
PartOption = Annotated[Part, typer.Option("--task", help="The half of the paper, or the speed of both.")]


def settings_of(kind: type[SectionType], settings: str | None, config: Path | None, select) -> SectionType:
    """Return a command's settings: from JSON as rules pass it, or selected from a whole config file."""
    require_one_of(settings, config)
    if config is not None:
        return select(load_config(config))
    return validate_section(kind, values_of(settings), "--settings")


def require_one_of(settings: str | None, config: Path | None) -> None:
    """Raise `BpdError` unless exactly one of --settings and --config is given, --settings as JSON."""
    if (settings is None) == (config is None):
        raise BpdError("give exactly one of --settings and --config")
    if settings is not None:
        values_of(settings)


def values_of(settings: str) -> object:
    """Return the plain values of --settings; raise `BpdError` where they are not JSON."""
    try:
        return parse_json(settings)
    except ValueError as error:
        raise BpdError(f"--settings is not JSON: {error}") from None


def task_of(settings: str | None, task: Task) -> Task:
    """Return the task that --settings name, or else the one given."""
    values = None if settings is None else values_of(settings)
    return values["task"] if isinstance(values, dict) and values.get("task") == "super_resolution" else task


def _print_version(wanted: bool) -> None:
    if wanted:
        from bpd import __version__

        print(f"bpd {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Replicate Blockwise Parallel Decoding, from raw data to the paper's tables, and use its models.

    \b
    First: make smoke
           runs everything on generated data, in minutes; results/smoke/README.md shows what came out.
    Then:  bpd translate results/smoke/translation/both_k4 'A child sleeps.'
    Docs:  README.md, docs/, config/README.md; bpd COMMAND --help
    """
