"""A few drawn faces, and the tiny image models that stand on them, made as the workflow makes them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from bpd import image_grid
from bpd.commands.train_images import train_images
from bpd.config import Config, validate_section
from bpd.data.prepare_images import prepare_images
from tests.commands.conftest import CONFIG

OUTPUT_SIZE, TOKENS = 8, 8 * 8 * 3


@dataclass(frozen=True)
class Faces:
    """The prepared images and the models in a folder that lasts as long as this does."""

    config: Config
    folder: TemporaryDirectory

    @property
    def data(self) -> Path:
        return Path(self.folder.name) / "data"

    def model(self, name: str) -> Path:
        return Path(self.folder.name) / name


@cache
def faces() -> Faces:
    """Prepare ten faces to train on and four more, and train the base model and fine-tuned heads with k = 3."""
    made = Faces(validate_section(Config, CONFIG, "tiny"), TemporaryDirectory())
    part = made.config.super_resolution
    prepare_images(image_grid.prepare_settings(part), made.data)
    for name, base in (("base", None), ("fine_tuning_k3", made.model("base"))):
        settings = image_grid.train_settings(part, name)
        train_images(settings, made.data, made.model(name), Path(made.folder.name) / "work", base)
    return made
