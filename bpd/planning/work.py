"""What each job has to do: tokens to train on, tokens to decode, inputs to prepare and to score."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from bpd import grid, image_grid
from bpd.config import Config, ImageTrainSettings, RunConfig, TimedSetConfig, TimingConfig, TrainSettings
from bpd.planning.data_size import CountedText, ImageSize, TextSize, image_size, text_size
from bpd.planning.jobs import Job
from bpd.planning.model_size import ModelSize, model_size

BATCH_ROWS = 64
_WARM_UP_BATCHES, _SHARES_ROUNDS = 3, 2


@dataclass(frozen=True)
class Work:
    """`amount` of one `kind` of work.

    `unit` is `token` where a model computes: `flops` operations each, `at_once` of them in one call or micro-batch of
    `layers` layers, in `precision`. Tokens to decode are counted as if every call gave one: with accepted blocks there
    are fewer calls. Else it is what a CPU counts, such as `prepared_pairs`.
    """

    kind: str
    unit: str
    amount: float
    flops: float = 0.0
    at_once: float = 1.0
    layers: int = 0
    precision: str = "fp32"


@dataclass(frozen=True)
class Workload:
    """Sizes of the data and models of a config, and from them the work of its jobs."""

    config: Config
    counted: CountedText | None = None
    text: TextSize = field(init=False)
    images: ImageSize = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", text_size(self.config.translation.data, self.counted))
        object.__setattr__(self, "images", image_size(self.config.super_resolution.data))

    def settings(self, job: Job) -> TrainSettings | ImageTrainSettings:
        """Return the settings by which a job's model is trained."""
        if job.task == "super_resolution":
            return image_grid.train_settings(self.config.super_resolution, job.model, job.seed)
        return grid.train_settings(self.config.translation, job.model, job.seed)

    def size(self, job: Job) -> ModelSize:
        """Return the size of a job's model."""
        return model_size(self.settings(job), self.config.translation.data.vocabulary.size)

    @property
    def decoded_images(self) -> int:
        """The number of dev images that are decoded."""
        return self.config.super_resolution.decoding.images or self.images.dev

    @property
    def target_tokens(self) -> float:
        """Tokens of a sentence's translation, its end symbol included."""
        return self.text.target_subwords + 1

    def of(self, job: Job) -> list[Work]:
        """Return what a job has to do besides starting."""
        if job.trains:
            return list(self._training(job))
        if job.stage == "decode":
            return list(self._decoding(job))
        if job.stage == "time":
            return list(self._timing(job))
        cpu = {
            "prepare_text": ("prepared_pairs", self.text.pairs),
            "prepare_images": ("prepared_images", self.images.train + self.images.dev),
            "merge_distillation": ("merged_pairs", self.text.pairs),
            "score_translation": ("scored_sentences", self._scored_sentences()),
            "score_images": ("scored_images", self._scored_images()),
        }
        rule = job.rule.removesuffix(f"_seed{job.seed}")
        if rule == "distill_shard":
            return [self._distillation(job)]
        return [Work(cpu[rule][0], cpu[rule][0], cpu[rule][1])] if rule in cpu else []

    def steps(self, job: Job) -> int:
        """Return the optimizer steps of a training."""
        return 0 if self.size(job).trains_nothing else self.settings(job).training.steps

    def training_tokens(self, job: Job) -> float:
        """Return the target tokens that a training reads."""
        training = self.settings(job).training
        return self.steps(job) * training.micro_batches * self._micro_batch(training)

    def _micro_batch(self, training: RunConfig) -> float:
        if hasattr(training, "micro_batch_images"):
            return training.micro_batch_images * self.images.output_tokens
        return training.micro_batch_tokens * self.text.filled_share(training.micro_batch_tokens)

    def _training(self, job: Job) -> Iterator[Work]:
        settings, size = self.settings(job), self.size(job)
        training = settings.training
        tokens, at_once = self.training_tokens(job), self._micro_batch(training)
        yield Work(training_kind(settings), "token", tokens, size.training, at_once, size.layers, training.precision)
        evaluations = math.ceil(self.steps(job) / training.evaluate_every)
        if job.task == "super_resolution":
            inputs, length, rows = training.evaluate_images, self.images.output_tokens, training.evaluate_images
        else:
            inputs, length, rows = training.evaluate_sentences, self.target_tokens, BATCH_ROWS
        # Trainings evaluate themselves in fp32, whatever they train in.
        yield self._decoded(job, evaluations * inputs * length, min(inputs, rows), "fp32", block=size.block_size > 1)

    def _decoded(self, job: Job, tokens: float, rows: int, precision: str, *, block: bool) -> Work:
        size, layers = self.size(job), self._decoder_layers(job)
        flops = size.blockwise if block else size.greedy
        return Work("blockwise" if block else "greedy", "token", tokens, flops, rows, layers, precision)

    def _decoder_layers(self, job: Job) -> int:
        if job.task == "super_resolution":
            return self.config.super_resolution.image_transformer.decoder_layers
        return self.config.translation.transformer.decoder_layers

    def _decoding(self, job: Job) -> Iterator[Work]:
        proposes = self.size(job).block_size > 1
        if job.task == "super_resolution":
            part = self.config.super_resolution
            length = self.images.output_tokens
            sets = [(self.decoded_images, image_grid.criteria(part, job.model))]
        else:
            part = self.config.translation
            length = self.target_tokens
            sets = [
                (sentences, grid.criteria(part, job.model, role)) for role, sentences in self.text.sentences.items()
            ]
        precision = part.decoding.precision
        for inputs, criteria in sets:
            tokens, rows = inputs * length, min(inputs, BATCH_ROWS)
            for criterion in criteria:
                if criterion.startswith("beam"):
                    yield self._beam(job, tokens, rows, int(criterion.removeprefix("beam")), precision)
                else:
                    yield self._decoded(job, tokens, rows, precision, block=proposes)
            # Exact blockwise decoding is compared with greedy decoding.
            if proposes:
                yield self._decoded(job, tokens, rows, precision, block=False)

    def _beam(self, job: Job, tokens: float, rows: int, beam_size: int, precision: str) -> Work:
        flops = self.size(job).beam(beam_size)
        return Work("beam", "token", tokens, flops, rows, self._decoder_layers(job), precision)

    def _distillation(self, job: Job) -> Work:
        part = self.config.translation.distillation
        tokens = self.text.pairs * self.target_tokens / part.shards
        return self._beam(job, tokens, BATCH_ROWS, part.beam_size, "fp32")

    def _timing(self, job: Job) -> Iterator[Work]:
        images = job.task == "super_resolution"
        part = self.config.super_resolution if images else self.config.translation
        inputs = self.images.dev if images else self.text.sentences["test"]
        length = self.images.output_tokens if images else self.target_tokens
        for protocol, rows, timed in timed_parts(part.timing):
            count, tokens = timed.inputs or inputs, min(length, timed.tokens or math.inf)
            rounds = part.timing.repeats + 1
            warm_up = min(_WARM_UP_BATCHES * rows, count)
            shares = _SHARES_ROUNDS * count if protocol == "cached" else 0
            yield self._timed(job, protocol, rows, tokens, part.timing.repeats * count + warm_up, block=False)
            yield self._timed(job, protocol, rows, tokens, rounds * count + shares, block=True)

    def _timed(self, job: Job, protocol: str, rows: int, tokens: float, inputs: int, *, block: bool) -> Work:
        part = self.config.super_resolution if job.task == "super_resolution" else self.config.translation
        # Greedy decoding is timed on the base model.
        size = self.size(job if block else replace(job, model="base"))
        flops = size.blockwise if block else size.greedy
        if protocol == "recompute":
            flops = size.recompute(tokens / 2, block=block)
        kind = timing_kind(protocol, "blockwise" if block else "greedy")
        layers, precision = self._decoder_layers(job), part.decoding.precision
        return Work(kind, "token", inputs * tokens, flops, rows, layers, precision)

    def _scored_sentences(self) -> int:
        part = self.config.translation
        return sum(
            sentences * len(grid.criteria(part, model, role))
            for role, sentences in self.text.sentences.items()
            for model in grid.decoded_models(part)
        )

    def _scored_images(self) -> int:
        part = self.config.super_resolution
        files = sum(len(image_grid.criteria(part, model)) for model in image_grid.decoded_models(part))
        return files * self.decoded_images


def training_kind(settings: TrainSettings | ImageTrainSettings) -> str:
    """Return the kind of work that a training is: of a base model, or of heads over a frozen or a fine-tuned base."""
    if settings.heads is None:
        return "train_base"
    return "train_frozen_heads" if settings.heads.frozen else "train_fine_tuned_heads"


def timing_kind(protocol: str, arm: str) -> str:
    """Return the kind of work that one arm of a timing is."""
    return f"time_{protocol}_{arm}"


def timed_parts(timing: TimingConfig) -> list[tuple[str, int, TimedSetConfig]]:
    """Return what is timed: protocol, rows at once, and which part of the set."""
    batches = [("batches", rows, timing.batches) for rows in timing.batches.sizes]
    return [("recompute", 1, timing.recompute), ("cached", 1, timing.cached), *batches]
