"""Commands for people: translate, upscale, inspect, validate."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from bpd.cli.application import (
    BatchRowsOption,
    app,
)
from bpd.config import Config, load_config
from bpd.errors import BpdError


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


@app.command("upscale")
def upscale_command(
    model: Annotated[Path, typer.Argument(help="The model folder.")],
    photograph: Annotated[Path, typer.Argument(help="A picture; the largest square in its middle is used.")],
    output: Annotated[Path, typer.Argument(help="The PNG file to write.")],
    criterion: Annotated[
        str, typer.Option(help="exact; distance2: also what is within 2 of p₁'s intensity passes; greedy.")
    ] = "exact",
    block_size: Annotated[int | None, typer.Option(min=1, help="Propose fewer tokens than the model can.")] = None,
) -> None:
    """Make a small version of a photograph, and enlarge it with a trained image model."""
    from bpd.commands.upscale import upscale

    print(upscale(model, photograph, output, criterion=criterion, block_size=block_size))


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
    from bpd import grid, image_grid

    for path in config:
        loaded: Config = load_config(path)
        text, images = grid.head_models(loaded.translation), image_grid.head_models(loaded.super_resolution)
        counts = f"{len(text)} proposal-head models for translation and {len(images)} for super-resolution"
        print(f"{path}: valid; scale {loaded.scale}, {counts}")
