"""The command line: one command per kind of job. Heavy modules are imported only by the command that needs them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from bpd.config import Config, Section, load_config, validate_section
from bpd.errors import BpdError

app = typer.Typer(
    name="bpd",
    help="Blockwise Parallel Decoding, replicated: prepare, train, distil, decode, score and report.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
prepare_app = typer.Typer(help="Prepare data.", no_args_is_help=True)
distill_app = typer.Typer(help="Translate the training sources with the teacher.", no_args_is_help=True)
app.add_typer(prepare_app, name="prepare")
app.add_typer(distill_app, name="distill")

SectionType = TypeVar("SectionType", bound=Section)

SettingsOption = Annotated[
    str | None, typer.Option(help="The part of the configuration that this command uses, as JSON; rules pass it.")
]
ConfigOption = Annotated[Path | None, typer.Option(help="A whole config file, such as config/mini.yaml.")]
DataOption = Annotated[Path, typer.Option(help="The folder that `bpd prepare text` wrote.")]
BatchRowsOption = Annotated[int, typer.Option(min=1, help="Sentences decoded at once; changes speed, not results.")]


def settings_of(kind: type[SectionType], settings: str | None, config: Path | None, select) -> SectionType:
    """Return a command's settings: from JSON as rules pass it, or selected from a whole config file."""
    if (settings is None) == (config is None):
        raise BpdError("give exactly one of --settings and --config")
    if config is not None:
        return select(load_config(config))
    try:
        values = json.loads(settings)
    except ValueError as error:
        raise BpdError(f"--settings is not JSON: {error}") from None
    return validate_section(kind, values, "--settings")


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
    """Blockwise Parallel Decoding, replicated: prepare, train, distil, decode, score and report."""


@prepare_app.command("text")
def prepare_text_command(
    output: Annotated[Path, typer.Option(help="The folder to write.")],
    settings: SettingsOption = None,
    config: ConfigOption = None,
) -> None:
    """Fetch, clean and encode sentence pairs, and train their vocabulary."""
    from bpd import grid
    from bpd.config import PrepareSettings
    from bpd.data.prepare import prepare_text

    prepare_text(
        settings_of(PrepareSettings, settings, config, lambda whole: grid.prepare_settings(whole.translation)), output
    )


@app.command("train")
def train_command(
    output: Annotated[Path, typer.Option(help="The model folder to write.")],
    data: DataOption,
    work: Annotated[Path, typer.Option(help="Where checkpoints of the running training live.")],
    base: Annotated[Path | None, typer.Option(help="The base model's folder; for proposal heads.")] = None,
    distilled: Annotated[Path | None, typer.Option(help="The distilled pairs' folder; where the model asks.")] = None,
    model: Annotated[str | None, typer.Option(help="With --config: base, teacher, or such as both_k4.")] = None,
    settings: SettingsOption = None,
    config: ConfigOption = None,
) -> None:
    """Train a base model, a teacher, or proposal heads; the same call again resumes an interrupted training."""
    from bpd import grid
    from bpd.commands.train import train
    from bpd.config import TrainSettings

    def select(whole: Config) -> TrainSettings:
        if model is None:
            raise BpdError("--config needs --model: base, teacher, or a proposal-head model such as both_k4")
        return grid.train_settings(whole.translation, model)

    train(settings_of(TrainSettings, settings, config, select), data, output, work, base, distilled)


@distill_app.command("shard")
def distill_shard_command(
    teacher: Annotated[Path, typer.Option(help="The teacher's model folder.")],
    data: DataOption,
    shard: Annotated[int, typer.Option(help="Which shard, counted from 0.")],
    output: Annotated[Path, typer.Option(help="The file of records to write.")],
    batch_rows: BatchRowsOption = 64,
    settings: SettingsOption = None,
    config: ConfigOption = None,
) -> None:
    """Translate one shard of the training sources by beam search."""
    from bpd import grid
    from bpd.commands.distill import distill_shard
    from bpd.config import DistillSettings

    chosen = settings_of(DistillSettings, settings, config, lambda whole: grid.distill_settings(whole.translation))
    distill_shard(chosen, teacher, data, shard, output, batch_rows)


@distill_app.command("merge")
def distill_merge_command(
    shards: Annotated[list[Path], typer.Argument(help="All shards' files, in order.")],
    teacher: Annotated[Path, typer.Option(help="The teacher's model folder.")],
    data: DataOption,
    output: Annotated[Path, typer.Option(help="The folder of encoded pairs to write.")],
    settings: SettingsOption = None,
    config: ConfigOption = None,
) -> None:
    """Check all shards and join them to the distilled training set."""
    from bpd import grid
    from bpd.commands.distill import merge_shards
    from bpd.config import DistillSettings

    chosen = settings_of(DistillSettings, settings, config, lambda whole: grid.distill_settings(whole.translation))
    merge_shards(chosen, teacher, data, shards, output)


@app.command("decode")
def decode_command(
    model: Annotated[Path, typer.Option(help="The model folder.")],
    data: DataOption,
    output: Annotated[Path, typer.Option(help="Where <set>/<criterion>.jsonl are written.")],
    batch_rows: BatchRowsOption = 64,
    settings: SettingsOption = None,
    config: ConfigOption = None,
) -> None:
    """Decode the dev and test sets with one model, by each of its criteria."""
    from bpd import grid
    from bpd.commands.decode import decode
    from bpd.config import DecodeSettings

    def select(whole: Config) -> DecodeSettings:
        from bpd.models.model_folder import read_settings

        return grid.decode_settings(whole.translation, read_settings(model)[0].model)

    chosen = settings_of(DecodeSettings, settings, config, select)
    decode(chosen, model, data, output, batch_rows)


@app.command("score")
def score_command(
    records: Annotated[list[Path], typer.Argument(help="Files of decode records.")],
    data: DataOption,
) -> None:
    """Score decode records: BLEU and mean accepted block size, stored beside each file."""
    from tqdm import tqdm

    from bpd.evaluation.score import score_records

    for path in tqdm(records, desc="score", unit="file"):
        score = score_records(path, data)
        name = f"{score['model']} {score['set']} {score['criterion']}"
        tqdm.write(f"{name}: BLEU {score['bleu']:.2f}, block {score['mean_accepted_block_size']:.2f}")


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
    settings: SettingsOption = None,
    config: ConfigOption = None,
) -> None:
    """Write every table, ours beside the published numbers, as CSV, Markdown and LaTeX."""
    from bpd import grid
    from bpd.commands.report import write_tables
    from bpd.config import ReportSettings

    for path in write_tables(settings_of(ReportSettings, settings, config, grid.report_settings), results, output):
        print(path)


@app.command("figures")
def figures_command(
    results: Annotated[Path, typer.Option(help="The scale's results, such as results/mini.")],
    output: Annotated[Path, typer.Option(help="The folder of figures to write.")],
    settings: SettingsOption = None,
    config: ConfigOption = None,
) -> None:
    """Draw every figure as PDF and PNG; needs no display."""
    from bpd import grid
    from bpd.commands.report import write_figures
    from bpd.config import ReportSettings

    for path in write_figures(settings_of(ReportSettings, settings, config, grid.report_settings), results, output):
        print(path)


@app.command("show")
def show_command(
    results: Annotated[Path, typer.Argument(help="The scale's results, such as results/smoke.")],
    figures: Annotated[Path, typer.Argument(help="The scale's figures, such as paper_figures/smoke.")],
) -> None:
    """Print the finished tables, and where tables and figures lie."""
    from bpd.commands.report import show

    print(show(results, figures))


@app.command("translate")
def translate_command(
    model: Annotated[Path, typer.Argument(help="The model folder.")],
    sentences: Annotated[list[str] | None, typer.Argument(help="Sentences; without any, lines of --input.")] = None,
    input_file: Annotated[Path | None, typer.Option("--input", help="A text file; - or none: standard input.")] = None,
    criterion: Annotated[
        str,
        typer.Option(
            help="exact; top2, top3 …: also p₁'s second, third best pass; minimum2 …: two pass unseen; greedy."
        ),
    ] = "exact",
    block_size: Annotated[int | None, typer.Option(min=1, help="Propose fewer tokens than the model can.")] = None,
    show_blocks: Annotated[bool, typer.Option("--blocks", help="Show the accepted blocks of each sentence.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
    batch_rows: BatchRowsOption = 64,
) -> None:
    """Translate sentences with a trained model."""
    from bpd.commands.translate import translate
    from bpd.data.lines import iterate_lines

    if sentences and input_file:
        raise BpdError("give sentences or --input, not both")
    if sentences:
        lines = sentences
    elif input_file not in (None, Path("-")):
        lines = iterate_lines(input_file)
    else:
        lines = iterate_lines(Path("/dev/stdin"))
        # A person at a keyboard wants each answer at once.
        batch_rows = 1 if sys.stdin.isatty() else batch_rows
    translate(
        model,
        lines,
        criterion=criterion,
        block_size=block_size,
        show_blocks=show_blocks,
        as_json=as_json,
        batch_rows=batch_rows,
    )


@app.command("inspect")
def inspect_command(
    model: Annotated[Path, typer.Argument(help="The model folder.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Print a hash per tensor, the settings and the provenance of a model."""
    from bpd.commands.inspect import format_inspection, inspect

    inspection = inspect(model)
    print(json.dumps(inspection, indent=2, ensure_ascii=False) if as_json else format_inspection(inspection))


@app.command("validate")
def validate_command(config: Annotated[list[Path], typer.Argument(help="Config files.")]) -> None:
    """Check config files: every unknown key, wrong type and impossible combination is named."""
    from bpd import grid

    for path in config:
        loaded: Config = load_config(path)
        models = grid.head_models(loaded.translation)
        print(f"{path}: valid; scale {loaded.scale}, {len(models)} proposal-head models for translation")


def main() -> None:
    """Run the command line; a `BpdError` is printed without a traceback and ends with status 1."""
    try:
        app()
    except BpdError as error:
        print(f"bpd: {error}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        sys.exit(1)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print(f"bpd: {place}{error.strerror or error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("bpd: interrupted; the same command resumes or starts again", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
