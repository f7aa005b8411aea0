"""How long commands take before they do anything: `bpd --help`, and `bpd train --help`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence

from bench.findings import Findings
from bench.interleave import interleave
from bench.models import ROOT
from bench.options import Options

COMMANDS = {"bpd --help": ("--help",), "bpd train --help": ("train", "--help")}
LONGEST_HELP = 0.5


def measure(options: Options) -> Findings:
    """Time the commands in processes of their own, beside a Python that does nothing and one that imports PyTorch."""
    arms = {name: _process("-m", "bpd.cli", *words) for name, words in COMMANDS.items()}
    arms["python"] = _process("-c", "pass")
    arms["import torch"] = _process("-c", "import torch")
    timings = interleave(arms, repeats=3 if options.quick else options.repeats)
    findings = Findings()
    for name in COMMANDS:
        # Seconds depend on the machine; beside the library that takes longest to import they depend less.
        findings.add(f"{name}: seconds", timings.alone(name), at_most=LONGEST_HELP)
        findings.add(f"{name} ÷ import torch", timings.ratio(name, "import torch"), at_most=0.5)
    findings.record(seconds=timings.summary())
    return findings


def seconds_of(words: Sequence[str], repeats: int = 3) -> float:
    """Return the median seconds that Python takes for `words`, in processes of its own, the first one included."""
    return interleave({"one": _process(*words)}, repeats=repeats, warm_ups=0).median("one")


def _process(*words: str) -> Callable[[], object]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, *words]
    return lambda: subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
