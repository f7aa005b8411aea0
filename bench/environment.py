"""Where and with what the suite was measured."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from typing import Any

import psutil
import torch

from bpd.provenance import commit, machine, processor

_PEERS = ("transformers", "ctranslate2", "tokenizers", "huggingface-hub")


def environment(device: torch.device, precision: str = "fp32") -> dict[str, Any]:
    """Return the machine, its load, threads, versions and commit; what a peer's version is, none where it is missing.

    `load` are the runnable processes over the last minute, for telling a contended machine from a quiet one.
    """
    return {
        **machine(str(device), precision),
        **commit(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "physical_cores": psutil.cpu_count(logical=False),
        "load": round(os.getloadavg()[0], 2),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.platform(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "peers": {name: _version(name) for name in _PEERS},
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
