"""Decoded images, scores and journals of a made-up grid of image models, and the report that is drawn from them."""

import json
from pathlib import Path

import numpy as np

from bpd.config import ImageReportSettings
from bpd.data.image_set import ImageSet
from bpd.data.raster import to_tokens
from bpd.evaluation.image_quality import bicubic
from bpd.evaluation.image_score import score_image_records
from bpd.evaluation.likelihood import LikelihoodRecord, write_likelihoods
from bpd.evaluation.records import DecodeRecord, write_records
from tests.evaluation.example_records import bind
from tests.report.example_timings import write_heads, write_timings

SETTINGS = ("regular", "fine_tuning")
CRITERIA = ("exact", "distance2")


def score_values(model: str, criterion: str = "exact", /, **changes) -> dict:
    """Return the values of one score file, with some of them changed."""
    block_size = int(model.rpartition("_k")[2]) if "_k" in model else 1
    values = {
        "task": "super_resolution",
        "model": model,
        "set": "dev",
        "role": "dev",
        "criterion": criterion,
        "block_size": block_size,
        "mean_accepted_block_size": min(1.5, block_size),
        "accepted_tokens": 300,
        "iterations": 200,
        "calls": 210,
        "block_size_counts": {"1": 100, "2": 100},
        "images": 10,
        "images_unlike_greedy": 0,
        "bits_per_dimension": 5.0,
        "bits_per_dimension_other_input": 5.5,
        "psnr": 22.0,
        "ssim": 0.6,
        "psnr_nearest": 19.75,
        "ssim_nearest": 0.5,
        "psnr_bicubic": 21.0,
        "ssim_bicubic": 0.55,
        "decoding": {
            "checkpoint_sha256": "c" * 64,
            "config_sha256": "f" * 64,
            "data_sha256": "d" * 64,
            "seed": 3,
            "commit": "0123456789abcdef",
            "dirty": False,
            "device": "cpu",
            "precision": "fp32",
        },
    }
    return values | changes


def score_path(folder: Path, model: str, criterion: str = "exact") -> Path:
    """Return where a score belongs in a results folder."""
    return folder / "super_resolution" / model / "decode" / "dev" / f"{criterion}.score.json"


def write_score(folder: Path, model: str, criterion: str = "exact", /, **changes) -> Path:
    """Write one score file into a results folder and return its path."""
    path = score_path(folder, model, criterion)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(score_values(model, criterion, **changes)), encoding="utf-8")
    return path


def drawn_images(count: int = 3, input_size: int = 2, output_size: int = 8, seed: int = 0) -> list[tuple]:
    """Return random images as `ImageSet.write` takes them: name, small, large."""
    random = np.random.default_rng(seed)
    return [
        (
            f"image_{index}",
            random.integers(0, 256, (input_size, input_size, 3), dtype=np.uint8),
            random.integers(0, 256, (output_size, output_size, 3), dtype=np.uint8),
        )
        for index in range(count)
    ]


def image_record(index: int, name: str, image: np.ndarray, block_sizes: list[int]) -> DecodeRecord:
    """Return the record of `image`, accepted in blocks of `block_sizes`."""
    return DecodeRecord(
        index=index,
        token_ids=to_tokens(image).tolist(),
        block_sizes=block_sizes,
        iterations=len(block_sizes),
        calls=len(block_sizes) + 1,
        stop="length",
        seconds=0.5,
        text=name,
    )


def random_blocks(random: np.random.Generator, block_size: int, tokens: int) -> list[int]:
    """Return block sizes up to `block_size` that add up to `tokens`."""
    sizes = []
    while tokens:
        sizes.append(min(tokens, int(random.integers(1, block_size + 1))))
        tokens -= sizes[-1]
    return sizes


def write_decoding(
    folder: Path,
    model: str,
    criterion: str,
    dev: ImageSet,
    *,
    noise: int = 0,
    bits: float = 5.0,
    seed: int = 0,
    **meta,
) -> Path:
    """Write records of all images of `dev`, enlarged with `noise`, and what decoding leaves beside them."""
    random = np.random.default_rng(seed)
    block_size = int(model.rpartition("_k")[2]) if "_k" in model else 1
    records = []
    for index, name in enumerate(dev.names):
        smooth = bicubic(np.array(dev.inputs[index]), dev.output_size).astype(int)
        image = np.clip(smooth + random.integers(-noise, noise + 1, smooth.shape), 0, 255).astype(np.uint8)
        records.append(image_record(index, name, image, random_blocks(random, block_size, image.size)))
    path = score_path(folder, model, criterion).with_name(f"{criterion}.jsonl")
    write_records(path, records)
    about = {
        "task": "super_resolution",
        "model": model,
        "set": "dev",
        "role": "dev",
        "criterion": criterion,
        "block_size": block_size,
        "images": len(dev),
        "images_unlike_greedy": 0 if criterion == "exact" else None,
        "checkpoint_sha256": "c" * 64,
        "config_sha256": "f" * 64,
        "data_sha256": dev.sha256,
        "seed": 3,
        "commit": "0123456789abcdef",
        "dirty": False,
        "device": "cpu",
        "precision": "fp32",
    }
    path.with_suffix(".meta.json").write_text(json.dumps(about | meta), encoding="utf-8")
    bind(path)
    write_likelihoods(
        path.with_name("likelihood.jsonl"),
        [LikelihoodRecord(index, name, bits, bits + 0.5) for index, name in enumerate(dev.names)],
    )
    return path


def write_image_journal(path: Path, place: int = 0) -> Path:
    """Write the training journal of an image model."""
    records = [{"event": "step", "step": 10 * n, "loss": 3.5 + 2 / n + 0.05 * place} for n in range(1, 31)]
    records += [
        {
            "event": "evaluation",
            "step": 100 * n,
            "dev_bits_per_dimension": 5 + 1 / n + 0.05 * place,
            "dev_psnr": 20.0 + n,
            "dev_mean_accepted_block_size": 1.1,
        }
        for n in range(1, 4)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def write_image_results(folder: Path, block_sizes: tuple[int, ...], images: list[tuple], rows: int = 2):
    """Write the results of a whole grid on `images`, its scores included, and return the report's settings."""
    data = folder / "data" / "super_resolution"
    sizes = images[0][1].shape[0], images[0][2].shape[0]
    ImageSet.write(data / "dev", images, *sizes, {})
    dev = ImageSet.open(data / "dev")
    models = [f"{setting}_k{size}" for setting in SETTINGS for size in block_sizes if size > 1 or setting == "regular"]
    criteria = {name: ("exact",) if name in ("base", "regular_k1") else CRITERIA for name in ("base", *models)}
    for place, (model, names) in enumerate(criteria.items()):
        for criterion in names:
            noise = 4 + place + 2 * (criterion != "exact")
            path = write_decoding(folder, model, criterion, dev, noise=noise, bits=5 + 0.04 * place, seed=place)
            score_image_records(path, data)
        write_image_journal(folder / "super_resolution" / model / "training.jsonl", place)
    for model in models:
        size = int(model.rpartition("_k")[2])
        if size > 1:
            write_heads(folder / "super_resolution" / model / "decode" / "dev", size)
        if size > 1 and model.startswith("fine_tuning"):
            write_timings(folder, "super_resolution", model, "dev", "distance2", block=0.7 * size)
    return ImageReportSettings(
        scale="smoke",
        block_sizes=block_sizes,
        settings=SETTINGS,
        approximate_criterion="distance2",
        trained_models=("base", *models),
        criteria=criteria,
        timed_models=tuple(model for model in models if model.startswith("fine_tuning")),
        seeds=(1,),
        gallery_images=rows,
    )
