"""Folders of tiny models with random weights, as `bpd train` writes them."""

from __future__ import annotations

from pathlib import Path

import torch

from bpd import grid, image_grid
from bpd.config import Config, validate_section
from bpd.fingerprints import file_sha256, value_sha256
from bpd.models.model_folder import VOCABULARY, build_model, save_provenance, save_settings, save_weights
from tests.commands.conftest import CONFIG


def write_model(folder: Path, name: str, vocabulary: Path | None = None) -> Path:
    """Write a model of the tiny config into `folder`: a translating one, where its vocabulary is given."""
    config = validate_section(Config, CONFIG, "tiny")
    size, more = None, {}
    if vocabulary is None:
        settings = image_grid.train_settings(config.super_resolution, name)
    else:
        settings = grid.train_settings(config.translation, name)
        size, more = config.translation.data.vocabulary.size, {"vocabulary_sha256": file_sha256(vocabulary)}
    torch.manual_seed(1)
    model = build_model(settings, size)
    folder.mkdir(parents=True)
    if vocabulary is not None:
        (folder / VOCABULARY).write_bytes(vocabulary.read_bytes())
    save_settings(folder, settings, size)
    about = {"checkpoint_sha256": save_weights(folder, model), "config_sha256": value_sha256(settings.model_dump())}
    save_provenance(folder, about | more)
    return folder
