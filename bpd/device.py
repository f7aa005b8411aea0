"""The device that a command computes on, and how it is set up."""

from __future__ import annotations

import os
import sys

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
    if device.type == "cpu" and (warning := cards_left_idle()):
        print(warning, file=sys.stderr, flush=True)
    keep_freed_memory()
    return device


def cards_left_idle() -> str | None:
    """Return what to tell of cards that a job was given and that PyTorch does not see, none where all is well."""
    given = os.environ.get("SLURM_JOB_GPUS") or os.environ.get("CUDA_VISIBLE_DEVICES")
    if not given or os.environ.get("BPD_DEVICE") or torch.cuda.is_available():
        return None
    built = f"is built for CUDA {torch.version.cuda}" if torch.version.cuda else "is built without CUDA"
    return (
        f"warning: this job was given the cards {given}, but PyTorch {torch.__version__} sees none (it {built}), and "
        "computes on the CPU. Install on a machine with a card (make install), or look at the driver (nvidia-smi)."
    )
