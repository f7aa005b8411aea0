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
    "train": ("bpd.training.loop", "bpd.models.model_folder"),
    "distill": ("bpd.commands.distill",),
    "decode": ("bpd.commands.decode",),
    "trace": ("bpd.commands.trace",),
    "score": ("bpd.evaluation.score",),
    "report": ("bpd.commands.report",),
}

# What these do reaches a stage through its settings, or changes no result: how files are written, errors worded, and
# the configuration validated.
NEUTRAL = frozenset(
    f"bpd.{name}"
    for name in ("allocator", "atomic", "config", "device", "errors", "fingerprints", "grid", "provenance", "stages")
)

# What a stage imports without its results depending on it: training decodes only to watch itself.
WITHOUT = {"train": frozenset({"bpd.models.cache", "bpd.models.transformer_decoder"})}


@cache
def stage_version(stage: str) -> str:
    """Return the version, 16 hexadecimal digits, of the code behind `stage`."""
    digest = hashlib.sha256()
    for module in sorted(stage_modules(stage)):
        digest.update(f"{module}\n{normalised_source(_path(module))}\n".encode())
    return digest.hexdigest()[:16]


def stage_modules(stage: str) -> set[str]:
    """Return the names of the package's modules that `stage` imports, directly or not."""
    found: set[str] = set()
    waiting = list(ROOTS[stage])
    while waiting:
        module = waiting.pop()
        if module not in found | NEUTRAL | WITHOUT.get(stage, frozenset()):
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
