"""Corpora: where the training, dev and test pairs of each `translation.data.source` come from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bpd.config import TranslationDataConfig
from bpd.data.archives import extract_members
from bpd.data.fetch import fetch
from bpd.data.generated_text import generate_corpus
from bpd.data.newstest import fetch_newstest
from bpd.data.parallel_text import Pair, ParallelFiles, ParallelText
from bpd.errors import BpdError

SOURCE_LANGUAGE, TARGET_LANGUAGE = "en", "de"
LANGUAGES = (SOURCE_LANGUAGE, TARGET_LANGUAGE)
WMT14_ARCHIVES = {
    "training-parallel-europarl-v7.tgz": "europarl-v7.de-en",
    "training-parallel-commoncrawl.tgz": "commoncrawl.de-en",
    "training-parallel-nc-v9.tgz": "news-commentary-v9.de-en",
}


@dataclass(frozen=True)
class Corpus:
    """Training pairs, which can be iterated over again and again, and named dev and test sets."""

    train: Iterable[Pair]
    dev_name: str
    dev: ParallelText
    test_name: str
    test: ParallelText


def load_corpus(data: TranslationDataConfig, downloads: Path, scratch: Path) -> Corpus:
    """Return the corpus that `data` names, English to German.

    `downloads` keeps files that had to be downloaded; `scratch` holds unpacked ones for as long as the corpus is used.
    Raises `BpdError` for missing or changed files and for an empty dev or test set.
    """
    corpus = {"generated": _generated, "multi30k": _multi30k, "wmt14": _wmt14}[data.source](data, downloads, scratch)
    for name, text in ((corpus.dev_name, corpus.dev), (corpus.test_name, corpus.test)):
        if len(text) == 0:
            raise BpdError(f"{data.source}: the set {name} has no lines; nothing could be decoded or scored")
    return corpus


def _generated(data: TranslationDataConfig, downloads: Path, scratch: Path) -> Corpus:
    if data.generated is None:
        raise BpdError("translation.data.generated: missing, but source is 'generated'")
    train, dev, test = generate_corpus(data.generated)
    return Corpus(train, "dev", dev, "test", test)


def _multi30k(data: TranslationDataConfig, downloads: Path, scratch: Path) -> Corpus:
    def paths(name: str) -> tuple[Path, Path]:
        source, target = (fetch(f"{name}.{language}.gz", data.files, downloads) for language in LANGUAGES)
        return source, target

    train = ParallelFiles([paths("train")])
    dev, test = (ParallelText.read(*paths(name)) for name in ("val", "test_2016_flickr"))
    return Corpus(train, "val", dev, "test_2016_flickr", test)


def _wmt14(data: TranslationDataConfig, downloads: Path, scratch: Path) -> Corpus:
    dev, test = (fetch_newstest(name, data.files, downloads) for name in ("newstest2013", "newstest2014"))
    archives = {name: fetch(name, data.files, downloads) for name in WMT14_ARCHIVES}
    parts = []
    for name, archive in archives.items():
        members = [f"{WMT14_ARCHIVES[name]}.{language}" for language in LANGUAGES]
        source, target = extract_members(archive, members, scratch)
        parts.append((source, target))
    return Corpus(ParallelFiles(parts), "newstest2013", dev, "newstest2014", test)
