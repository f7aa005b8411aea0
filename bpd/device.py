"""The device that a command computes on, and how it is set up."""

from __future__ import annotations

import os

import torch

from bpd.allocator import keep_freed_memory
from bpd.errors import BpdError
from bpd.launch import started_by_torchrun


def prepare_device(name: str | None = None) -> torch.device:
    """Return the device `name`, by default $BPD_DEVICE, else a CUDA card, else the CPU, ready for work.

    The card is the first, or each one's own where several processes share a machine. The number of threads is left to
    $OMP_NUM_THREADS, which workflow rules set to what they reserved.
    """
    name = name or os.environ.get("BPD_DEVICE") or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        if device.type == "cuda":
            if device.index is None and started_by_torchrun():
                device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
                torch.cuda.set_device(device)
            torch.cuda.get_device_properties(device)
    except (RuntimeError, AssertionError) as error:
        raise BpdError(f"device '{name}' cannot be used: {str(error).splitlines()[0]}; set BPD_DEVICE=cpu") from None
    keep_freed_memory()
    return device
