"""Scores during the training of an image model: bits per intensity, and some dev images decoded."""

from __future__ import annotations

import numpy as np
import torch

from bpd.commands.prepared_images import input_tokens
from bpd.data.image_set import ImageSet
from bpd.data.raster import to_image, to_tokens
from bpd.decoding.blockwise import blockwise
from bpd.decoding.greedy import greedy
from bpd.evaluation.image_quality import nearest, psnr
from bpd.models.image_model import ImageModel
from bpd.models.likelihood import bits_per_dimension
from bpd.training.loop import Evaluation

_ROWS, _BORDER = 8, 2


class ImageEvaluation:
    """Evaluate a model on the first images of the dev set."""

    def __init__(self, images: ImageSet, count: int) -> None:
        self._inputs = np.asarray(images.inputs[:count])
        self._targets = np.asarray(images.targets[:count])
        self._rows = input_tokens(images, count)

    def __call__(self, model: ImageModel) -> Evaluation:
        """Return dev bits per intensity, PSNR, the mean accepted block size where there are heads, and a picture.

        The picture's rows are dev images; its columns the input, the output and the target.
        """
        targets = to_tokens(self._targets)
        limits = [targets.shape[1]] * len(self._rows)
        results = (greedy if model.block_size == 1 else blockwise)(model, self._rows, limits)
        outputs = [to_image(result.token_ids, self._targets.shape[1]) for result in results]
        scores = {
            "dev_bits_per_dimension": float(np.mean(dev_bits(model, to_tokens(self._inputs), targets))),
            "dev_psnr": float(np.mean([psnr(*pair) for pair in zip(outputs, self._targets)])),
        }
        if model.block_size > 1:
            accepted = sum(len(result.token_ids) for result in results)
            scores["dev_mean_accepted_block_size"] = accepted / sum(result.iterations for result in results)
        return Evaluation(scores, picture=self._picture(outputs))

    def _picture(self, outputs: list[np.ndarray]) -> np.ndarray:
        size = self._targets.shape[1]
        rows = [
            np.concatenate([_framed(nearest(small, size)), _framed(output), _framed(large)], axis=1)
            for small, output, large in zip(self._inputs[:_ROWS], outputs, self._targets)
        ]
        return np.concatenate(rows).repeat(2, axis=0).repeat(2, axis=1)


def dev_bits(model: ImageModel, sources: np.ndarray, targets: np.ndarray, batch_rows: int = 8) -> np.ndarray:
    """Return bits per intensity [images] of `targets` [images, output] given `sources` [images, input]."""
    parts = [
        bits_per_dimension(
            model,
            torch.from_numpy(sources[first : first + batch_rows]).to(model.device),
            torch.from_numpy(targets[first : first + batch_rows]).to(model.device),
        )
        for first in range(0, len(targets), batch_rows)
    ]
    return torch.cat(parts).cpu().numpy()


def _framed(image: np.ndarray) -> np.ndarray:
    return np.pad(image, ((_BORDER, _BORDER), (_BORDER, _BORDER), (0, 0)), constant_values=255)
