"""A batch of training examples, and the place of one in an endless stream."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class BatchPosition:
    """The place of the next batch in the stream: `epoch`, and `index` within it, both counted from 0."""

    epoch: int = 0
    index: int = 0


@dataclass(frozen=True)
class Batch:
    """Examples: `source` int64 [rows, s], `target` int64 [rows, t], and which ones they are, `indices` int64 [rows].

    Sentences end with the end id, then padding; images are their intensities.
    """

    source: np.ndarray
    target: np.ndarray
    indices: np.ndarray
