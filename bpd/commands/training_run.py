"""A training run from its model to the finished model folder, the same for text and images."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bpd.atomic import write_bytes
from bpd.device import prepare_device
from bpd.fingerprints import value_sha256
from bpd.models.model_folder import (
    PROVENANCE,
    AnyModel,
    AnySettings,
    initialise_from,
    save_provenance,
    save_settings,
    save_weights,
)
from bpd.processes import joined_processes
from bpd.provenance import command_line, commit, machine
from bpd.training.loop import BatchesFrom, Evaluate, Trainer
from bpd.training.owner_lock import sole_owner


@dataclass(frozen=True)
class Inputs:
    """What a model is made from: the fingerprints of its data by name, and files that belong into its folder."""

    sha256: Mapping[str, str]
    files: Mapping[str, bytes]
    vocabulary_size: int | None = None


def run_training(
    model: AnyModel,
    settings: AnySettings,
    inputs: Inputs,
    batches_from: BatchesFrom,
    evaluate: Evaluate,
    *,
    base: Path | None,
    output: Path,
    work: Path,
) -> None:
    """Train `model`, resuming from `work` if an earlier attempt at the very same run left checkpoints there.

    The finished model is moved to `output`, and what the run kept in `work` is removed.
    """
    device = prepare_device()
    base_sha256 = None if base is None else initialise_from(model, settings, base)
    inputs_sha256 = {**inputs.sha256, "base": base_sha256}
    identity = value_sha256({"settings": settings.model_dump(mode="json"), "inputs": inputs_sha256})
    folder = Path(work) / identity[:12]
    with joined_processes(device) as processes, sole_owner(folder) if processes.writes else nullcontext() as owner:
        trainer = Trainer(
            model.to(device),
            batches_from,
            settings,
            folder,
            identity,
            evaluate,
            processes,
            owner,
        )
        trainer.run()
        if owner is None:
            return
        provenance = {
            **commit(),
            "config_sha256": value_sha256(settings.model_dump(mode="json")),
            "seed": settings.seed,
            **{f"{name}_sha256": value for name, value in inputs_sha256.items()},
            "steps": trainer.steps,
            "processes": processes.size,
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "trained_parameters": sum(parameter.numel() for parameter in trainer.parameters),
            **machine(str(device), settings.training.precision if trainer.autocast_used else "fp32"),
            "command": command_line(),
        }
        owner.require()
        _publish(model, settings, inputs, folder, Path(output), provenance)
    shutil.rmtree(folder)
    if not any(Path(work).iterdir()):
        Path(work).rmdir()


def _publish(
    model: AnyModel, settings: AnySettings, inputs: Inputs, folder: Path, output: Path, provenance: dict[str, Any]
) -> None:
    """Bring a finished model from its working folder to `output`; a folder without provenance is not finished."""
    output.mkdir(parents=True, exist_ok=True)
    (output / PROVENANCE).unlink(missing_ok=True)
    save_settings(output, settings, inputs.vocabulary_size)
    for name, content in inputs.files.items():
        write_bytes(output / name, content)
    write_bytes(output / "training.jsonl", (folder / "training.jsonl").read_bytes())
    shutil.rmtree(output / "tensorboard", ignore_errors=True)
    shutil.copytree(folder / "tensorboard", output / "tensorboard")
    checkpoint_sha256 = save_weights(output, model)
    save_provenance(output, {"checkpoint_sha256": checkpoint_sha256, **provenance})
