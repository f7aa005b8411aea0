"""Model folders: safetensors weights with the settings and provenance they came from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import yaml
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from bpd.atomic import atomic_path, write_json, write_text
from bpd.config import TrainSettings, validate_section
from bpd.errors import BpdError
from bpd.fingerprints import file_sha256
from bpd.models.translation_model import TranslationModel

WEIGHTS, SETTINGS, PROVENANCE, VOCABULARY = "model.safetensors", "config.yaml", "provenance.json", "vocabulary.model"


@dataclass(frozen=True)
class StoredModel:
    """A model read from its folder, in evaluation mode, and what the folder says about it."""

    model: TranslationModel
    settings: TrainSettings
    provenance: dict[str, Any]
    checkpoint_sha256: str
    folder: Path


def save_weights(folder: Path, model: TranslationModel) -> str:
    """Write the weights into `folder`, whole or not at all, and return their file's SHA-256."""
    tensors = {name: value.detach().cpu().contiguous() for name, value in model.state_dict().items()}
    path = folder / WEIGHTS
    with atomic_path(path) as temporary:
        save_file(tensors, temporary)
    return file_sha256(path)


def save_settings(folder: Path, settings: TrainSettings, vocabulary_size: int) -> None:
    """Write the resolved settings of the model, and the size of its vocabulary, as YAML."""
    values = {"vocabulary_size": vocabulary_size, **settings.model_dump(mode="json")}
    write_text(folder / SETTINGS, yaml.safe_dump(values, sort_keys=False, allow_unicode=True))


def save_provenance(folder: Path, provenance: dict[str, Any]) -> None:
    """Write where the model came from."""
    write_json(folder / PROVENANCE, provenance)


def read_settings(folder: Path) -> tuple[TrainSettings, int]:
    """Return the settings and vocabulary size of the model in `folder`; raise `BpdError` where they are unreadable."""
    path = folder / SETTINGS
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
        vocabulary_size = values.pop("vocabulary_size")
    except FileNotFoundError:
        raise BpdError(f"{folder}: no model here ({SETTINGS} is missing); train one, or name its folder") from None
    except (yaml.YAMLError, UnicodeDecodeError, AttributeError, KeyError, TypeError):
        raise BpdError(f"{path}: not the settings of a model; train the model again") from None
    return validate_section(TrainSettings, values, str(path)), vocabulary_size


def load_model(folder: Path, device: torch.device | str = "cpu") -> StoredModel:
    """Read the model in `folder` without executing any code of it.

    Raises `BpdError` where a file is missing or damaged, or where weights, settings and vocabulary do not match.
    """
    folder = Path(folder)
    settings, vocabulary_size = read_settings(folder)
    path = folder / WEIGHTS
    if not path.exists():
        raise BpdError(f"{path} is missing: the model has not been trained to the end")
    model = TranslationModel(settings.transformer, vocabulary_size, settings.heads)
    checkpoint_sha256 = file_sha256(path)
    try:
        provenance = json.loads((folder / PROVENANCE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise BpdError(f"{folder / PROVENANCE}: missing or damaged; train the model again") from None
    expected = provenance.get("checkpoint_sha256")
    if expected != checkpoint_sha256:
        raise BpdError(
            f"{path}: SHA-256 is {checkpoint_sha256}, but {PROVENANCE} says {expected}; "
            "the file is damaged or of another model: train the model again"
        )
    try:
        model.load_state_dict(load_file(path))
    except (SafetensorError, RuntimeError) as error:
        raise BpdError(f"{path}: the weights do not fit {SETTINGS}: {str(error).splitlines()[0]}") from None
    return StoredModel(model.to(device).eval(), settings, provenance, checkpoint_sha256, folder)


def initialise_from(model: TranslationModel, folder: Path) -> str:
    """Copy a base model's weights into `model`, whose heads stay as they are; return the base's SHA-256."""
    base = load_model(folder)
    transformer = model.transformer
    if base.settings.transformer != transformer.config or base.model.vocabulary_size != model.vocabulary_size:
        raise BpdError(f"{folder}: the base model has another shape or vocabulary than the heads are to stand on")
    transformer.load_state_dict(base.model.transformer.state_dict())
    return base.checkpoint_sha256
