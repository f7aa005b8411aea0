"""`bpd cost`: what the jobs of a run cost, from what the workflow recorded of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bpd.config import Config
from bpd.errors import BpdError
from bpd.evaluation.job_records import earlier_share, read_job_record
from bpd.grid import replica_folder
from bpd.planning.jobs import STAGES, Job, jobs_of
from bpd.report.cost import JobCost, cost_table

# They are made of this table, or are it.
_LATER = ("cost", "results_page")


def write_cost(config: Config, results: Path, output: Path) -> list[Path]:
    """Write what the jobs recorded in `results`/benchmarks cost as a table into `output`; return the paths.

    Raises `BpdError` where no job has left a record.
    """
    results = Path(results)
    costs, devices = [], set()
    for job in jobs_of(config):
        if job.name in _LATER:
            continue
        record = read_job_record(results / "benchmarks" / f"{job.name}.jsonl")
        about = _about(job, results) if record is not None and job.on_card else {}
        device = about.get("device")
        if device is not None:
            devices.add(device)
        cards = about.get("processes", 1) if device is not None and device.startswith("cuda") else 0
        earlier = 0.0
        if record is not None and job.trains:
            earlier = earlier_share(results / "logs" / f"{job.rule}.log", _model(job, results) / "training.jsonl")
        costs.append(JobCost(job.stage, record, cards, earlier))
    if all(cost.record is None for cost in costs):
        raise BpdError(f"{results / 'benchmarks'}: no job has left a record; the workflow writes them")
    return cost_table(costs, STAGES, sorted(devices), config.scale).write(Path(output))


def _model(job: Job, results: Path) -> Path:
    return replica_folder(results, job.seed) / str(job.task) / str(job.model)


def _about(job: Job, results: Path) -> dict[str, Any]:
    """Return what a job's products say of the machine it ran on, or nothing."""
    folder = _model(job, results)
    if job.stage in ("decode", "time"):
        paths = sorted(folder.glob(f"{job.stage}/*/*.meta.json"))
    else:
        paths = [folder / "provenance.json"]
    for path in paths:
        try:
            about = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        # A shard of a distillation runs on one card, however many trained its teacher.
        return about | {"processes": 1} if job.stage == "distillation" else about
    return {}
