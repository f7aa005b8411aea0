"""Model folders: safetensors weights with the settings and provenance they came from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import yaml
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file

from bpd.atomic import atomic_path, write_json, write_text
from bpd.config import ImageTrainSettings, TrainSettings, validate_section
from bpd.config.plain_yaml import parse_yaml
from bpd.errors import BpdError
from bpd.fingerprints import file_sha256
from bpd.models.image_model import ImageModel
from bpd.models.translation_model import TranslationModel
from bpd.stored_json import read_json, require_keys

AnyModel = TranslationModel | ImageModel
AnySettings = TrainSettings | ImageTrainSettings

# What ids of 16 bits can tell apart.
_MOST_SUBWORDS = 1 << 16
WEIGHTS, SETTINGS, PROVENANCE, VOCABULARY = "model.safetensors", "config.yaml", "provenance.json", "vocabulary.model"


@dataclass(frozen=True)
class StoredModel:
    """A model read from its folder, in evaluation mode, and what the folder says about it."""

    model: AnyModel
    settings: AnySettings
    provenance: dict[str, Any]
    checkpoint_sha256: str
    folder: Path


def save_weights(folder: Path, model: AnyModel) -> str:
    """Write the weights into `folder`, whole or not at all, and return their file's SHA-256.

    Raises `BpdError` where they cannot be written.
    """
    tensors = {name: value.detach().cpu().contiguous() for name, value in model.state_dict().items()}
    path = folder / WEIGHTS
    try:
        with atomic_path(path) as temporary:
            save_file(tensors, temporary)
    except (OSError, SafetensorError) as error:
        raise BpdError(
            f"{path}: the weights cannot be written ({error}). Is the disk full, or a quota reached?"
        ) from None
    return file_sha256(path)


def save_settings(folder: Path, settings: AnySettings, vocabulary_size: int | None) -> None:
    """Write the resolved settings of the model, and the size of its vocabulary if it has one, as YAML."""
    size = {} if vocabulary_size is None else {"vocabulary_size": vocabulary_size}
    values = size | settings.model_dump(mode="json")
    write_text(folder / SETTINGS, yaml.safe_dump(values, sort_keys=False, allow_unicode=True))


def save_provenance(folder: Path, provenance: dict[str, Any]) -> None:
    """Write where the model came from."""
    write_json(folder / PROVENANCE, provenance)


def read_settings(folder: Path) -> tuple[AnySettings, int | None]:
    """Return the settings of the model in `folder`, and the size of its vocabulary, none for an image model.

    Raises `BpdError` where they are unreadable.
    """
    path = folder / SETTINGS
    try:
        values = parse_yaml(path.read_text(encoding="utf-8"))
        kind = ImageTrainSettings if values["task"] == "super_resolution" else TrainSettings
        vocabulary_size = values.pop("vocabulary_size") if kind is TrainSettings else None
        if kind is TrainSettings and not (type(vocabulary_size) is int and 0 < vocabulary_size <= _MOST_SUBWORDS):
            raise ValueError(vocabulary_size)
    except FileNotFoundError:
        raise BpdError(f"{folder}: no model here ({SETTINGS} is missing); train one, or name its folder") from None
    except (ValueError, AttributeError, KeyError, TypeError):
        raise BpdError(f"{path}: not the settings of a model; train the model again") from None
    return validate_section(kind, values, str(path)), vocabulary_size


def load_model(folder: Path, device: torch.device | str = "cpu") -> StoredModel:
    """Read the model in `folder` without executing any code of it.

    Raises `BpdError` where a file is missing or damaged, or where weights, settings and vocabulary do not match,
    and where a weight is not a finite number: decoding would go on with it, and mean nothing.
    """
    folder = Path(folder)
    settings, vocabulary_size = read_settings(folder)
    path = folder / WEIGHTS
    if not path.exists():
        raise BpdError(f"{path} is missing: the model has not been trained to the end")
    checkpoint_sha256 = file_sha256(path)
    try:
        provenance = require_keys(read_json(folder / PROVENANCE), ())
    except (OSError, ValueError):
        raise BpdError(f"{folder / PROVENANCE}: missing or damaged; train the model again") from None
    expected = provenance.get("checkpoint_sha256")
    if expected != checkpoint_sha256:
        raise BpdError(
            f"{path}: SHA-256 is {checkpoint_sha256}, but {PROVENANCE} says {expected}; "
            "the file is damaged or of another model: train the model again"
        )
    try:
        _require_fitting(path, settings, vocabulary_size)
        model = build_model(settings, vocabulary_size)
        model.load_state_dict(load_file(path))
    except (SafetensorError, RuntimeError, ValueError, ArithmeticError, MemoryError) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise BpdError(f"{path}: the weights do not fit {SETTINGS}: {reason}") from None
    for name, value in model.state_dict().items():
        if not bool(torch.isfinite(value).all()):
            raise BpdError(f"{path}: {name} holds numbers that are not finite; train the model again")
    return StoredModel(model.to(device).eval(), settings, provenance, checkpoint_sha256, folder)


def _require_fitting(weights: Path, settings: AnySettings, vocabulary_size: int | None) -> None:
    """Raise `ValueError` unless the file holds the tensors that `settings` describe, before memory is taken."""
    with torch.device("meta"):
        wanted = {
            name: list(value.shape) for name, value in build_model(settings, vocabulary_size).state_dict().items()
        }
    with safe_open(weights, framework="pt") as stored:
        found = {name: list(stored.get_slice(name).get_shape()) for name in stored.keys()}  # noqa: SIM118
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            raise ValueError(f"{name} is {found.get(name, 'missing')}, not {wanted.get(name, 'wanted')}")


def build_model(settings: AnySettings, vocabulary_size: int | None) -> AnyModel:
    """Return the model that `settings` describe, with random weights."""
    if isinstance(settings, ImageTrainSettings):
        return ImageModel(settings.image_transformer, settings.input_size, settings.output_size, settings.heads)
    return TranslationModel(settings.transformer, vocabulary_size, settings.heads)


def load_translation_model(folder: Path, device: torch.device | str = "cpu") -> StoredModel:
    """Read the model in `folder` as `load_model` does; raise `BpdError` unless it translates."""
    return _of_task(load_model(folder, device), "translation")


def load_image_model(folder: Path, device: torch.device | str = "cpu") -> StoredModel:
    """Read the model in `folder` as `load_model` does; raise `BpdError` unless it makes images."""
    return _of_task(load_model(folder, device), "super_resolution")


def _of_task(stored: StoredModel, task: str) -> StoredModel:
    if stored.settings.task != task:
        raise BpdError(f"{stored.folder}: a model for {stored.settings.task}; this needs one for {task}")
    return stored


def initialise_from(model: AnyModel, settings: AnySettings, folder: Path) -> str:
    """Copy a base model's weights into `model`, whose heads stay as they are; return the base's SHA-256."""
    base = load_model(folder)
    mine, others = model.transformer.state_dict(), base.model.transformer.state_dict()
    same = type(base.model) is type(model) and base.model.transformer.config == model.transformer.config
    if not same or {n: t.shape for n, t in mine.items()} != {n: t.shape for n, t in others.items()}:
        raise BpdError(f"{folder}: the base model has another shape or vocabulary than the heads are to stand on")
    if isinstance(settings, ImageTrainSettings):
        sizes = (base.settings.input_size, base.settings.output_size)
        if sizes != (settings.input_size, settings.output_size):
            raise BpdError(f"{folder}: the base model turns {sizes[0]} pixels a side into {sizes[1]}; the heads differ")
    model.transformer.load_state_dict(others)
    return base.checkpoint_sha256
