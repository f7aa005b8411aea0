"""Commands that make models and records: prepare, train, distill, decode, score."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bpd.cli.application import (
    BatchRowsOption,
    ConfigOption,
    DataOption,
    HalfOption,
    ProcessesOption,
    SettingsOption,
    TaskOption,
    app,
    distill_app,
    prepare_app,
    require_one_of,
    settings_of,
    task_of,
)
from bpd.config import Config
from bpd.errors import BpdError


@prepare_app.command("text")
def prepare_text_command(
    output: Annotated[Path, typer.Option(help="The folder to write.")],
    settings: SettingsOption = None,
    config: ConfigOption = None,
) -> None:
    """Fetch, clean and encode sentence pairs, and train their vocabulary."""
    from bpd import grid
    from bpd.config import PrepareSettings
    from bpd.data.prepare import prepare_text

    prepare_text(
        settings_of(PrepareSettings, settings, config, lambda whole: grid.prepare_settings(whole.translation)), output
    )


@prepare_app.command("images")
def prepare_images_command(
    output: Annotated[Path, typer.Option(help="The folder to write.")],
    settings: SettingsOption = None,
    config: ConfigOption = None,
) -> None:
    """Fetch and verify photographs, crop them, and average them to the two sizes."""
    from bpd import image_grid
    from bpd.config import PrepareImagesSettings
    from bpd.data.prepare_images import prepare_images

    def select(whole: Config) -> PrepareImagesSettings:
        return image_grid.prepare_settings(whole.super_resolution)

    prepare_images(settings_of(PrepareImagesSettings, settings, config, select), output)


@app.command("train")
def train_command(
    output: Annotated[Path, typer.Option(help="The model folder to write.")],
    data: DataOption,
    work: Annotated[Path, typer.Option(help="The folder of the running training's checkpoints.")],
    base: Annotated[Path | None, typer.Option(help="The base model's folder, for proposal heads.")] = None,
    distilled: Annotated[
        Path | None, typer.Option(help="The distilled pairs' folder, for models that learn from them.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The model to train, with --config: base, teacher, both_k4 …")
    ] = None,
    task: TaskOption = "translation",
    processes: ProcessesOption = 1,
    settings: SettingsOption = None,
    config: ConfigOption = None,
) -> None:
    """Train a base model, a teacher, or proposal heads; the same call again resumes an interrupted training.

    Several processes share the micro-batches of each step: the global batch, and the result, are the same on any
    number of them. `torchrun … -m bpd.cli train …` starts them by hand, on several machines too.
    """
    from bpd import grid, image_grid
    from bpd.config import ImageTrainSettings, TrainSettings
    from bpd.launch import run_in_processes, wanted_here

    if wanted_here(processes):
        run_in_processes(processes, sys.argv[1:])
        return
    if config is not None and model is None:
        raise BpdError("--config needs --model: base, teacher, or a proposal-head model such as both_k4")
    if task_of(settings, task) == "super_resolution":
        from bpd.commands.train_images import train_images

        if distilled is not None:
            raise BpdError("--distilled belongs to translation: images are never distilled")

        def select_images(whole: Config) -> ImageTrainSettings:
            return image_grid.train_settings(whole.super_resolution, model)

        train_images(settings_of(ImageTrainSettings, settings, config, select_images), data, output, work, base)
        return

    from bpd.commands.train import train

    def select(whole: Config) -> TrainSettings:
        return grid.train_settings(whole.translation, model)

    train(settings_of(TrainSettings, settings, config, select), data, output, work, base, distilled)


@distill_app.command("shard")
def distill_shard_command(
    teacher: Annotated[Path, typer.Option(help="The teacher's model folder.")],
    data: DataOption,
    shard: Annotated[int, typer.Option(help="The shard's number, counted from 0.")],
    output: Annotated[Path, typer.Option(help="The file of records to write.")],
    batch_rows: BatchRowsOption = 64,
    processes: ProcessesOption = 1,
    settings: SettingsOption = None,
    config: ConfigOption = None,
) -> None:
    """Translate one shard of the training sources by beam search."""
    from bpd import grid
    from bpd.commands.distill import distill_shard
    from bpd.config import DistillSettings
    from bpd.launch import run_in_processes, wanted_here

    if wanted_here(processes):
        run_in_processes(processes, sys.argv[1:])
        return

    chosen = settings_of(DistillSettings, settings, config, lambda whole: grid.distill_settings(whole.translation))
    distill_shard(chosen, teacher, data, shard, output, batch_rows)


@distill_app.command("merge")
def distill_merge_command(
    shards: Annotated[list[Path], typer.Argument(help="All shards' files, in order.")],
    teacher: Annotated[Path, typer.Option(help="The teacher's model folder.")],
    data: DataOption,
    output: Annotated[Path, typer.Option(help="The folder of encoded pairs to write.")],
    settings: SettingsOption = None,
    config: ConfigOption = None,
) -> None:
    """Check all shards and join them to the distilled training set."""
    from bpd import grid
    from bpd.commands.distill import merge_shards
    from bpd.config import DistillSettings

    chosen = settings_of(DistillSettings, settings, config, lambda whole: grid.distill_settings(whole.translation))
    merge_shards(chosen, teacher, data, shards, output)


@app.command("decode")
def decode_command(
    model: Annotated[Path, typer.Option(help="The model folder.")],
    data: DataOption,
    output: Annotated[Path, typer.Option(help="The folder to write <set>/<criterion>.jsonl into.")],
    batch_rows: BatchRowsOption = 64,
    processes: ProcessesOption = 1,
    settings: SettingsOption = None,
    config: ConfigOption = None,
) -> None:
    """Decode the dev and test sets with a model, by each of its criteria; with an image model, the dev set."""
    from bpd import grid, image_grid
    from bpd.config import DecodeSettings, ImageDecodeSettings
    from bpd.launch import run_in_processes, wanted_here
    from bpd.models.model_folder import read_settings

    if wanted_here(processes):
        run_in_processes(processes, sys.argv[1:])
        return

    require_one_of(settings, config)
    trained = read_settings(model)[0]
    if trained.task == "super_resolution":
        from bpd.commands.decode_images import decode_images

        def select_images(whole: Config) -> ImageDecodeSettings:
            return image_grid.decode_settings(whole.super_resolution, trained.model)

        wanted = settings_of(ImageDecodeSettings, settings, config, select_images)
        decode_images(wanted, model, data, output, batch_rows)
        return

    from bpd.commands.decode import decode

    def select(whole: Config) -> DecodeSettings:
        return grid.decode_settings(whole.translation, trained.model)

    chosen = settings_of(DecodeSettings, settings, config, select)
    decode(chosen, model, data, output, batch_rows)


@app.command("score")
def score_command(
    records: Annotated[list[Path], typer.Argument(help="Files of decode records.")],
    data: DataOption,
    task: HalfOption = "translation",
) -> None:
    """Score decode records by mean accepted block size, and BLEU or the images' quality; store it beside each file."""
    from tqdm import tqdm

    if task == "super_resolution":
        from bpd.evaluation.image_score import score_image_records

        for path in tqdm(records, desc="score", unit="file"):
            score = score_image_records(path, data)
            name = f"{score['model']} {score['set']} {score['criterion']}"
            block = f"block {score['mean_accepted_block_size']:.2f}"
            tqdm.write(f"{name}: {block}, {score['bits_per_dimension']:.2f} bits, PSNR {score['psnr']:.2f} dB")
        return

    from bpd.evaluation.score import score_records

    for path in tqdm(records, desc="score", unit="file"):
        score = score_records(path, data)
        name = f"{score['model']} {score['set']} {score['criterion']}"
        tqdm.write(f"{name}: BLEU {score['bleu']:.2f}, block {score['mean_accepted_block_size']:.2f}")


@app.command("time")
def time_command(
    model: Annotated[Path, typer.Option(help="The folder of a model with proposal heads.")],
    base: Annotated[Path, typer.Option(help="The base model's folder: greedy decoding is timed on it.")],
    data: DataOption,
    output: Annotated[Path, typer.Option(help="The folder to write <set>/<criterion>.jsonl into.")],
    threads: Annotated[
        int, typer.Option(min=1, help="CPU threads to compute on; small models are fastest on one.")
    ] = 1,
    settings: SettingsOption = None,
    config: ConfigOption = None,
) -> None:
    """Time blockwise against greedy decoding, with and without a cache, and over batch sizes; nothing else may run."""
    from bpd import grid, image_grid
    from bpd.commands.time import time_model
    from bpd.config import TimeSettings
    from bpd.models.model_folder import read_settings

    require_one_of(settings, config)
    images = read_settings(model)[0].task == "super_resolution"

    def select(whole: Config) -> TimeSettings:
        return image_grid.time_settings(whole.super_resolution) if images else grid.time_settings(whole.translation)

    time_model(settings_of(TimeSettings, settings, config, select), model, base, data, output, threads)
