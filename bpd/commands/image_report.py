"""`bpd tables` and `bpd figures` for super-resolution: from scores, records, journals and the prepared images."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bpd.atomic import write_text
from bpd.config import ImageReportSettings
from bpd.data.image_set import ImageSet
from bpd.evaluation.meta import read_decoding
from bpd.evaluation.records import DecodeRecord
from bpd.evaluation.score import score_path
from bpd.grid import replica_folder
from bpd.image_grid import DEV_SET
from bpd.report.acceptance_map import acceptance_map
from bpd.report.block_histograms import block_histograms
from bpd.report.gallery import gallery
from bpd.report.image_scores import ImageScores
from bpd.report.style import write_figure
from bpd.report.table2 import COLUMNS, columns_of, source_of, table2
from bpd.report.tables import write_table
from bpd.report.training_curves import training_curves


def record_file(results: Path, model: str, criterion: str) -> Path:
    """Return where the records of an image model's decoding lie."""
    return results / "super_resolution" / model / "decode" / DEV_SET / f"{criterion}.jsonl"


def image_scores(settings: ImageReportSettings, results: Path, seeds: Sequence[int] | None = None) -> ImageScores:
    """Return the score of each decoding that the grid asks for, of some or all of the seeds."""
    return ImageScores(
        {
            seed: [
                score_path(record_file(replica_folder(results, seed), model, criterion))
                for model, criteria in settings.criteria.items()
                for criterion in criteria
            ]
            for seed in seeds or settings.seeds
        }
    )


def write_image_tables(settings: ImageReportSettings, results: Path, output: Path) -> list[Path]:
    """Write Table 2 and all scores into `output`; return the paths."""
    scores = image_scores(settings, results)
    table = table2(scores, settings.block_sizes, settings.settings, settings.approximate_criterion, settings.scale)
    paths = write_table(table, output)
    write_text(output / "image_scores.csv", scores.frame().to_csv(index=False, lineterminator="\n"))
    return [*paths, output / "image_scores.csv"]


def write_image_figures(settings: ImageReportSettings, results: Path, output: Path) -> list[Path]:
    """Draw gallery, acceptance map, block histograms and training curves into `output`; return the paths."""
    scores = image_scores(settings, results)
    images = ImageSet.open(results / "data" / "super_resolution" / DEV_SET)
    largest = max(settings.block_sizes)
    epsilon = f"ε = {settings.approximate_criterion.removeprefix('distance')}"
    columns = columns_of(settings.settings)
    decoded = {"Greedy\n(Regular, k = 1)": _records(settings, results, "regular", 1)}
    if largest > 1:
        best, title = ("both", "Fine Tuning") if "both" in columns else ("approximate", "Regular")
        decoded[f"Approximate, {epsilon}\n({title}, k = {largest})"] = _records(settings, results, best, largest)
    maps = {
        (block_size, column): _records(settings, results, column, block_size)
        for block_size in settings.block_sizes
        if block_size > 1
        for column in columns
    }
    mean = np.asarray(images.targets).mean(axis=0).astype(np.uint8)
    journals = {model: results / "super_resolution" / model / "training.jsonl" for model in settings.trained_models}
    figures = {
        "gallery": gallery(images, decoded, settings.gallery_images, settings.scale),
        "acceptance_map": acceptance_map(maps, columns, mean, settings.scale),
        "image_accepted_blocks": block_histograms(
            scores,
            settings.block_sizes,
            tuple(columns),
            settings.scale,
            titles=COLUMNS,
            source=lambda column, block_size: source_of(column, block_size, settings.approximate_criterion),
            criterion=f"exact and {epsilon}",
        ),
        "image_training_curves": training_curves(
            journals,
            settings.scale,
            score="dev_bits_per_dimension",
            score_title="Dev bits per intensity (first images)",
            token="intensity",
        ),
    }
    return [path for name, figure in figures.items() for path in write_figure(figure, output, name)]


def _records(settings: ImageReportSettings, results: Path, column: str, block_size: int) -> list[DecodeRecord]:
    path = record_file(results, *source_of(column, block_size, settings.approximate_criterion))
    return read_decoding(path)
