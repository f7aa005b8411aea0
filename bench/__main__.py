"""The benchmark suite: print ratios, each beside its target, and write them with what they were measured on.

make bench                                  # everything, with the peers installed
python -m bench --only peers --quick        # one part, in less time
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from bench.blockwise_costs import blockwise_costs
from bench.environment import environment
from bench.marian import missing_peers
from bench.memory import memory
from bench.peers import peers
from bench.startup import rule_times, startup
from bench.training_speed import training_speed
from bpd.atomic import write_json

PARTS: dict[str, Callable[[bool], list[dict[str, Any]]]] = {
    "blockwise_costs": blockwise_costs,
    "peers": peers,
    "training_speed": training_speed,
    "startup": startup,
    "memory": memory,
}
# Of these, less is better.
COSTS = {"iteration_cost", "median", "share_of_imports"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[*PARTS, "rule_times"], help="these parts alone")
    parser.add_argument("--quick", action="store_true", help="the smallest sizes and fewest rounds")
    parser.add_argument("--threads", type=int, default=int(os.environ.get("OMP_NUM_THREADS", "1")))
    parser.add_argument("--results", type=Path, default=Path("results/smoke"), help="a finished run, for rule_times")
    parser.add_argument("--output", type=Path, default=Path("bench/results/latest.json"))
    words = parser.parse_args()
    torch.set_num_threads(words.threads)
    made: dict[str, Any] = {"environment": environment(), "quick": words.quick, "parts": {}}
    for name in words.only or [*PARTS, "rule_times"]:
        if name == "peers" and (missing := missing_peers()):
            print(f"{name}: left out, without {' and '.join(missing)} (make bench installs them)", flush=True)
            continue
        if name == "rule_times":
            rows = _rule_times(words.results, made["parts"].get("startup") or startup(words.quick))
        else:
            rows = PARTS[name](words.quick)
        made["parts"][name] = rows
        print(table(name, rows), flush=True)
        write_json(words.output, made)
    print(f"written: {words.output}")


def _rule_times(results: Path, started: list[dict[str, Any]]) -> list[dict[str, Any]]:
    imports = {
        row["command"].removeprefix("import "): row["seconds"]["median"]
        for row in started
        if row["command"].startswith("import ")
    }
    return rule_times(results, imports)


def table(name: str, rows: list[dict[str, Any]]) -> str:
    """Return rows as a Markdown table: what has a target is followed by it, and by whether it was met."""
    if not rows:
        return f"{name}: nothing to show"
    flat = [_shown(row) for row in rows]
    titles = list(dict.fromkeys(title for row in flat for title in row))
    lines = [f"\n**{name}**\n", "| " + " | ".join(titles) + " |", "| " + " | ".join("---" for _ in titles) + " |"]
    lines += ["| " + " | ".join(row.get(title, "") for title in titles) + " |" for row in flat]
    return "\n".join(lines)


def _shown(row: dict[str, Any]) -> dict[str, str]:
    values = {key: value for key, value in row.items() if key != "seconds"}
    if isinstance(row.get("seconds"), dict):
        if "median" in row["seconds"]:
            values = {"command": values.pop("command"), "median": row["seconds"]["median"], **values}
        else:
            values |= {f"{arm}, ms": 1000 * one["median"] for arm, one in row["seconds"].items()}
    elif "seconds" in row:
        values["seconds"] = row["seconds"]
    shown = {}
    for key, value in values.items():
        if key.endswith("_target"):
            continue
        text = "" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)
        target = values.get(f"{key}_target")
        if target is not None and value is not None:
            met = value <= target if key in COSTS else value >= target
            text += f" ({'≤' if key in COSTS else '≥'} {target:g}: {'met' if met else 'missed'})"
        shown[key.replace("_", " ")] = text
    return shown


if __name__ == "__main__":
    main()
