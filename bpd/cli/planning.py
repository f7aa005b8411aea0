"""Commands that plan: plan, rates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from bpd.cli.application import app


@app.command("plan")
def plan_command(
    config: Annotated[Path, typer.Option(help="A whole config file, such as config/paper.yaml.")],
    gpus: Annotated[int, typer.Option(min=1, help="GPUs that jobs may use at once.")] = 8,
    gpus_per_training: Annotated[int, typer.Option(min=1, help="GPUs that share one training.")] = 1,
    measured: Annotated[Path | None, typer.Option(help="Rates of a real run, which `bpd rates` wrote.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every job, instead of a table.")] = False,
) -> None:
    """Estimate jobs, GPU-hours, GB of disk and hours of wall time that a config will need, and say what is assumed."""
    import shutil

    from bpd.commands.plan import plan, plan_text

    made = plan(config, gpus, gpus_per_training, measured)
    if as_json:
        print(json.dumps(made.as_json(), indent=2, ensure_ascii=False))
    else:
        print(plan_text(made, max(100, shutil.get_terminal_size((120, 24)).columns)), end="")


@app.command("rates")
def rates_command(
    results: Annotated[Path, typer.Argument(help="A run's results, finished or in part, such as results/mini.")],
    output: Annotated[Path, typer.Option(help="The JSON file to write, for `bpd plan --measured`.")],
) -> None:
    """Gather from a run's own records how fast it trained, decoded and timed, and on what."""
    from bpd.atomic import write_json
    from bpd.commands.plan import rates_text
    from bpd.planning.measured import measure

    found = measure(results)
    write_json(output, found.model_dump(mode="json"))
    print(rates_text(found))
    print(output)
