"""The suite's one command: measure, print tables of ratios, and write them with their environment to a JSON file.

    python -m bench --only greedy_peers scaling --quick

Parts are measured one after the other; see the file of each for what it does.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from bench.environment import environment
from bench.findings import Findings
from bench.models import ROOT
from bench.options import Options
from bench.peers import find_peers
from bench.report import SCHEMA, part_table
from bpd.atomic import write_json
from bpd.device import prepare_device

PARTS = {
    "iteration_cost": "decoding loops against their bare forward passes, by k",
    "greedy_peers": "greedy and blockwise decoding against transformers and CTranslate2",
    "training_peers": "training against transformers",
    "preparation_rate": "text preparation, pairs a second",
    "start_up": "what a command takes before it does anything",
    "workflow_time": "where a finished run's time went",
    "scaling": "how time grows with length, batch, k, image size and tokens",
    "peak_memory": "the largest memory of each stage at the paper's dimensions",
}


def main(words: list[str] | None = None) -> int:
    """Measure what `words` ask for and return the exit status: 1 where a part failed, whatever was met or missed."""
    options = _parse(words)
    find_peers()
    # Of the processes that parts start, too.
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    torch.set_num_threads(options.threads)
    device = prepare_device(options.device)
    asked = Options(device, options.results, options.quick, options.repeats)
    started = datetime.now(UTC)
    report: dict[str, Any] = {
        "schema": SCHEMA,
        "started": started.isoformat(timespec="seconds"),
        "quick": options.quick,
        "repeats": options.repeats,
        "environment": environment(device),
        "parts": {},
    }
    for part in options.only or PARTS:
        print(f"{part}: {PARTS[part]} …", file=sys.stderr, flush=True)
        clock = time.perf_counter()
        try:
            found, failure = importlib.import_module(f"bench.{part}").measure(asked), None
        except Exception as error:  # One part's fault is told, and leaves the others to be measured.
            found, failure = Findings(), f"{type(error).__name__}: {error}"
        seconds = round(time.perf_counter() - clock, 1)
        report["parts"][part] = {"seconds": seconds, "failure": failure, **found.as_json()}
        print(part_table(part, report["parts"][part]), flush=True)
        # Written after each part, so that an interrupted run keeps what it has.
        write_json(options.output, report)
    print(f"{options.output}")
    return 1 if any(part["failure"] for part in report["parts"].values()) else 0


def _parse(words: list[str] | None) -> argparse.Namespace:
    listed = "\n".join(f"  {name:18}{what}" for name, what in PARTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=f"{__doc__}\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--only", nargs="+", action="extend", choices=PARTS, metavar="PART", help="measure these parts alone"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes and few turns: whether it works")
    parser.add_argument("--repeats", type=int, default=5, help="turns of each arm, at least (default 5)")
    parser.add_argument(
        "--threads",
        type=int,
        default=int(os.environ.get("OMP_NUM_THREADS", "1")),
        help="of each arm (default: $OMP_NUM_THREADS, else 1)",
    )
    parser.add_argument("--device", help="cpu or cuda (default: $BPD_DEVICE, else a card where there is one)")
    parser.add_argument(
        "--results", type=Path, default=ROOT / "results" / "smoke", help="the run that workflow_time looks at"
    )
    parser.add_argument(
        "--output", type=Path, default=ROOT / "bench" / "results" / "latest.json", help="the JSON file to write"
    )
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
