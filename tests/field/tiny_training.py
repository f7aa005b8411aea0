"""A translation half small enough to be prepared and trained within a test."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

from bpd import grid
from bpd.config import Config, TrainSettings, validate_section
from bpd.config.translation import TranslationConfig
from bpd.data.prepare import prepare_text
from tests.commands.conftest import CONFIG, TRAINING


def config_with(dev_pairs: int = 12, **training: object) -> dict:
    """Return the values of a config whose base model is trained as told."""
    values = deepcopy(CONFIG)
    values["translation"]["data"]["generated"]["dev_pairs"] = dev_pairs
    values["translation"]["base"]["training"] = TRAINING | training
    return values


def translation_with(**options: object) -> TranslationConfig:
    return validate_section(Config, config_with(**options), "tiny").translation


def base_settings(**options: object) -> TrainSettings:
    return grid.train_settings(translation_with(**options), "base")


def prepare(folder: Path, **options: object) -> Path:
    """Prepare the data into `folder` and return it."""
    prepare_text(grid.prepare_settings(translation_with(**options)), folder)
    return folder


def checkpoints(work: Path) -> list[int]:
    """Return the steps of the checkpoints that are kept in a folder of running trainings."""
    return sorted(int(path.stem.split("-")[1]) for path in work.glob("*/checkpoint-*.pt"))
