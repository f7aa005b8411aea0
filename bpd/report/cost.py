"""What a run cost, by stage: the one table that no second run repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bpd.evaluation.job_records import JobRecord
from bpd.report.row_table import RowTable

_HOUR, _GIGABYTE = 3600.0, 1e9


@dataclass(frozen=True)
class JobCost:
    """One job: its stage, what was recorded of it, if anything, and how many cards it held.

    `earlier` is the time of a training's earlier attempts, as a share of the last one.
    """

    stage: str
    record: JobRecord | None
    cards: int
    earlier: float = 0.0


def cost_table(jobs: Sequence[JobCost], titles: dict[str, str], devices: Sequence[str], scale: str) -> RowTable:
    """Return jobs, hours of wall-clock time, CPU and cards, and peak memory, by stage and in all.

    `titles` are the stages' names, in the order of a run.
    """
    rows = [_row(stage, [job for job in jobs if job.stage == stage]) for stage in titles]
    rows = [row for row in rows if row[1]]
    rows.append(_row("all", list(jobs)))
    names = {**titles, "all": "In all"}
    counts = tuple(f"{row[2]} of {row[1]}" if row[2] < row[1] else str(row[1]) for row in rows)
    return RowTable(
        name="cost",
        columns=(
            "stage",
            "jobs",
            "recorded",
            "wall_hours",
            "cpu_hours",
            "gpu_hours",
            "peak_memory_gigabytes",
            "resumed",
        ),
        rows=tuple(rows),
        shown=(
            ("Stage", tuple(names[row[0]] for row in rows)),
            ("Jobs", counts),
            ("Hours", tuple(_hours(row[3]) for row in rows)),
            ("CPU-hours", tuple(_hours(row[4]) for row in rows)),
            ("GPU-hours", tuple(_hours(row[5]) for row in rows)),
            ("Peak memory, GB", tuple("" if row[6] is None else f"{row[6]:.1f}" for row in rows)),
            ("Resumed", tuple(str(row[7]) if row[7] else "" for row in rows)),
        ),
        caption=f"What the run cost, scale {scale}",
        notes=(
            "Hours are added up over jobs, however many ran at once, and hold what else the machine did. Each job "
            "counts once, by its last attempt; of a resumed training, the kept steps of earlier attempts are added at "
            "the pace that its journal holds, and steps that were lost are not. Jobs without a record ran before there "
            "were any. The jobs of this table and of the results' page are left out.",
            "CPU time and memory are Snakemake's samples of each job's processes: those of jobs of some seconds, and "
            "the last half-minute of long ones, are not in them. GPU-hours are hours of jobs that computed on a card; "
            "distillation is taken to have run where its teacher was trained.",
            f"Devices: {'; '.join(devices) or 'not recorded'}.",
        ),
    )


def _row(stage: str, jobs: Sequence[JobCost]) -> tuple:
    kept = [(job, job.record) for job in jobs if job.record is not None]
    cpu = [record.cpu_seconds * (1 + job.earlier) for job, record in kept if record.cpu_seconds is not None]
    peaks = [record.peak_bytes for _, record in kept if record.peak_bytes is not None]
    return (
        stage,
        len(jobs),
        len(kept),
        sum(record.seconds * (1 + job.earlier) for job, record in kept) / _HOUR,
        sum(cpu) / _HOUR,
        sum(record.seconds * (1 + job.earlier) * job.cards for job, record in kept) / _HOUR,
        max(peaks) / _GIGABYTE if peaks else None,
        sum(job.earlier > 0 for job, _ in kept),
    )


def _hours(hours: float) -> str:
    return f"{hours:,.1f}" if hours >= 10 else f"{hours:.3f}"
