"""A plan: what every stage of a configuration's run will take, and how long the whole run takes on some cards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bpd.config import Config
from bpd.errors import BpdError
from bpd.planning.disk import checkpoint_bytes, kept_bytes, scratch_bytes
from bpd.planning.jobs import STAGES, Job, jobs_of
from bpd.planning.rates import AssumedRates, Basis, Measured, RateBook
from bpd.planning.schedule import Task, critical_path, wall_seconds
from bpd.planning.work import Workload

_HOUR = 3600.0


@dataclass(frozen=True)
class PlannedJob:
    """What one job will take: seconds of wall time, its start included, and bytes that it leaves.

    `work` is what it has to do by kind, and `seconds_by_basis` says how long that takes by what the estimate rests on.
    """

    name: str
    rule: str
    stage: str
    seed: int
    needs: tuple[str, ...]
    cards: int
    seconds: float
    start_seconds: float
    work: dict[str, float]
    seconds_by_basis: dict[str, float]
    kept_bytes: float

    @property
    def gpu_hours(self) -> float:
        """Hours of cards."""
        return self.cards * self.seconds / _HOUR


@dataclass(frozen=True)
class StagePlan:
    """The sums of a stage; `bases` are what its seconds rest on, and `jobs` its jobs by rule."""

    stage: str
    jobs: dict[str, int]
    work: dict[str, float]
    gpu_hours: float
    cpu_hours: float
    kept_bytes: float
    bases: tuple[Basis, ...]


@dataclass(frozen=True)
class Plan:
    """A whole run: its jobs, the cards it may use, and what the estimate rests on."""

    scale: str
    gpus: int
    gpus_per_training: int
    jobs: tuple[PlannedJob, ...]
    wall_hours: float
    critical_path: tuple[str, ...]
    critical_path_hours: float
    temporary_bytes: float
    notes: tuple[str, ...]

    def stages(self) -> list[StagePlan]:
        """Return the sums by stage, in the order of a run; a stage without jobs is left out."""
        found = []
        for stage in STAGES:
            jobs = [job for job in self.jobs if job.stage == stage]
            if not jobs:
                continue
            work: Counter[str] = Counter()
            for job in jobs:
                work.update(job.work)
            bases = {basis for job in jobs for basis, seconds in job.seconds_by_basis.items() if seconds} or {"assumed"}
            found.append(
                StagePlan(
                    stage,
                    dict(Counter(job.rule for job in jobs)),
                    dict(work),
                    sum(job.gpu_hours for job in jobs),
                    sum(job.seconds / _HOUR for job in jobs if not job.cards),
                    sum(job.kept_bytes for job in jobs),
                    tuple(basis for basis in ("measured", "scaled", "assumed") if basis in bases),
                )
            )
        return found

    @property
    def gpu_hours(self) -> float:
        """Hours of cards in all."""
        return sum(job.gpu_hours for job in self.jobs)

    @property
    def cpu_hours(self) -> float:
        """Hours of CPU cores of the jobs that use no card."""
        return sum(job.seconds / _HOUR for job in self.jobs if not job.cards)

    @property
    def kept_bytes(self) -> float:
        """Bytes that the whole run leaves."""
        return sum(job.kept_bytes for job in self.jobs)

    def as_json(self) -> dict[str, Any]:
        """Return the plan as plain values."""
        totals = {
            "jobs": len(self.jobs),
            "gpu_hours": self.gpu_hours,
            "cpu_hours": self.cpu_hours,
            "wall_hours": self.wall_hours,
            "critical_path_hours": self.critical_path_hours,
            "kept_bytes": self.kept_bytes,
            "temporary_bytes": self.temporary_bytes,
        }
        return {
            "scale": self.scale,
            "gpus": self.gpus,
            "gpus_per_training": self.gpus_per_training,
            "totals": totals,
            "stages": [asdict(stage) for stage in self.stages()],
            "critical_path": list(self.critical_path),
            "notes": list(self.notes),
            "jobs": [asdict(job) | {"gpu_hours": job.gpu_hours} for job in self.jobs],
        }


def make_plan(
    config: Config,
    assumed: AssumedRates,
    measured: Measured | None = None,
    *,
    gpus: int = 1,
    gpus_per_training: int = 1,
) -> Plan:
    """Return the plan of a run of `config` from nothing on `gpus` cards.

    A training has as many of its cards as can share a step's micro-batches evenly. Raises `BpdError` where it is to
    have more cards than there are.
    """
    load = Workload(config, None if measured is None else measured.text)
    book = RateBook(assumed, () if measured is None else measured.rates)
    jobs = jobs_of(config)
    if gpus < 1 or gpus_per_training < 1:
        raise BpdError(f"{gpus} cards, {gpus_per_training} for each training: there must be at least one")
    if gpus_per_training > gpus:
        raise BpdError(f"--gpus-per-training {gpus_per_training} is more than --gpus {gpus}")
    planned = tuple(_planned(job, load, book, gpus_per_training) for job in jobs)
    tasks = [Task(job.name, job.seconds, job.cards, job.needs) for job in planned]
    path = critical_path(tasks)
    seconds = {job.name: job.seconds for job in planned}
    running = gpus // min(made.cards for made, job in zip(planned, jobs) if job.trains)
    checkpoints = sorted((checkpoint_bytes(job, load) for job in jobs if job.trains), reverse=True)
    scratch = max(scratch_bytes(job, load) for job in jobs)
    return Plan(
        config.scale,
        gpus,
        gpus_per_training,
        planned,
        wall_seconds(tasks, gpus) / _HOUR,
        tuple(path),
        sum(seconds[name] for name in path) / _HOUR,
        max(scratch, sum(checkpoints[:running])),
        _notes(load, assumed, measured, planned, gpus_per_training),
    )


def _planned(job: Job, load: Workload, book: RateBook, gpus_per_training: int) -> PlannedJob:
    cards = 1 if job.on_card else 0
    if job.trains:
        micro_batches = load.settings(job).training.micro_batches
        cards = max(count for count in range(1, gpus_per_training + 1) if micro_batches % count == 0)
    speedup = cards * book.assumed.scaling_share if cards > 1 else 1.0
    work: Counter[str] = Counter()
    start = book.assumed.seconds_per_job
    start_seconds = start.on_card if job.on_card else start.on_cpu
    seconds: Counter[str] = Counter()
    for part in load.of(job):
        estimate = book.estimate(job.task, part)
        # Evaluations on the way decode on one card, the others wait.
        seconds[estimate.basis] += estimate.seconds / (speedup if part.kind.startswith("train") else 1.0)
        work[part.kind] += part.amount
    return PlannedJob(
        job.name,
        job.rule,
        job.stage,
        job.seed,
        job.needs,
        cards,
        start_seconds + sum(seconds.values()),
        start_seconds,
        dict(work),
        dict(seconds),
        kept_bytes(job, load),
    )


def _notes(
    load: Workload,
    assumed: AssumedRates,
    measured: Measured | None,
    jobs: Sequence[PlannedJob],
    gpus_per_training: int,
) -> tuple[str, ...]:
    shares = ", ".join(
        f"{share:.0%} of {assumed.peak[precision] / 1e12:g} TFLOP/s in {precision}"
        for precision, share in assumed.sustained_share.items()
    )
    text = load.text
    lengths = f"{text.source_subwords:.1f} + {text.target_subwords:.1f} subwords a sentence pair"
    notes = [
        f"Assumed rates are of {assumed.device}: it is assumed to sustain {shares}, and to need at least "
        f"{1000 * assumed.seconds_per_layer.training:g} ms a layer and micro-batch, "
        f"{1000 * assumed.seconds_per_layer.decoding:g} ms a decoder layer and model call. Nobody measured these "
        "here. They are in bpd/planning/assumed_rates.yaml, with the rates of CPU jobs.",
        f"Sizes: {text.pairs:,} pairs, {lengths} "
        + ("(counted by the run that was measured)" if text.counted else "(assumed)")
        + (
            f"; {load.images.train:,} + {load.images.dev:,} images."
            + ("" if text.counted else " Every micro-batch counts as full, which few are.")
        ),
        "Decoding counts a model call for each token. With measured rates, accepted blocks are in the tokens a second.",
        "Left out: downloads, waiting in a queue, checkpoints being written, the teacher-forced passes for heads' "
        "accuracy and bits per intensity, and the votes of Table 3. CPU jobs are taken to find a free core.",
    ]
    if measured is not None:
        notes.append(f"Measured rates are of {measured.results}, on {'; '.join(measured.devices) or 'nothing'}.")
        notes.append(
            "Scaled: measured on another model or batch of the same kind, and scaled by operations a token; or on "
            "other data, and scaled by how much there is. A small model that did not fill its device makes this too "
            "long."
        )
        cpu = any(device.startswith("cpu") for device in measured.devices)
        if cpu:
            assumed_hours = any(job.cards and job.seconds_by_basis.get("assumed") for job in jobs)
            notes.append(
                "Measured on a CPU: “GPU-hours” are hours of that CPU, and --gpus is how many such jobs run at once."
                + (" What is assumed is of a GPU all the same." if assumed_hours else "")
            )
    if gpus_per_training > 1:
        notes.append(
            f"A training has at most {gpus_per_training} cards, each with as many micro-batches of a step: n > 1 cards "
            f"are assumed to be {assumed.scaling_share:g} n times as fast as one."
        )
    return tuple(notes)
