"""Checkpoints of a running training: complete, atomic, and refused unless they belong to this very run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch

from bpd.atomic import atomic_path
from bpd.errors import BpdError

_NAME = re.compile(r"^checkpoint-(\d{8})\.pt$")
_PARTS = ("identity", "step", "model", "optimizer", "position")
_ADVICE = "delete it to resume from the checkpoint before it, or delete its folder to start afresh"


def _path(folder: Path, step: int) -> Path:
    return folder / f"checkpoint-{step:08d}.pt"


def _checkpoints(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("checkpoint-*.pt") if _NAME.match(path.name))


def save_checkpoint(folder: Path, state: dict[str, Any], keep: int = 2) -> Path:
    """Write `state` as the checkpoint of its step and drop all but the `keep` newest.

    Raises `BpdError` where it cannot be written; those before it are kept.
    """
    path = _path(folder, state["step"])
    try:
        with atomic_path(path) as temporary:
            torch.save(state, temporary)
    except (OSError, RuntimeError) as error:
        # PyTorch calls a full disk an error of its own.
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BpdError(
            f"{path}: the checkpoint cannot be written ({reason}). Is the disk full, or a quota reached? "
            "The checkpoint before it is kept, and the same command goes on from there."
        ) from None
    for old in _checkpoints(folder)[:-keep]:
        old.unlink()
    return path


def load_checkpoint(folder: Path, identity: str, device: torch.device) -> dict[str, Any] | None:
    """Return the newest checkpoint in `folder`, or none where there is none.

    Raises `BpdError` where it is damaged, incomplete, or of a run with another configuration or other inputs.
    """
    found = _checkpoints(folder)
    if not found:
        return None
    path = found[-1]
    try:
        state = torch.load(path, map_location=device, weights_only=True)
    except Exception as error:
        # PyTorch's reader fails at foreign bytes with exceptions of any kind; it runs no code of theirs.
        reason = str(error).splitlines()[0][:200] if str(error).strip() else type(error).__name__
        raise BpdError(f"{path}: the checkpoint is damaged ({reason}); {_ADVICE}") from None
    missing = [part for part in _PARTS if not isinstance(state, dict) or part not in state]
    if missing:
        raise BpdError(f"{path}: the checkpoint lacks {', '.join(missing)}; {_ADVICE}")
    if state["identity"] != identity:
        raise BpdError(f"{path}: the checkpoint belongs to a training with other settings or inputs; {_ADVICE}")
    return state


def unfit_checkpoint(folder: Path, step: int, reason: str) -> BpdError:
    """Return the error that the checkpoint of `step` is whole, but does not hold all that the training needs of it."""
    return BpdError(f"{_path(folder, step)}: the checkpoint does not fit this training ({reason}); {_ADVICE}")
