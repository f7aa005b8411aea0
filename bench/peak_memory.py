"""The largest resident memory of each stage at the paper's dimensions on a CPU, one step in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from bench.findings import Findings
from bench.models import ROOT
from bench.options import Options

STAGES = (
    "base",
    "frozen_sampled",
    "frozen_mean",
    "fine_tuning_sampled",
    "fine_tuning_mean",
    "greedy",
    "blockwise",
    "beam",
    "image_base",
    "image_fine_tuning",
)
MIB = 2**20
LONGEST_SECONDS = 300


def measure(options: Options) -> Findings:
    """Run the stages one after the other; memory is counted beyond what the imports alone take."""
    findings = Findings()
    name, tokens, stages = ("mini", 256, ("base", "blockwise")) if options.quick else ("base", 1024, STAGES)
    imports = _run("nothing", name, tokens)
    findings.record(**imports)
    beyond = {}
    for stage in stages:
        measured = _run(stage, name, tokens)
        findings.record(**measured)
        beyond[stage] = measured["peak_bytes"] - imports["peak_bytes"]
        findings.add(f"{name}, {stage}: GiB beyond imports", beyond[stage] / 2**30)
    for stage, other in (("fine_tuning_mean", "fine_tuning_sampled"), ("blockwise", "greedy"), ("beam", "greedy")):
        if stage in beyond and other in beyond:
            findings.add(f"{name}: memory of {stage} ÷ {other}", beyond[stage] / beyond[other])
    return findings


def _run(stage: str, name: str, tokens: int) -> dict[str, Any]:
    """Return what one stage took; raise `RuntimeError` with what it said where it fails."""
    # A first step makes the optimizer's state beside the gradients: it is the peak, and one is enough.
    words = [stage, "--dimensions", name, "--tokens", str(tokens), "--steps", "1"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    result = subprocess.run(
        [sys.executable, "-m", "bench.memory_stages", *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
    )
    if result.returncode != 0:
        raise RuntimeError(f"{stage} failed with status {result.returncode}: {result.stderr.strip()[-500:]}")
    return json.loads(result.stdout.splitlines()[-1])
