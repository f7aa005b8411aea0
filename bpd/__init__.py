"""Blockwise Parallel Decoding for Deep Autoregressive Models (Stern, Shazeer and Uszkoreit, 2018), replicated.

`bpd.load(model_folder)` gives a trained model with `greedy`, `beam` and `blockwise` decoding.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpd.trained_model import TrainedModel

__version__ = "0.1.0"


def load(model_folder: str | Path, device: str | None = None) -> TrainedModel:
    """Return the trained model in `model_folder`, on `device` or on the best one that there is.

    Raises `bpd.errors.BpdError` where the folder holds no finished model, or a damaged one.
    """
    from bpd.trained_model import TrainedModel

    return TrainedModel(model_folder, device)
