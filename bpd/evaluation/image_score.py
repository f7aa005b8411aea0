"""Scores of one set of image records: accepted blocks, quality, and bits per intensity, beside what they are of."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from bpd.atomic import write_json, write_text
from bpd.data.image_set import ImageSet
from bpd.data.raster import to_image
from bpd.errors import BpdError
from bpd.evaluation.accepted_blocks import block_size_counts, mean_accepted_block_size
from bpd.evaluation.image_quality import bicubic, nearest, psnr, ssim
from bpd.evaluation.likelihood import read_likelihoods
from bpd.evaluation.meta import read_meta, require_fingerprint
from bpd.evaluation.records import DecodeRecord, read_records
from bpd.evaluation.score import score_path
from bpd.fingerprints import file_sha256

LIKELIHOODS = "likelihood.jsonl"


def quality_path(records: Path) -> Path:
    """Return where the quality of each image of the records in `records` belongs: beside them."""
    return records.with_suffix(".quality.jsonl")


def score_image_records(records: Path, data: Path) -> dict[str, Any]:
    """Score one file of image records against the prepared images in `data`; store the score and each image's quality.

    Means are taken over images. Raises `BpdError`, and stores nothing, where something is missing or the records,
    the likelihoods and the images are not of one set.
    """
    records = Path(records)
    meta = read_meta(records, ["task", "images", "images_unlike_greedy", "data_sha256"])
    if meta["task"] != "super_resolution":
        raise BpdError(f"{records}: records of {meta['task']}, not of images")
    found, likelihoods = read_records(records), read_likelihoods(records.parent / LIKELIHOODS)
    images = ImageSet.open(Path(data) / meta["set"])
    if meta["data_sha256"] != images.sha256:
        raise BpdError(f"{records}: decoded from other images than {images.folder} holds; decode again")
    names = images.names[: len(found)]
    if not found or len(found) != meta["images"]:
        raise BpdError(f"{records}: {len(found)} records, but {meta['images']} images were decoded; decode again")
    if [record.text for record in found] != names or [record.name for record in likelihoods] != names:
        raise BpdError(f"{records}: records, likelihoods and {images.folder} name other images; decode again")
    require_fingerprint(records, meta, "decode again")
    rows = [_quality(record, images, records) for record in found]
    for row, likelihood in zip(rows, likelihoods, strict=True):
        row["bits_per_dimension"] = likelihood.bits_per_dimension
        row["bits_per_dimension_other_input"] = likelihood.bits_per_dimension_other_input
    write_text(quality_path(records), "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    measures = [name for name in rows[0] if name not in ("index", "name")]
    score = {
        "task": meta["task"],
        "model": meta["model"],
        "set": meta["set"],
        "role": meta["role"],
        "criterion": meta["criterion"],
        "block_size": meta["block_size"],
        "mean_accepted_block_size": mean_accepted_block_size(found),
        "accepted_tokens": sum(len(record.token_ids) for record in found),
        "iterations": sum(record.iterations for record in found),
        "calls": sum(record.calls for record in found),
        "block_size_counts": block_size_counts(found),
        "images": len(found),
        "images_unlike_greedy": meta["images_unlike_greedy"],
        **{name: fmean(row[name] for row in rows) for name in measures},
        "records_sha256": file_sha256(records),
        "quality_sha256": file_sha256(quality_path(records)),
        "targets_sha256": images.sha256,
        "decoding": meta,
    }
    write_json(score_path(records), score)
    return score


def _quality(record: DecodeRecord, images: ImageSet, path: Path) -> dict[str, Any]:
    small, target = (np.asarray(part[record.index]) for part in (images.inputs, images.targets))
    size = images.output_size
    row: dict[str, Any] = {"index": record.index, "name": record.text}
    try:
        output = to_image(record.token_ids, size)
    except BpdError as problem:
        raise BpdError(f"{path}: record {record.index}, {record.text}: {problem}; decode again") from None
    for suffix, image in (
        ("", output),
        ("_nearest", nearest(small, size)),
        ("_bicubic", bicubic(small, size)),
    ):
        row[f"psnr{suffix}"] = psnr(image, target)
        row[f"ssim{suffix}"] = ssim(image, target)
    return row
