"""The jobs that a configuration asks for, as the workflow plans them, and which waits for which."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bpd import grid, image_grid
from bpd.config import DISTILLED_SETTINGS, Config

# The stages of the workflow, in the order of a run.
STAGES = {
    "prepare": "Prepare data",
    "base": "Train base and teacher",
    "distillation": "Distil",
    "heads": "Train heads",
    "decode": "Decode",
    "time": "Time",
    "score": "Score",
    "report": "Report",
}
ON_CARDS = frozenset({"base", "distillation", "heads", "decode", "time"})


@dataclass(frozen=True)
class Job:
    """One job: the workflow's rule of the same name, and for distillation which shard.

    `task` and `model` say what it works on, where it is one half's or one model's; `needs` are the names of the jobs
    that must have ended before.
    """

    name: str
    rule: str
    stage: str
    seed: int
    needs: tuple[str, ...] = ()
    task: str | None = None
    model: str | None = None
    on_card: bool = False

    @property
    def trains(self) -> bool:
        """Whether the job is a training."""
        return self.stage in ("base", "heads")


def rule_name(name: str, seed: int) -> str:
    """Return the name of a rule, which tells its seed unless it is 1."""
    return name if seed == 1 else f"{name}_seed{seed}"


def jobs_of(config: Config) -> list[Job]:
    """Return every job of a run from nothing, each after those that it needs.

    The votes of the preference study, which people cast later, are not among them: `score_survey` is no planned job.
    """
    jobs = [
        Job("prepare_text", "prepare_text", "prepare", 1, task="translation"),
        Job("prepare_images", "prepare_images", "prepare", 1, task="super_resolution"),
    ]
    for seed in config.seeds:
        jobs += _translation(config, seed)
    for seed in config.seeds:
        jobs += _super_resolution(config, seed)
    jobs += _timings(config)
    return [*jobs, *_reports(config, jobs)]


def _translation(config: Config, seed: int) -> Iterator[Job]:
    part = config.translation

    def job(name: str, stage: str, needs: tuple[str, ...], model: str | None = None, shard: int | None = None) -> Job:
        rule = rule_name(name, seed)
        on_card = stage in ON_CARDS and name != "merge_distillation"
        return Job(
            rule if shard is None else f"{rule}_{shard}", rule, stage, seed, needs, "translation", model, on_card
        )

    def named(name: str) -> str:
        return rule_name(name, seed)

    yield job("train_base", "base", ("prepare_text",), "base")
    if grid.needs_distillation(part):
        yield job("train_teacher", "base", ("prepare_text",), "teacher")
        shards = range(part.distillation.shards)
        for shard in shards:
            yield job("distill_shard", "distillation", (named("train_teacher"),), "teacher", shard)
        yield job("merge_distillation", "distillation", tuple(f"{named('distill_shard')}_{shard}" for shard in shards))
    for model in grid.head_models(part):
        distilled = grid.parse_head_model_name(model)[0] in DISTILLED_SETTINGS
        needs = (named("train_base"), *((named("merge_distillation"),) if distilled else ()))
        yield job(f"train_{model}", "heads", needs, model)
    models = grid.decoded_models(part)
    for model in models:
        yield job(f"decode_{model}", "decode", (named(f"train_{model}"),), model)
    yield job("score_translation", "score", tuple(named(f"decode_{model}") for model in models))


def _super_resolution(config: Config, seed: int) -> Iterator[Job]:
    part = config.super_resolution

    def job(name: str, stage: str, needs: tuple[str, ...], model: str | None = None) -> Job:
        rule = rule_name(name, seed)
        return Job(rule, rule, stage, seed, needs, "super_resolution", model, stage in ON_CARDS)

    def named(name: str) -> str:
        return rule_name(name, seed)

    yield job("train_images_base", "base", ("prepare_images",), "base")
    for model in image_grid.head_models(part):
        yield job(f"train_images_{model}", "heads", (named("train_images_base"),), model)
    models = image_grid.decoded_models(part)
    for model in models:
        yield job(f"decode_images_{model}", "decode", (named(f"train_images_{model}"),), model)
    yield job("score_images", "score", tuple(named(f"decode_images_{model}") for model in models))


def _timings(config: Config) -> Iterator[Job]:
    """Yield the timings, which are of the first seed's models."""
    halves = (
        ("translation", "", grid.timed_models(config.translation)),
        ("super_resolution", "images_", image_grid.timed_models(config.super_resolution)),
    )
    for task, mark, models in halves:
        for model in models:
            name = f"time_{mark}{model}"
            yield Job(name, name, "time", 1, (f"train_{mark}{model}",), task, model, True)


def _reports(config: Config, jobs: list[Job]) -> Iterator[Job]:
    def named(stage: str, task: str) -> tuple[str, ...]:
        return tuple(job.name for job in jobs if (job.stage, job.task) == (stage, task))

    def job(name: str, needs: tuple[str, ...], task: str | None = None) -> Job:
        return Job(name, name, "report", 1, needs, task)

    scores, image_scores = named("score", "translation"), named("score", "super_resolution")
    timings, image_timings = named("time", "translation"), named("time", "super_resolution")
    traced = f"train_{grid.trace_model(config.translation)}"
    trained = tuple(f"train_{model}" for model in grid.trained_models(config.translation))
    decoded = tuple(one.name for one in jobs if (one.stage, one.task, one.seed) == ("decode", "super_resolution", 1))
    yield job("trace_translation", (traced,), "translation")
    yield job("tables", (*scores, *timings, "trace_translation"), "translation")
    yield job("figures", (*scores, "trace_translation", *trained), "translation")
    yield job("image_tables", image_scores, "super_resolution")
    yield job("build_survey", decoded, "super_resolution")
    yield job("table3", ("build_survey",), "super_resolution")
    yield job("image_figures", image_scores, "super_resolution")
    speed = (*scores, *image_scores, *timings, *image_timings)
    yield job("speed_tables", speed)
    yield job("speed_figures", speed)
    tables = ("tables", "image_tables", "table3", "speed_tables")
    yield job("scorecard", (*tables, "trace_translation"))
    made = (*tables, "scorecard", "figures", "image_figures", "speed_figures")
    yield job("cost", made)
    yield job("results_page", (*made, "cost"))
