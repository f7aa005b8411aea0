"""What a machine with a GPU is asked, in ten minutes at most: parity, a whole small run, and speed. Writes one JSON.

    python -m tests.gpu.check --output bench/results/gpu.json
    python -m tests.gpu.check --output /tmp/dry.json --quick     # on a CPU too: does the script itself work?

Not a test that is collected: it is called on a machine that may be lent for minutes. Every part is written as soon as
it is done, and one that fails is recorded and ends no other.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from bench.blockwise_costs import blockwise_costs
from bench.environment import environment
from bench.marian import missing_peers
from bench.peers import peers
from bench.random_models import DEVICE, random_model, sentences
from bench.training_speed import training_speed
from bpd.atomic import write_json
from bpd.decoding.blockwise import blockwise
from bpd.decoding.greedy import greedy

ROOT = Path(__file__).resolve().parents[2]
SENTENCES, TOKENS, BLOCK_SIZE = 64, 48, 4


def parity(quick: bool) -> dict[str, Any]:
    """Compare blockwise with greedy decoding of one model, sentence by sentence and in a batch, by precision."""
    size = "mini" if quick else "base"
    rows = sentences(size, 4 if quick else SENTENCES)
    model = varied(random_model(size, BLOCK_SIZE))
    limits = [TOKENS] * len(rows)
    made = {}
    for precision, kind in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
        with torch.autocast(DEVICE.type, dtype=torch.bfloat16, enabled=kind == torch.bfloat16):
            expected = [one.token_ids for one in greedy(model, rows, limits)]
            batch = [one.token_ids for one in blockwise(model, rows, limits)]
            alone = [blockwise(model, [row], [TOKENS])[0].token_ids for row in rows[: len(rows) // 4]]
        made[precision] = {
            "sentences": len(rows),
            "distinct_tokens": len({token for output in expected for token in output}),
            "differ_in_batch": sum(one != other for one, other in zip(batch, expected)),
            "alone": len(alone),
            "differ_alone": sum(one != other for one, other in zip(alone, expected)),
        }
    return made


def varied(model: Any) -> Any:
    """Draw a model's weights wider, so that its outputs are not one token over and over."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(2.0)
    return model


def small_run(quick: bool) -> dict[str, Any]:
    """Run the smoke scale, or only its data, teacher and base, and return its seconds and Table 1."""
    targets = ["train_base"] if quick else []
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        command = [sys.executable, "-m", "snakemake", "--snakefile", ROOT / "workflow" / "Snakefile", "--cores", "all"]
        variables = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        variables["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), variables["PATH"]])
        ran = subprocess.run(
            [*map(str, command), *targets], cwd=folder, env=variables, capture_output=True, text=True, timeout=420
        )
        if ran.returncode != 0:
            raise RuntimeError(ran.stderr[-3000:])
        table = Path(folder) / "results" / "smoke" / "tables" / "table1.md"
        return {
            "seconds": time.perf_counter() - began,
            "table1": table.read_text(encoding="utf-8") if table.exists() else None,
        }


PARTS: dict[str, Callable[[bool], Any]] = {
    "parity": parity,
    "blockwise_costs": blockwise_costs,
    "training_speed": training_speed,
    "peers": peers,
    "small_run": small_run,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds: a minute or two on a CPU")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    words = parser.parse_args()
    if not torch.cuda.is_available() and not words.quick:
        parser.error("no GPU is seen here; --quick tries out the script on a CPU")
    made: dict[str, Any] = {"environment": environment(), "quick": words.quick, "parts": {}}
    for name in words.only:
        began = time.perf_counter()
        if name == "peers" and (missing := missing_peers()):
            made["parts"][name] = {"left_out": missing}
            continue
        try:
            found = PARTS[name](words.quick)
        except Exception:
            found = {"failed": traceback.format_exc()}
        made["parts"][name] = found
        write_json(words.output, made)
        state = "failed" if isinstance(found, dict) and "failed" in found else "done"
        print(f"{name}: {state} in {time.perf_counter() - began:.0f} s", flush=True)
    if any(isinstance(part, dict) and "failed" in part for part in made["parts"].values()):
        sys.exit(f"parts failed; see {words.output}")


if __name__ == "__main__":
    main()
