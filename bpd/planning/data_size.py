"""How much data a configuration works on: published counts of sentences and images, and lengths, assumed or counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from bpd.config import ImageDataConfig, Section, TranslationDataConfig
from bpd.config.section import PositiveInt

# Sentence pairs of training, dev and test set before cleaning. WMT14: Europarl v7, Common Crawl and News Commentary v9,
# about; newstest2013 and newstest2014 in full. Multi30k: task 1.
_PAIRS = {"wmt14": (4_500_000, 3_000, 3_003), "multi30k": (29_000, 1_014, 1_000)}
# Images of training and dev set. CelebA: the official partition. LFW: one of each person of the two official lists.
_IMAGES = {"celeba": (162_770, 19_867), "lfw": (4_038, 1_711)}
# Subwords of a sentence without its end symbol. Assumed until a run's own preparation has counted them.
_SUBWORDS = {"wmt14": 30.0, "multi30k": 16.0, "generated": 12.0}

_ARCHIVES = {
    "wmt14": (
        "training-parallel-europarl-v7.tgz",
        "training-parallel-commoncrawl.tgz",
        "training-parallel-nc-v9.tgz",
        "newstest2013.en",
        "newstest2013.de",
        "newstest2014.en",
        "newstest2014.de",
    ),
    "multi30k": tuple(f"{name}.{side}.gz" for name in ("train", "val", "test_2016_flickr") for side in ("en", "de")),
    "celeba": ("img_align_celeba.zip", "list_eval_partition.txt"),
    "lfw": ("lfw-deepfunneled.tgz",),
}
CHANNELS = 3


class CountedText(Section):
    """What the preparation of a run counted: pairs read and kept, subwords a sentence, and how full micro-batches are.

    `filled` holds for a number of tokens a micro-batch the share of it that is target tokens, without padding.
    """

    source: str
    vocabulary_size: PositiveInt
    max_subwords: PositiveInt
    read: PositiveInt
    pairs: PositiveInt
    source_subwords: Annotated[float, Field(gt=0, le=1e6)]
    target_subwords: Annotated[float, Field(gt=0, le=1e6)]
    filled: Mapping[str, Annotated[float, Field(ge=1e-6, le=1)]]

    def is_of(self, data: TranslationDataConfig) -> bool:
        """Return whether this was counted on the data of a config."""
        mine = (self.source, self.vocabulary_size, self.max_subwords)
        same = mine == (data.source, data.vocabulary.size, data.max_subwords)
        return same and (data.generated is None or data.generated.train_pairs == self.read)


@dataclass(frozen=True)
class TextSize:
    """Pairs by set, and subwords of a sentence on either side, without the end symbol; whether those were counted."""

    pairs: int
    sentences: Mapping[str, int]
    source_subwords: float
    target_subwords: float
    filled: Mapping[str, float]
    counted: bool

    def filled_share(self, micro_batch_tokens: int) -> float:
        """Return which share of a micro-batch is target tokens: all of it, unless it was counted."""
        return self.filled.get(str(micro_batch_tokens), 1.0)


@dataclass(frozen=True)
class ImageSize:
    """Images by set, and the number of intensities of a small and of a large one."""

    train: int
    dev: int
    input_tokens: int
    output_tokens: int


def text_size(data: TranslationDataConfig, counted: CountedText | None = None) -> TextSize:
    """Return how many pairs there are and how long they are; from `counted`, where that is of the same data."""
    if data.generated is not None:
        pairs, dev, test = data.generated.train_pairs, data.generated.dev_pairs, data.generated.test_pairs
    else:
        pairs, dev, test = _PAIRS[data.source]
    sentences = {"dev": dev, "test": test}
    if counted is not None and counted.is_of(data):
        lengths = (counted.source_subwords, counted.target_subwords)
        return TextSize(counted.pairs, sentences, *lengths, counted.filled, True)
    return TextSize(pairs, sentences, _SUBWORDS[data.source], _SUBWORDS[data.source], {}, False)


def image_size(data: ImageDataConfig) -> ImageSize:
    """Return how many images there are, and of how many intensities."""
    drawn = data.drawn_faces
    train, dev = _IMAGES[data.source] if drawn is None else (drawn.train_images, drawn.dev_images)
    return ImageSize(train, dev, data.input_size**2 * CHANNELS, data.output_size**2 * CHANNELS)


def download_bytes(source: str) -> int:
    """Return the bytes of the files that a data source is made of, 0 where it is generated or a size is unknown."""
    from bpd.data.fetch import KNOWN_FILES

    files = (KNOWN_FILES.get(name) for name in _ARCHIVES.get(source, ()))
    return sum(file.bytes or 0 for file in files if file is not None)
