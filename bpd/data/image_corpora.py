"""Image corpora: where the photographs of each `super_resolution.data.source` come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bpd.config import ImageDataConfig
from bpd.data.celeba import CelebA
from bpd.data.drawn_faces import draw_faces
from bpd.data.lfw import LabelledFaces

Picture = tuple[str, np.ndarray]


@dataclass(frozen=True)
class Pictures:
    """Named, cropped pictures of one set, `count` of them as they should be.

    Iterating yields those that are well and adds a line to `faults` for each that is not.
    """

    count: int
    pictures: Iterable[Picture]
    faults: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Picture]:
        return iter(self.pictures)


def load_image_corpus(data: ImageDataConfig, downloads: Path) -> dict[str, Pictures]:
    """Return the sets `train` and `dev` that `data` names; `downloads` keeps files that had to be downloaded.

    Raises `BpdError` for missing or changed files.
    """
    if data.source == "drawn_faces":
        drawn = data.drawn_faces
        counts = {"train": drawn.train_images, "dev": drawn.dev_images}
        return {name: Pictures(count, draw_faces(name, count, drawn.seed)) for name, count in counts.items()}
    kind = {"lfw": LabelledFaces, "celeba": CelebA}[data.source]
    corpus = kind.open(data.files, downloads)
    sets = {}
    for name in ("train", "dev"):
        faults: list[str] = []
        sets[name] = Pictures(corpus.count(name), corpus.pictures(name, faults), faults)
    return sets
