"""`bpd tables` and `bpd figures` for what concerns both halves: speedups, where time goes, and the heads' accuracy."""

from __future__ import annotations

from pathlib import Path

from bpd.commands.image_report import image_scores, record_file
from bpd.commands.report import score_files
from bpd.config import SpeedReportSettings
from bpd.errors import BpdError
from bpd.evaluation.measured_heads import heads_path, read_heads
from bpd.grid import head_model_name
from bpd.image_grid import DEV_SET
from bpd.report.figure4 import figure4, figure4_table
from bpd.report.head_accuracy import ModelHeads, head_accuracy_figure, head_accuracy_table
from bpd.report.scores import Scores
from bpd.report.speed_by_batch import speed_by_batch, speed_by_batch_table
from bpd.report.style import write_figure
from bpd.report.time_shares import time_shares_table
from bpd.report.timings import Timings


def write_speed_tables(settings: SpeedReportSettings, results: Path, output: Path) -> list[Path]:
    """Write Figure 4's numbers, speedups by batch size, shares of time and the heads' accuracy; return the paths."""
    timings = _timings(settings, results)
    scale = settings.translation.scale
    tables = (
        figure4_table(timings, scale),
        speed_by_batch_table(timings, scale),
        time_shares_table(timings, scale),
        head_accuracy_table(_measured_heads(settings, results), scale),
    )
    return [path for table in tables for path in table.write(output)]


def write_speed_figures(settings: SpeedReportSettings, results: Path, output: Path) -> list[Path]:
    """Draw Figure 4, speedups by batch size and the heads' accuracy into `output`; return the paths."""
    timings = _timings(settings, results)
    scale = settings.translation.scale
    figures = {
        "figure4": figure4(timings, scale),
        "speed_by_batch": speed_by_batch(timings, scale),
        "head_accuracy": head_accuracy_figure(_measured_heads(settings, results), scale),
    }
    return [path for name, figure in figures.items() for path in write_figure(figure, output, name)]


def _timings(settings: SpeedReportSettings, results: Path) -> list[Timings]:
    text, images = settings.translation, settings.super_resolution
    timings = [
        Timings(results, "translation", text.set_names["test"], "exact", text.timed_models),
        Timings(results, "super_resolution", DEV_SET, images.approximate_criterion, images.timed_models),
    ]
    for timed, scores in zip(timings, _scores_of_models(settings, results), strict=True):
        timed.require_models_of(scores)
    return timings


def _scores_of_models(settings: SpeedReportSettings, results: Path) -> tuple[Scores, Scores]:
    """Return the scores of the first seed, whose models are timed and whose heads are measured, of either task."""
    text = Scores(score_files(settings.translation, results)[1])
    return text, image_scores(settings.super_resolution, results, seeds=(1,))


def _measured_heads(settings: SpeedReportSettings, results: Path) -> list[ModelHeads]:
    """Return the heads of every model above k = 1, of the first seed, in the order of the tables."""
    text, images = settings.translation, settings.super_resolution
    found = []
    scores, drawn = _scores_of_models(settings, results)
    for block_size in text.block_sizes:
        for setting in text.settings if block_size > 1 else ():
            model = head_model_name(setting, block_size)
            folder = results / "translation" / model / "decode" / text.set_names["dev"]
            block = _block(scores, model)
            found.append(ModelHeads("translation", setting, read_heads(heads_path(folder)), block))
    for block_size in images.block_sizes:
        for setting in images.settings if block_size > 1 else ():
            model = head_model_name(setting, block_size)
            folder = record_file(results, model, "exact").parent
            block = _block(drawn, model)
            found.append(ModelHeads("super_resolution", setting, read_heads(heads_path(folder)), block))
    return found


def _block(scores: Scores, model: str) -> float:
    score = scores.get(model, "exact")
    if score is None:
        raise BpdError(f"{model} has no score by the exact criterion; run `bpd score` again")
    return score["mean_accepted_block_size"]
