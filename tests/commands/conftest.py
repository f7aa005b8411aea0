"""One tiny world for the commands: generated text, a base, a teacher, distilled pairs and one head model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from bpd import grid
from bpd.commands.decode import decode
from bpd.commands.distill import distill_shard, merge_shards
from bpd.commands.train import train
from bpd.config import Config, validate_section
from bpd.data.prepare import prepare_text

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
CONFIG = {
    "scale": "tiny",
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
