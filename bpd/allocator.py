"""The C allocator's habits, which decide a third of the time of small models on a CPU."""

from __future__ import annotations

import ctypes
import platform

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
_LARGEST_MMAP_THRESHOLD = 32 * 2**20


def keep_freed_memory() -> bool:
    """Ask glibc to keep freed activations for reuse; return whether it agreed.

    By default every tensor above 128 KiB is mapped afresh, so that its pages fault in one by one: adding two
    800 × 512 tensors then takes four times as long. Elsewhere than on glibc this does nothing.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    agreed = mallopt(_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD)
    agreed &= mallopt(_TRIM_THRESHOLD, 2**30)
    agreed &= mallopt(_TOP_PAD, 64 * 2**20)
    return bool(agreed)
