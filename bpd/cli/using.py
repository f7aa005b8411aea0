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

_TRANSLATE_EXAMPLES = "Example: bpd translate results/smoke/translation/both_k4 --proposals 'A child sleeps.'"


@app.command("translate", epilog=_TRANSLATE_EXAMPLES)
def translate_command(
    model: Annotated[Path, typer.Argument(help="The model folder, such as results/smoke/translation/both_k4.")],
    sentences: Annotated[
        list[str] | None, typer.Argument(help="Sentences, each in quotes; without any, the lines of --input.")
    ] = None,
    input_file: Annotated[
        Path | None, typer.Option("--input", help="A text file, or - for standard input.", show_default="-")
    ] = None,
    criterion: Annotated[
        str,
        typer.Option(
            help="What is accepted: exact, p₁'s best; top2, top3 …, its 2, 3 … best; minimum2 …, 2 … tokens "
            "unverified; or greedy, for greedy decoding."
        ),
    ] = "exact",
    block_size: Annotated[
        int | None, typer.Option(min=1, help="Tokens proposed at once, at most the model's k.", show_default="k")
    ] = None,
    blocks: Annotated[
        bool | None,
        typer.Option("--blocks/--no-blocks", help="Show the accepted blocks.", show_default="on a terminal"),
    ] = None,
    proposals: Annotated[
        bool, typer.Option("--proposals", help="Show each iteration, with the tokens that were rejected.")
    ] = False,
    timing: Annotated[
        bool | None,
        typer.Option(
            "--time/--no-time",
            help="Time each sentence against greedy decoding by the same model.",
            show_default="with blocks on a terminal",
        ),
    ] = None,
    colour: Annotated[
        bool | None,
        typer.Option(
            "--color/--no-color",
            help="Colour the blocks; without, bars divide them.",
            show_default="on a terminal, unless NO_COLOR is set",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
    batch_rows: BatchRowsOption = 64,
) -> None:
    """Translate sentences with a trained model, and show the blocks as they were accepted.

    Into a file or a pipe go the translations alone, one a line, an empty line for an empty line.
    """
    from bpd.commands.translate import View, translate
    from bpd.data.lines import iterate_lines

    if sentences and input_file:
        raise BpdError("give sentences or --input, not both")
    if sentences:
        if len(sentences) == 1 and Path(sentences[0]).is_file():
            raise BpdError(f"{sentences[0]} is a file; to translate its lines: --input {sentences[0]}")
        lines = sentences
    elif input_file not in (None, Path("-")):
        lines = iterate_lines(input_file)
    else:
        lines = iterate_lines(Path("/dev/stdin"))
        if sys.stdin.isatty():
            print("Type a sentence and press Enter; Ctrl-D ends.", file=sys.stderr)
            batch_rows = 1
    view = View(blocks=blocks, proposals=proposals, time=timing, colour=colour, as_json=as_json)
    translate(model, lines, criterion=criterion, block_size=block_size, view=view, batch_rows=batch_rows)


@app.command("upscale")
def upscale_command(
    model: Annotated[
        Path, typer.Argument(help="The model folder, such as results/smoke/super_resolution/fine_tuning_k4.")
    ],
    photograph: Annotated[Path, typer.Argument(help="A picture; the largest square in its middle is used.")],
    output: Annotated[Path, typer.Argument(help="The PNG file to write.")],
    criterion: Annotated[
        str,
        typer.Option(
            help="What is accepted: exact, p₁'s best; distance2 …, intensities within 2 … of it; or greedy, for greedy "
            "decoding."
        ),
    ] = "exact",
    block_size: Annotated[
        int | None, typer.Option(min=1, help="Intensities proposed at once, at most the model's k.", show_default="k")
    ] = None,
) -> None:
    """Make a small version of a photograph, and enlarge it with a trained image model.

    The model knows aligned faces: crop the photograph to a face, its eyes level, before.
    """
    from bpd.commands.upscale import upscale

    upscale(model, photograph, output, criterion=criterion, block_size=block_size)


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
def validate_command(
    config: Annotated[list[Path], typer.Argument(help="Config files, such as config/mini.yaml.")],
) -> None:
    """Check config files, and name every unknown key, wrong type and impossible combination."""
    from bpd import grid, image_grid

    for path in config:
        loaded: Config = load_config(path)
        text, images = grid.head_models(loaded.translation), image_grid.head_models(loaded.super_resolution)
        counts = f"{len(text)} proposal-head models for translation and {len(images)} for super-resolution"
        print(f"{path}: valid; scale {loaded.scale}, {counts}")
