"""One tiny world for the commands: generated text, a base, a teacher, distilled pairs and one head model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from bpd import grid, image_grid
from bpd.commands.decode import decode
from bpd.commands.decode_images import decode_images
from bpd.commands.distill import distill_shard, merge_shards
from bpd.commands.train import train
from bpd.commands.train_images import train_images
from bpd.config import Config, validate_section
from bpd.data.prepare import prepare_text
from bpd.data.prepare_images import prepare_images

TRAINING = {
    "steps": 12,
    "micro_batch_tokens": 600,
    "micro_batches": 1,
    "label_smoothing": 0.1,
    "adam": {"beta1": 0.9, "beta2": 0.98, "epsilon": 1e-9},
    "schedule": {"kind": "linear", "peak": 0.01, "warmup_steps": 4},
    "precision": "fp32",
    "log_every": 4,
    "checkpoint_every": 5,
    "evaluate_every": 6,
    "evaluate_sentences": 8,
}
IMAGE_TRAINING = {
    "steps": 6,
    "micro_batch_images": 2,
    "micro_batches": 1,
    "label_smoothing": 0.0,
    "adam": {"beta1": 0.9, "beta2": 0.98, "epsilon": 1e-9},
    "schedule": {"kind": "linear", "peak": 0.004, "warmup_steps": 2},
    "precision": "fp32",
    "log_every": 2,
    "checkpoint_every": 4,
    "evaluate_every": 3,
    "evaluate_images": 2,
}
TIMING = {
    "repeats": 3,
    "recompute": {"inputs": 2, "tokens": 6},
    "cached": {"inputs": 3},
    "batches": {"sizes": [1, 2], "inputs": 3, "tokens": 6},
}
CONFIG = {
    "scale": "tiny",
    "scorecard": {"same_bleu": 0.5, "slight_bleu": 1.5},
    "super_resolution": {
        "data": {
            "source": "drawn_faces",
            "drawn_faces": {"train_images": 10, "dev_images": 4, "seed": 1},
            "input_size": 2,
            "output_size": 8,
        },
        "image_transformer": {
            "d_model": 16,
            "d_ff": 32,
            "attention_heads": 2,
            "encoder_layers": 1,
            "decoder_layers": 1,
            "local_block": 24,
            "residual_dropout": 0.1,
            "ordinal_start": True,
            "covering_pixel": True,
            "shared_coordinates": True,
            "remaining_mean": True,
            "token_noise": 4.0,
            "misread_areas": 0.1,
        },
        "base": {"seed": 1, "training": IMAGE_TRAINING | {"steps": 20}},
        "heads": {
            "seed": 3,
            "block_sizes": [1, 3],
            "settings": ["regular", "fine_tuning"],
            "first_head": "learned",
            "frozen": {"head_loss": "sampled", "base_dropout": False, "training": IMAGE_TRAINING},
            "fine_tuned": {"head_loss": "sampled_per_position", "base_dropout": True, "training": IMAGE_TRAINING},
        },
        "decoding": {"approximate_criteria": ["distance2"], "images": 3, "precision": "fp32"},
        "gallery": {"images": 2},
        "survey": {"seed": 1, "pairs_per_method": 3, "repeated_pairs": 1, "bootstrap_samples": 100},
        "timing": TIMING,
    },
    "translation": {
        "data": {
            "source": "generated",
            "generated": {"train_pairs": 150, "dev_pairs": 12, "test_pairs": 9, "seed": 1},
            "vocabulary": {"size": 300, "byte_fallback": False},
            "max_subwords": 64,
        },
        "transformer": {
            "d_model": 32,
            "d_ff": 64,
            "attention_heads": 2,
            "encoder_layers": 1,
            "decoder_layers": 1,
            "residual_dropout": 0.1,
            "attention_dropout": 0.0,
            "relu_dropout": 0.1,
        },
        # Long enough for a teacher that ends its sentences.
        "base": {"seed": 1, "training": TRAINING | {"steps": 120, "evaluate_every": 120}},
        "distillation": {"teacher_seed": 2, "beam_size": 2, "length_penalty": 0.6, "shards": 2},
        "heads": {
            "seed": 3,
            "block_sizes": [1, 3],
            "settings": ["regular", "both"],
            "first_head": "learned",
            "frozen": {"head_loss": "sampled", "base_dropout": False, "training": TRAINING},
            "fine_tuned": {"head_loss": "mean", "base_dropout": True, "training": TRAINING},
        },
        "decoding": {
            "max_extra_tokens": 30,
            "approximate_criteria": ["top2", "minimum2"],
            "baseline_beam_size": 2,
            "baseline_length_penalty": 0.6,
            "precision": "fp32",
        },
        "trace": {"dev_index": 3},
        "timing": TIMING,
    },
}


@dataclass(frozen=True)
class World:
    """The folders of a finished tiny run, up to decoding."""

    config: Config
    root: Path

    @property
    def data(self) -> Path:
        return self.root / "data" / "translation"

    def model(self, name: str) -> Path:
        return self.root / "translation" / name

    def records(self, model: str, name: str, criterion: str) -> list[dict]:
        path = self.model(model) / "decode" / name / f"{criterion}.jsonl"
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@dataclass(frozen=True)
class ImageWorld:
    """The folders of a finished tiny run of the super-resolution half, up to decoding."""

    config: Config
    root: Path

    @property
    def data(self) -> Path:
        return self.root / "data" / "super_resolution"

    def model(self, name: str) -> Path:
        return self.root / "super_resolution" / name

    def decode(self, name: str) -> Path:
        return self.model(name) / "decode" / "dev"


@pytest.fixture(scope="session")
def image_world(tmp_path_factory: pytest.TempPathFactory, tiny_config: Config) -> ImageWorld:
    made = ImageWorld(tiny_config, tmp_path_factory.mktemp("image_world"))
    part = tiny_config.super_resolution
    prepare_images(image_grid.prepare_settings(part), made.data)
    for name in image_grid.trained_models(part):
        base = None if name == "base" else made.model("base")
        settings = image_grid.train_settings(part, name)
        train_images(settings, made.data, made.model(name), made.root / "checkpoints" / name, base)
        decode_images(
            image_grid.decode_settings(part, name), made.model(name), made.data, made.model(name) / "decode", 2
        )
    return made


@pytest.fixture(scope="session")
def tiny_config() -> Config:
    return validate_section(Config, CONFIG, "tiny")


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory, tiny_config: Config) -> World:
    made = World(tiny_config, tmp_path_factory.mktemp("world"))
    translation = tiny_config.translation
    prepare_text(grid.prepare_settings(translation), made.data)
    work = made.root / "checkpoints"
    for name in ("base", "teacher"):
        train(grid.train_settings(translation, name), made.data, made.model(name), work / name, None, None)
    settings = grid.distill_settings(translation)
    shards = [made.root / f"shard_{shard}.jsonl" for shard in range(settings.shards)]
    for shard, path in enumerate(shards):
        distill_shard(settings, made.model("teacher"), made.data, shard, path, batch_rows=32)
    distilled = made.root / "data" / "distilled"
    merge_shards(settings, made.model("teacher"), made.data, shards, distilled)
    for name in ("regular_k3", "both_k3"):
        train(
            grid.train_settings(translation, name),
            made.data,
            made.model(name),
            work / name,
            made.model("base"),
            distilled if name == "both_k3" else None,
        )
    for name in ("base", "both_k3"):
        decode(grid.decode_settings(translation, name), made.model(name), made.data, made.model(name) / "decode", 5)
    return made
