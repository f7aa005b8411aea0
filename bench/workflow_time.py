"""Where a finished run's time went, rule by rule, and how much of it was importing.

It reads what the workflow recorded of each job in results/<scale>/benchmarks/, and times in fresh processes the
imports of each rule's command.
"""

from __future__ import annotations

from pathlib import Path

from bench.findings import Findings
from bench.options import Options
from bench.start_up import seconds_of
from bpd.evaluation.job_records import read_job_record

# More of a rule's jobs than this is not to go into importing.
LARGEST_IMPORT_SHARE = 0.5
# What the command of a job imports, by how the job's name begins; the first that fits counts.
MODULES = {
    "prepare_text": "bpd.data.prepare",
    "prepare_images": "bpd.data.prepare_images",
    "train_images_": "bpd.commands.train_images",
    "train_": "bpd.commands.train",
    "distill_shard": "bpd.commands.distill",
    "merge_distillation": "bpd.commands.distill",
    "decode_images_": "bpd.commands.decode_images",
    "decode_": "bpd.commands.decode",
    "time_": "bpd.commands.time",
    "score_images": "bpd.evaluation.image_score",
    "score_survey": "bpd.commands.survey",
    "score_": "bpd.evaluation.score",
    "trace_": "bpd.commands.trace",
    "build_survey": "bpd.commands.survey",
    "table3": "bpd.commands.survey",
    "image_": "bpd.commands.image_report",
    "speed_": "bpd.commands.speed_report",
    "tables": "bpd.commands.report",
    "figures": "bpd.commands.report",
    "scorecard": "bpd.commands.scorecard",
    "cost": "bpd.commands.cost",
    "results_page": "bpd.commands.results_page",
}


def measure(options: Options) -> Findings:
    """Add up the recorded jobs, and time what their commands import."""
    findings = Findings()
    seconds = recorded_seconds(options.results)
    if not seconds:
        findings.skipped.append(f"{options.results / 'benchmarks'}: no records; run make smoke first")
        return findings
    modules = {job: module_of(job) for job in seconds}
    total = sum(seconds.values())
    by_module = {
        module: sum(taken for job, taken in seconds.items() if modules[job] == module)
        for module in modules.values()
        if module is not None
    }
    wanted = sorted(by_module, key=by_module.get, reverse=True)
    # A quick look times the imports of the two that took longest only; the others' then count as none.
    imports = {
        module: seconds_of(("-c", f"import bpd.cli, {module}"), 1 if options.quick else 3)
        for module in (wanted[:2] if options.quick else wanted)
    }
    importing = 0.0
    importing_by_module = dict.fromkeys(by_module, 0.0)
    for job, taken in sorted(seconds.items(), key=lambda item: -item[1]):
        module = modules[job]
        share = min(imports.get(module, 0.0), taken)
        importing += share
        if module is not None:
            importing_by_module[module] += share
        findings.record(
            job=job,
            seconds=round(taken, 2),
            share=round(taken / total, 4),
            module=module,
            import_seconds=round(share, 2),
            import_share=round(share / taken, 3) if taken else None,
        )
    findings.add("importing ÷ all jobs' time", importing / total, at_most=0.25)
    for module in wanted:
        name = module.removeprefix("bpd.")
        findings.add(f"{name} ÷ all jobs' time", by_module[module] / total)
        if module in imports and by_module[module]:
            share = importing_by_module[module] / by_module[module]
            findings.add(f"{name}: importing ÷ its jobs' time", share, at_most=LARGEST_IMPORT_SHARE)
    findings.record(jobs=len(seconds), seconds=round(total, 1), import_seconds=round(importing, 1))
    return findings


def recorded_seconds(results: Path) -> dict[str, float]:
    """Return the wall-clock seconds of each job that the run in `results` recorded, by the job's name."""
    records = {path.stem: read_job_record(path) for path in sorted((results / "benchmarks").glob("*.jsonl"))}
    return {job: record.seconds for job, record in records.items() if record is not None}


def module_of(job: str) -> str | None:
    """Return the module that does the work of the job called `job`, none for a job that the table lacks."""
    return next((module for start, module in MODULES.items() if job.startswith(start)), None)
