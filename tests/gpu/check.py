"""One look at a machine with a card, in ten minutes at most: parity, training, decoding, and the benchmark's GPU part.

    PYTHONPATH=. python tests/gpu/check.py --output gpu_check.json

writes one JSON file, after each step anew, so that a run cut short leaves what it has. The status is 0 where every
check passed. `--device cpu --quick` is the dry run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from bench.environment import environment
from bench.models import Dimensions, dimensions, image_config, image_model, sentences, translation_model
from bpd import grid
from bpd.atomic import write_json
from bpd.commands.train import train
from bpd.config import Config, TrainSettings, load_config
from bpd.data.parallel_text import ParallelText
from bpd.data.prepare import prepare_text
from bpd.decoding.blockwise import blockwise
from bpd.decoding.greedy import greedy
from bpd.decoding.results import Decoded
from bpd.device import prepare_device
from bpd.evaluation.timing import WithoutEnd
from bpd.models.translation_model import TranslationModel
from bpd.trained_model import TrainedModel

ROOT = Path(__file__).resolve().parents[2]
BLOCK_SIZES = (1, 4, 8)
# Logits that near change places when a block has another shape than a single token.
TIE = 1e-4
MINUTES = 10.0
BENCHMARKS = ("iteration_cost", "greedy_peers", "training_peers", "scaling")


class Check:
    """The steps of one run, and the file that they are written to."""

    def __init__(self, device: torch.device, output: Path, quick: bool) -> None:
        self.device = device
        self.output = output
        self.quick = quick
        self.started = time.perf_counter()
        self.report: dict[str, Any] = {
            "schema": 1,
            "quick": quick,
            "environment": environment(device),
            "bf16": self.half_precision,
            "steps": {},
        }

    @property
    def half_precision(self) -> bool:
        """Whether bf16 is computed in: everywhere but on a card that lacks it."""
        return self.device.type != "cuda" or torch.cuda.is_bf16_supported()

    @property
    def seconds_left(self) -> float:
        """What is left of the ten minutes."""
        return MINUTES * 60 - (time.perf_counter() - self.started)

    @property
    def passed(self) -> bool:
        """Whether every step passed."""
        return all(step["passed"] for step in self.report["steps"].values())

    def take(self, name: str, step: Callable[[], dict[str, Any]]) -> None:
        """Take one step, which says whether it passed, and note what it returned or how it failed."""
        print(f"{name} …", flush=True)
        start = time.perf_counter()
        try:
            found = step()
        except Exception as error:  # A fault is what is looked for: it is noted, and the next step is taken.
            found = {"passed": False, "failure": f"{type(error).__name__}: {error}"}
        found["seconds"] = round(time.perf_counter() - start, 1)
        self.report["steps"][name] = found
        self.report["passed"] = self.passed
        write_json(self.output, self.report)
        print(
            f"{name}: {'passed' if found['passed'] else 'FAILED'} {json.dumps(found, ensure_ascii=False)}", flush=True
        )


def parity(check: Check) -> dict[str, Any]:
    """Compare exact blockwise with greedy decoding of random models: fp32 must agree but for ties, bf16 is counted."""
    shapes = [dimensions("mini")] if check.quick else [dimensions("mini"), dimensions("small")]
    rows, tokens = (4, 16) if check.quick else (32, 64)
    results = []
    for shape in shapes:
        source, limits = sentences(rows, 20, shape.vocabulary_size), [tokens] * rows
        for block_size in BLOCK_SIZES:
            model = varied(shape, block_size, check.device)
            endless = WithoutEnd(model)
            plain = greedy(endless, source, limits)
            blocks = blockwise(endless, source, limits)
            again = greedy(endless, source, limits, cached=False)
            result = {
                "model": shape.name,
                "block_size": block_size,
                "sentences": rows,
                "differing": differing(plain, blocks),
                "differing_but_for_ties": beyond_ties(model, source, plain, blocks),
                "recomputed_differing_but_for_ties": beyond_ties(model, source, plain, again),
            }
            if check.half_precision:
                with torch.autocast(check.device.type, dtype=torch.bfloat16):
                    half_plain = greedy(endless, source, limits)
                    half_blocks = blockwise(endless, source, limits)
                result["bf16_differing"] = differing(half_plain, half_blocks)
                result["bf16_mismatch_rate"] = result["bf16_differing"] / rows
            results.append(result)
    faults = sum(one["differing_but_for_ties"] + one["recomputed_differing_but_for_ties"] for one in results)
    return {"passed": faults == 0, "results": results}


def image_parity(check: Check) -> dict[str, Any]:
    """Compare exact blockwise with greedy decoding of a random image model."""
    tokens = 48 if check.quick else 768
    model = image_model(image_config("mini"), 16, 4, check.device)
    source = [[(7 * place + row) % 256 for place in range(192)] for row in range(4)]
    plain, blocks = (decode(model, source, [tokens] * 4) for decode in (greedy, blockwise))
    count = differing(plain, blocks)
    # One tie among thousands of tokens is no fault; were the cache wrong, all four would differ.
    return {"passed": count <= 1, "images": 4, "tokens": tokens, "differing": count}


def train_and_decode(check: Check, work: Path) -> dict[str, Any]:
    """Train a base and heads on generated text, in fp32 and in bf16, and decode the dev set with each."""
    config = load_config(ROOT / "config" / "smoke.yaml")
    data = work / "data"
    prepare_text(grid.prepare_settings(config.translation), data)
    dev = ParallelText.read(data / "dev.en", data / "dev.de").source[: 10 if check.quick else None]
    results = []
    for precision in ("fp32", "bf16"):
        base = settings_of(config, "base", precision, check.quick)
        heads = settings_of(config, "fine_tuning_k4", precision, check.quick)
        folders = {name: work / precision / name for name in ("base", "heads")}
        train(base, data, folders["base"], work / "work", None, None)
        train(heads, data, folders["heads"], work / "work", folders["base"], None)
        results.append({"precision": precision} | decoded_set(check, folders["heads"], list(dev)))
        for name, folder in folders.items():
            losses = journal_losses(folder)
            results[-1][f"{name}_losses"] = [losses[0], losses[-1]]
    learned = all(one["base_losses"][1] < one["base_losses"][0] for one in results)
    exact = all(one["differing_but_for_ties"] == 0 for one in results)
    return {"passed": learned and exact, "results": results}


def decoded_set(check: Check, folder: Path, dev: list[str]) -> dict[str, Any]:
    """Decode sentences with a trained model, greedily and blockwise, in fp32 and bf16."""
    model = TrainedModel(folder, str(check.device))
    source = [[*ids, model.model.end_id] for ids in model.vocabulary.encode_lines(dev)]
    limits = [len(row) + 50 for row in source]
    plain, blocks = (decode(model.model, source, limits) for decode in (greedy, blockwise))
    result = {
        "sentences": len(dev),
        "differing": differing(plain, blocks),
        "differing_but_for_ties": beyond_ties(model.model, source, plain, blocks),
        "mean_accepted_block_size": block_size_of(blocks),
    }
    if check.half_precision:
        with torch.autocast(check.device.type, dtype=torch.bfloat16):
            half_plain, half_blocks = (decode(model.model, source, limits) for decode in (greedy, blockwise))
        result["bf16_mismatch_rate"] = differing(half_plain, half_blocks) / len(dev)
        result["bf16_mean_accepted_block_size"] = block_size_of(half_blocks)
    return result


def benchmark(check: Check) -> dict[str, Any]:
    """Run the parts of the benchmark suite that a card changes, in a process of its own, within the time left."""
    output = check.output.with_suffix(".bench.json")
    words = [word for part in BENCHMARKS[: 1 if check.quick else None] for word in ("--only", part)]
    command = [sys.executable, "-m", "bench", "--device", str(check.device), "--output", str(output), *words]
    output.unlink(missing_ok=True)
    patience = max(check.seconds_left - 10, 20)
    ended, said = False, ""
    try:
        result = subprocess.run(
            command + ["--quick"] * check.quick,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
            timeout=patience,
            cwd=ROOT,
        )
        ended = result.returncode == 0
        said = f"status {result.returncode}"
    except subprocess.TimeoutExpired:
        said = f"stopped after {patience:.0f} s"
    parts = json.loads(output.read_text(encoding="utf-8"))["parts"] if output.is_file() else {}
    output.unlink(missing_ok=True)
    # A suite that ran out of time has measured less, and found no fault.
    failures = [part["failure"] for part in parts.values() if part["failure"]]
    return {"passed": bool(parts) and not failures, "complete": ended, "ended": said, "parts": parts}


def varied(shape: Dimensions, block_size: int, device: torch.device) -> TranslationModel:
    """Return a random model whose outputs vary: weights are drawn wide."""
    model = translation_model(shape, block_size, device)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.6)
    return model


def settings_of(config: Config, model: str, precision: str, quick: bool) -> TrainSettings:
    """Return what trains one model of a config in this precision; a quick one takes 30 steps."""
    settings = grid.train_settings(config.translation, model)
    steps = 30 if quick else settings.training.steps
    schedule = settings.training.schedule.model_copy(update={"warmup_steps": min(steps // 5, 40)})
    changes = {"steps": steps, "precision": precision, "schedule": schedule}
    return settings.model_copy(update={"training": settings.training.model_copy(update=changes)})


def journal_losses(folder: Path) -> list[float]:
    """Return the losses that a training recorded, step by step."""
    lines = [json.loads(line) for line in (folder / "training.jsonl").read_text(encoding="utf-8").splitlines()]
    return [line["loss"] for line in lines if line.get("event") == "step"]


def differing(one: list[Decoded], other: list[Decoded]) -> int:
    """Return how many outputs differ."""
    return sum(first.token_ids != second.token_ids for first, second in zip(one, other, strict=True))


def block_size_of(decoded: list[Decoded]) -> float:
    """Return the mean accepted block size: accepted tokens ÷ iterations, over all outputs."""
    return round(sum(len(one.token_ids) for one in decoded) / sum(one.iterations for one in decoded), 3)


@torch.inference_mode()
def beyond_ties(model: TranslationModel, source: list[list[int]], one: list[Decoded], other: list[Decoded]) -> int:
    """Return how many outputs differ first at a token where p₁ has no tie between the two choices."""
    count = 0
    for row, first, second in zip(source, one, other, strict=True):
        if first.token_ids == second.token_ids:
            continue
        pairs = zip(first.token_ids, second.token_ids)
        place = next((place for place, (left, right) in enumerate(pairs) if left != right), None)
        if place is None:
            count += 1
            continue
        choices = [first.token_ids[place], second.token_ids[place]]
        decoder = model.start([row], cached=False)
        prefix = torch.tensor([[model.begin_id, *first.token_ids[:place]]], device=model.device)
        logits = decoder.advance(prefix).scoring()[0, -1]
        left, right = logits[choices].tolist()
        count += abs(left - right) > TIE * max(1.0, abs(left))
    return count


def main(words: list[str] | None = None) -> int:
    """Take all steps and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", help="cuda, or cpu for a dry run")
    parser.add_argument("--quick", action="store_true", help="small sizes: whether the script works")
    parser.add_argument("--output", type=Path, default=Path("gpu_check.json"), help="the JSON file to write")
    parser.add_argument("--without-benchmark", action="store_true", help="leave the benchmark out")
    options = parser.parse_args(words)
    os.environ["BPD_DEVICE"] = options.device
    check = Check(prepare_device(options.device), options.output.resolve(), options.quick)
    with tempfile.TemporaryDirectory(prefix="bpd-gpu-") as place:
        check.take("parity", lambda: parity(check))
        check.take("image_parity", lambda: image_parity(check))
        check.take("train_and_decode", lambda: train_and_decode(check, Path(place)))
    if not options.without_benchmark:
        check.take("benchmark", lambda: benchmark(check))
    print(f"{'passed' if check.passed else 'FAILED'}: {check.output}")
    return 0 if check.passed else 1


if __name__ == "__main__":
    sys.exit(main())
