"""`bpd train`: base, teacher or proposal heads, from prepared data to a model folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import torch

from bpd.atomic import write_bytes
from bpd.commands.dev_evaluation import DevEvaluation
from bpd.commands.text_set import TextSet
from bpd.config import TrainSettings
from bpd.device import prepare_device
from bpd.errors import BpdError
from bpd.fingerprints import value_sha256
from bpd.models.model_folder import (
    PROVENANCE,
    VOCABULARY,
    initialise_from,
    save_provenance,
    save_settings,
    save_weights,
)
from bpd.models.translation_model import TranslationModel
from bpd.provenance import command_line, commit, machine
from bpd.training.checkpoint import sole_owner
from bpd.training.loop import Trainer


def train(
    settings: TrainSettings, data: Path, output: Path, work: Path, base: Path | None, distilled: Path | None
) -> None:
    """Train one model, resuming from `work` if an earlier attempt at the very same run left checkpoints there.

    The finished model is moved to `output`, and `work` is removed.
    """
    if (settings.heads is not None) != (base is not None):
        raise BpdError(f"{settings.model}: proposal heads need --base, and a base model or teacher has none")
    if (settings.corpus == "distilled") != (distilled is not None):
        raise BpdError(f"{settings.model}: the corpus is {settings.corpus}; give --distilled exactly for distilled")
    text = TextSet(data)
    pairs = text.training_pairs(distilled)
    if len(pairs) == 0:
        raise BpdError(f"{distilled or data}: no training pairs left after cleaning; see report.json there")
    device = prepare_device()
    torch.manual_seed(settings.seed)
    model = TranslationModel(settings.transformer, text.vocabulary.size, settings.heads)
    base_sha256 = None if base is None else initialise_from(model, base)
    inputs = {"data": pairs.sha256, "vocabulary": text.vocabulary.sha256, "base": base_sha256}
    identity = value_sha256({"settings": settings.model_dump(mode="json"), "inputs": inputs})
    source, target = text.lines(text.sets["dev"])
    evaluate = DevEvaluation(text.vocabulary, source, target, settings.training.evaluate_sentences)
    folder = Path(work) / identity[:12]
    with sole_owner(folder):
        trainer = Trainer(model.to(device), pairs, settings, folder, identity, evaluate)
        trainer.run()
        provenance = {
            **commit(),
            "config_sha256": value_sha256(settings.model_dump(mode="json")),
            "seed": settings.seed,
            "data_sha256": pairs.sha256,
            "vocabulary_sha256": text.vocabulary.sha256,
            "base_sha256": base_sha256,
            "steps": trainer.steps,
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "trained_parameters": sum(parameter.numel() for parameter in trainer.parameters),
            **machine(str(device), settings.training.precision if trainer.autocast_used else "fp32"),
            "command": command_line(),
        }
        publish(model, settings, text, folder, Path(output), provenance)
    shutil.rmtree(folder)
    if not any(Path(work).iterdir()):
        Path(work).rmdir()


def publish(
    model: TranslationModel, settings: TrainSettings, text: TextSet, folder: Path, output: Path, provenance: dict
) -> None:
    """Bring a finished model from its working folder to `output`; a folder without provenance is not finished."""
    output.mkdir(parents=True, exist_ok=True)
    (output / PROVENANCE).unlink(missing_ok=True)
    save_settings(output, settings, text.vocabulary.size)
    write_bytes(output / VOCABULARY, (text.folder / VOCABULARY).read_bytes())
    write_bytes(output / "training.jsonl", (folder / "training.jsonl").read_bytes())
    shutil.rmtree(output / "tensorboard", ignore_errors=True)
    shutil.copytree(folder / "tensorboard", output / "tensorboard")
    checkpoint_sha256 = save_weights(output, model)
    save_provenance(output, {"checkpoint_sha256": checkpoint_sha256, **provenance})
