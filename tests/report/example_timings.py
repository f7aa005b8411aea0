"""Timings and accuracies of heads of made-up models, with speedups that are known beforehand."""

import json
from pathlib import Path

from tests.evaluation.example_records import bind

PARTS = {"encode": 0.1, "model_call": 1.0, "cache": 0.2, "verify": 0.3, "predict": 0.4, "host": 0.5}


def write_timings(
    results: Path,
    task: str,
    model: str,
    set_name: str,
    criterion: str,
    *,
    block: float = 2.0,
    speedups: dict[str, float] | None = None,
    sizes: tuple[int, ...] = (1, 4),
) -> Path:
    """Write timings of two inputs, or two full batches, in three repeats, 10 % slower and faster than the speedup."""
    speedups = speedups or {"recompute": 1.5, "cached": 1.2}
    plans = [(protocol, 1, 2, value) for protocol, value in speedups.items()]
    most = 2 * max(sizes)
    plans += [("batches", size, most // size, speedups["cached"] / size**0.5) for size in sizes]
    lines = []
    for protocol, rows, batches, value in plans:
        for repeat, factor in enumerate((0.9, 1.0, 1.1)):
            for batch in range(batches):
                tokens = 1200 * rows
                greedy = {"arm": "greedy", "iterations": tokens, "calls": tokens, "seconds": 0.99 * factor}
                blockwise = {
                    "arm": "blockwise",
                    "iterations": round(tokens / block),
                    "calls": round(tokens / block) + 1,
                    "seconds": 0.99 / value,
                }
                about = {"protocol": protocol, "batch_rows": rows, "repeat": repeat, "batch": batch, "tokens": tokens}
                lines += [about | greedy, about | blockwise]
    path = results / task / model / "time" / set_name / f"{criterion}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    timed = {"inputs": 2, "tokens": None}
    batches = {"inputs": most, "tokens": None, "sizes": list(sizes)}
    meta = {
        "task": task,
        "model": model,
        "set": set_name,
        "criterion": criterion,
        "block_size": int(model.rpartition("_k")[2]),
        "timing": {"repeats": 3, "recompute": timed, "cached": timed, "batches": batches},
        "shares": {"seconds": PARTS, "iterations": 100, "calls": 110, "inputs": 2},
        "checkpoint_sha256": "c" * 64,
        "base_checkpoint_sha256": "c" * 64,
        "commit": "0123456789abcdef",
        "device": "cpu: Testing",
        "threads": 1,
        "precision": "fp32",
        "versions": {"torch": "2.0"},
    }
    path.with_suffix(".meta.json").write_text(json.dumps(meta), encoding="utf-8")
    return bind(path)


def write_heads(folder: Path, block_size: int) -> Path:
    """Write accuracies of heads, each right half as often as the one before, beside the records in `folder`."""
    right = [1000 >> place for place in range(block_size)]
    runs = [0, *(right[place] - (right[place + 1] if place + 1 < block_size else 0) for place in range(block_size))]
    measured = {"right": right, "total": [1000] * block_size, "runs": runs}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "heads.json"
    path.write_text(json.dumps({"block_size": block_size, "own_output": measured, "reference": measured}))
    return path
