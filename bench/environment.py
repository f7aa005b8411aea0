"""What a benchmark was measured on."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from typing import Any

import torch

from bpd.provenance import commit

PACKAGES = ("torch", "numpy", "transformers", "ctranslate2")


def environment() -> dict[str, Any]:
    """Return processor, cores, threads, versions and commit."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "python": platform.python_version(),
        "packages": versions,
        **commit(),
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            return next(line.split(":", 1)[1].strip() for line in stream if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
