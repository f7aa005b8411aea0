"""How fast, and in how much memory, text is prepared: a short run of `bench.text_preparation`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.findings import Findings
from bench.models import ROOT
from bench.options import Options


def measure(options: Options) -> Findings:
    """Prepare some thousand generated pairs with the paper's settings, the vocabulary trained on all of them."""
    pairs = 4_000 if options.quick else 40_000
    findings = Findings()
    with tempfile.TemporaryDirectory(prefix="bpd-bench-") as place:
        output = Path(place) / "measured.json"
        command = [sys.executable, "-m", "bench.text_preparation", "--pairs", str(pairs), "--output", str(output)]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
        result = subprocess.run(command, env=environment, capture_output=True, text=True)
        if result.returncode != 0:
            raise RuntimeError(f"text preparation failed with status {result.returncode}: {result.stderr[-500:]}")
        measured = json.loads(output.read_text(encoding="utf-8"))
    findings.add("bpd prepare text: pairs a second", measured["pairs_per_second"])
    findings.add("bpd prepare text: MiB of memory", measured["peak_memory_mib"])
    findings.record(**measured)
    return findings
