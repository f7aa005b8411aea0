"""Versions of the code behind each stage of the workflow: an edited module re-runs the stages that it can change.

A version is a hash of the source of a stage's modules, taken from their syntax trees without docstrings: a comment,
a line break or another clone's file times change nothing.
"""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent

# The modules from which each stage's imports are followed. Training does not name the evaluation that watches it.
ROOTS: dict[str, tuple[str, ...]] = {
    "prepare": ("bpd.data.prepare",),
    "train": ("bpd.training.loop", "bpd.models.translation_model", "bpd.data.batches"),
    "distill": ("bpd.commands.distill",),
    "decode": ("bpd.commands.decode",),
    "trace": ("bpd.commands.trace",),
    "time": ("bpd.commands.time",),
    "score": ("bpd.evaluation.score",),
    "report": ("bpd.commands.report",),
    "prepare_images": ("bpd.data.prepare_images",),
    "train_images": ("bpd.training.loop", "bpd.models.image_model", "bpd.data.image_batches"),
    "decode_images": ("bpd.commands.decode_images",),
    "score_images": ("bpd.evaluation.image_score",),
    "survey": ("bpd.commands.survey",),
    "report_images": ("bpd.commands.image_report", "bpd.report.table3"),
    "report_speed": ("bpd.commands.speed_report",),
    "scorecard": ("bpd.commands.scorecard",),
    "cost": ("bpd.commands.cost",),
    "results_page": ("bpd.commands.results_page",),
}

# What these do reaches a stage through its settings, or changes no result: how files are written, errors worded, and
# the configuration validated, foreign JSON refused.
NEUTRAL = frozenset(
    f"bpd.{name}"
    for name in (
        "allocator",
        "atomic",
        "device",
        "errors",
        "fingerprints",
        "grid",
        "image_grid",
        "launch",
        "provenance",
        "stages",
        "stored_json",
    )
)

# What modules read from files beside them.
DATA_FILES = {
    "bpd.report.published": "report/published.yaml",
    "bpd.report.survey_page": "report/survey_page.html",
    "bpd.planning.rates": "planning/assumed_rates.yaml",
}

_DECODERS = frozenset({"bpd.models.cache", "bpd.models.transformer_decoder", "bpd.models.recomputing_decoder"})
_IMAGE_DECODERS = frozenset({"bpd.models.local_cache", "bpd.models.image_decoder", "bpd.models.recomputing_decoder"})

# What a stage imports without its results depending on it: training decodes only to watch itself, and a folder of
# either kind of model is read by the same module.
WITHOUT = {
    "train": _DECODERS,
    "distill": frozenset({"bpd.models.image_model"}),
    "decode": frozenset({"bpd.models.image_model"}),
    "trace": frozenset({"bpd.models.image_model"}),
    "train_images": _IMAGE_DECODERS,
    "decode_images": frozenset({"bpd.models.translation_model"}),
}


@cache
def stage_version(stage: str) -> str:
    """Return the version, 16 hexadecimal digits, of the code behind `stage`."""
    digest = hashlib.sha256()
    for module in sorted(stage_modules(stage)):
        digest.update(f"{module}\n{normalised_source(_path(module))}\n".encode())
        if module in DATA_FILES:
            digest.update((PACKAGE / DATA_FILES[module]).read_bytes())
    return digest.hexdigest()[:16]


def stage_modules(stage: str) -> set[str]:
    """Return the names of the package's modules that `stage` imports, directly or not."""
    return modules_behind(*ROOTS[stage], without=WITHOUT.get(stage, frozenset()))


def modules_behind(*roots: str, without: frozenset[str] = frozenset()) -> set[str]:
    """Return the names of `roots` and of the modules that they import, directly or not, none by way of `without`."""
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        module = waiting.pop()
        if module not in found | without | NEUTRAL and not module.startswith("bpd.config"):
            found.add(module)
            waiting += imported_modules(_path(module))
    return found


def imported_modules(path: Path) -> set[str]:
    """Return the package's modules that the file at `path` imports, at its top or within functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.startswith("bpd.") and _path(name).exists()}


def normalised_source(path: Path) -> str:
    """Return the syntax tree of the file at `path`, without docstrings, as text."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)


def _path(module: str) -> Path:
    base = PACKAGE.joinpath(*module.split(".")[1:])
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
