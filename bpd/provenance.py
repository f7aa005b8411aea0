"""Provenance: which code, machine and settings a result came from."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

_PACKAGES = ("torch", "sentencepiece", "numpy", "safetensors", "sacrebleu")


def commit() -> dict[str, Any]:
    """Return the commit of the package's own checkout and whether its code differs from it, or nulls outside one."""
    package = Path(__file__).resolve().parent
    command = ["git", "-C", str(package)]
    try:
        head = subprocess.run([*command, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
        status = subprocess.run(
            [*command, "status", "--porcelain", "--", str(package)], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return {"commit": None, "dirty": None}
    return {"commit": head.stdout.strip(), "dirty": bool(status.stdout.strip())}


def machine(device: str, precision: str) -> dict[str, Any]:
    """Return device, precision, threads and versions of a computation with PyTorch on `device`."""
    import torch

    name = torch.cuda.get_device_name(device) if device.startswith("cuda") else processor()
    versions = {"python": platform.python_version()}
    versions |= {package: importlib.metadata.version(package) for package in _PACKAGES}
    return {
        "device": f"{device}: {name}",
        "precision": precision,
        "threads": torch.get_num_threads(),
        "versions": versions,
    }


def count_cards() -> int:
    """Return the number of NVIDIA cards that this machine's driver shows, without the seconds that CUDA takes."""
    return len(list(Path("/proc/driver/nvidia/gpus").glob("*")))


def command_line() -> str:
    """Return the command that this process was called with, its settings left out: they are stored beside it."""
    words = [Path(sys.argv[0]).name]
    skip = False
    for word in sys.argv[1:]:
        if not skip:
            words.append(word)
        skip = word == "--settings"
        if skip:
            words.append("…")
    return " ".join(words)


def processor() -> str:
    """Return the processor's name, as the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
