"""The largest resident memory of a process, as the process itself tells it.

    python -m bench.resident_memory peak.json prepare text --settings … --output …

runs a `bpd` command in this process and writes its largest memory, in bytes, to the file named first.
"""

from __future__ import annotations

import json
import resource
import runpy
import sys
from pathlib import Path


def peak_bytes() -> int:
    """Return the largest resident memory of this process so far, in bytes.

    `getrusage` would also count the process that started this one, as it was just before: Linux hands that on. It is
    asked only where the system has no other word.
    """
    try:
        for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    # Kilobytes, but on macOS, which counts bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main() -> None:
    """Run the `bpd` command that the words after the first say, and write what it took, however it ends."""
    output, *words = sys.argv[1:]
    sys.argv = ["bpd", *words]
    try:
        runpy.run_module("bpd.cli", run_name="__main__")
    finally:
        Path(output).write_text(json.dumps({"peak_bytes": peak_bytes()}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
