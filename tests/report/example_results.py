"""Scores, journals and a trace of a made-up grid, and the report that is drawn from them."""

import json
import os
from pathlib import Path

from bpd.config import ReportSettings
from bpd.report.published import approximate_cell, published, table1_cell
from tests.report.example_timings import write_heads, write_timings

SETTINGS = ("regular", "distillation", "fine_tuning", "both")
CRITERIA = ("top2", "top3", "minimum2", "minimum3")
APPROXIMATE = {2: ("top2", "top3", "minimum2")}
SETS = {"dev": "newstest2013", "test": "newstest2014"}
SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"


def score_values(model: str, criterion: str = "exact", role: str = "dev", **changes) -> dict:
    """Return the values of one score file, with some of them changed."""
    block_size = int(model.rpartition("_k")[2]) if "_k" in model else 1
    values = {
        "model": model,
        "set": SETS[role],
        "role": role,
        "criterion": criterion,
        "block_size": block_size,
        "bleu": 25.0,
        "signature": SIGNATURE,
        "brevity_penalty": 0.98,
        "bleu_intl": 25.5,
        "signature_intl": SIGNATURE.replace("13a", "intl"),
        "bleu_compound_split": 26.0,
        "mean_accepted_block_size": min(1.5, block_size),
        "accepted_tokens": 300,
        "iterations": 200,
        "calls": 210,
        "block_size_counts": {str(size): 200 // block_size for size in range(1, block_size + 1)},
        "sentences": 10,
        "cut_at_length_limit": 0,
        "sentences_unlike_greedy": 0,
        "decoding": {
            "checkpoint_sha256": "c" * 64,
            "config_sha256": "f" * 64,
            "vocabulary_sha256": "e" * 64,
            "seed": 3,
            "commit": "0123456789abcdef",
            "dirty": False,
            "device": "cpu",
            "precision": "fp32",
        },
    }
    return values | changes


def score_path(folder: Path, model: str, criterion: str = "exact", role: str = "dev") -> Path:
    """Return where a score belongs in a results folder."""
    return folder / "translation" / model / "decode" / SETS[role] / f"{criterion}.score.json"


def write_score(folder: Path, model: str, criterion: str = "exact", role: str = "dev", **changes) -> Path:
    """Write one score file into a results folder and return its path."""
    path = score_path(folder, model, criterion, role)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(score_values(model, criterion, role, **changes)), encoding="utf-8")
    return path


def write_journal(path: Path, losses: list[float], bleus: dict[int, float]) -> Path:
    """Write a training journal: a loss every ten steps, and BLEU by step."""
    records = [{"event": "step", "step": 10 * n, "loss": loss} for n, loss in enumerate(losses, start=1)]
    records += [{"event": "evaluation", "step": step, "dev_bleu": bleu} for step, bleu in bleus.items()]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


TRACE = {
    "model": "both_k10",
    "block_size": 10,
    "criterion": "exact",
    "source": "The 5$ man | sells 3$ ice_cream by 2018 at the earliest.",
    "reference": "Der Mann verkauft frühestens 2018 Eis.",
    "translation": "Der 5$-Mann verkauft frühestens 2018 Eis.",
    "steps": [
        {"proposed": ["▁Der", "▁5", "$", "-", "Mann", "▁Eis"], "accepted": ["▁Der", "▁5", "$", "-", "Mann"]},
        {"proposed": ["▁verkauf", "en", "|"], "accepted": ["▁verkauf"]},
        {"proposed": ["t", "▁frühesten", "s", "▁2018", "▁Eis", ".", "</s>"], "accepted": ["t", "▁frühesten", "s"]},
        {"proposed": ["▁2018", "▁Eis", ".", "</s>"], "accepted": ["▁2018", "▁Eis", ".", "</s>"]},
    ],
}


def write_trace(folder: Path, trace: object = TRACE) -> Path:
    """Write a trace into a results folder and return its path."""
    path = folder / "translation" / "trace.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(trace), encoding="utf-8")
    return path


def models_of(block_sizes: tuple[int, ...], settings: tuple[str, ...] = SETTINGS) -> list[str]:
    """Return the head models of a grid: with k = 1, over a frozen base only."""
    return [
        f"{setting}_k{size}"
        for size in block_sizes
        for setting in settings
        if size > 1 or setting in ("regular", "distillation")
    ]


def write_results(folder: Path, block_sizes: tuple[int, ...], scale: str = "smoke") -> ReportSettings:
    """Write the results of a whole grid, near the published numbers, and return the report's settings."""
    models = models_of(block_sizes)
    criteria = {"base": {"dev": ("exact", "beam4"), "test": ("exact",)}}
    for criterion in criteria["base"]["dev"]:
        write_score(folder, "base", criterion, bleu=25.2, mean_accepted_block_size=1.0)
    write_score(folder, "base", role="test", bleu=26.2, mean_accepted_block_size=1.0)
    for model in models:
        setting, _, size = model.rpartition("_k")
        own = ("exact", *(APPROXIMATE.get(int(size), CRITERIA) if setting == "both" else ()))
        criteria[model] = {"dev": own, "test": ("exact",)}
        write_score(folder, model, role="test")
        for criterion in own:
            bleu, block = (
                table1_cell(int(size), setting)
                if criterion == "exact"
                else approximate_cell(int(size), criterion) or (20.0, min(1.1 + 0.5 * int(size), float(size)))
            )
            counts = {str(n): round(1000 * (1 - 0.8 / block) ** n) + 1 for n in range(1, int(size) + 1)}
            write_score(
                folder, model, criterion, bleu=bleu - 0.41, mean_accepted_block_size=block, block_size_counts=counts
            )
    trained = ("base", "teacher", *sorted(models, key=lambda model: SETTINGS.index(model.rpartition("_k")[0])))
    for place, model in enumerate(trained):
        losses = [2 + 4 / (n + 1) + 0.05 * place + 0.02 * (n * 7 % 5) for n in range(40)]
        bleus = {100 * n: 26 - 10 / n - 0.1 * place for n in range(1, 5)}
        write_journal(folder / "translation" / model / "training.jsonl", losses, bleus)
    write_trace(folder)
    for model in models:
        size = int(model.rpartition("_k")[2])
        if size > 1:
            write_heads(folder / "translation" / model / "decode" / SETS["dev"], size)
        if model.startswith("both"):
            block, fast = table1_cell(size, "both")[1], published()["table4"]["ours"][size][1]
            speedups = {"recompute": fast, "cached": 0.8 * fast}
            write_timings(folder, "translation", model, SETS["test"], "exact", block=block, speedups=speedups)
    return ReportSettings(
        scale=scale,
        block_sizes=block_sizes,
        settings=SETTINGS,
        approximate_criteria=CRITERIA,
        trained_models=trained,
        set_names=SETS,
        criteria=criteria,
        timed_models=tuple(model for model in models if model.startswith("both")),
        seeds=(1,),
    )


def environment_without_display() -> dict[str, str]:
    """Return this process's environment with no display, but a backend that would want one."""
    kept = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    return kept | {"MPLBACKEND": "TkAgg"}
