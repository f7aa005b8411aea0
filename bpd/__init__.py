"""Blockwise Parallel Decoding for Deep Autoregressive Models (Stern, Shazeer and Uszkoreit, 2018), replicated.

`bpd.load(model_folder)` gives a trained model with `greedy` and `blockwise` decoding, and `beam` for translation.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpd.trained_image_model import TrainedImageModel
    from bpd.trained_model import TrainedModel

__version__ = "0.1.0"


def load(model_folder: str | Path, device: str | None = None) -> TrainedModel | TrainedImageModel:
    """Return the trained model in `model_folder`, on `device` or on the best one that there is.

    Raises `bpd.errors.BpdError` where the folder holds no finished model, or a damaged one.
    """
    from bpd.models.model_folder import read_settings

    if read_settings(Path(model_folder))[0].task == "super_resolution":
        from bpd.trained_image_model import TrainedImageModel

        return TrainedImageModel(model_folder, device)

    from bpd.trained_model import TrainedModel

    return TrainedModel(model_folder, device)
