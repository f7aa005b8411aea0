"""Preparing text: from a corpus to the folder that training, decoding and scoring read.

Three passes over the training pairs keep memory bounded: pairs with an empty side are dropped; the vocabulary is
trained on what is left; then the pairs are encoded in chunks, and those that are too long are dropped.
Dev and test sets keep every line, as it was published.
"""

from __future__ import annotations

import importlib.metadata
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from tqdm import tqdm

from bpd.atomic import write_json
from bpd.config import PrepareSettings, TranslationDataConfig
from bpd.data.corpora import LANGUAGES, Corpus, load_corpus
from bpd.data.encoded import EncodedPairs, EncodedPairsWriter
from bpd.data.folder import atomic_folder
from bpd.data.lines import encode_line, write_lines
from bpd.data.parallel_text import DROP_REASONS, Pair, ParallelFiles, ParallelText, drop_empty, length_problem
from bpd.data.vocabulary import Vocabulary, evenly_spaced, train_vocabulary
from bpd.errors import BpdError
from bpd.fingerprints import file_sha256

REPORT = "report.json"
CHUNK_PAIRS = 10_000


def prepare_text(settings: PrepareSettings, destination: Path) -> None:
    """Write the prepared folder `destination`, all or nothing; `report.json` says what is in it and what was dropped.

    Files that had to be downloaded are kept in the folder `downloads` beside it.
    Raises `BpdError` for missing or faulty data, a vocabulary that the text does not support, or no pairs left.
    """
    data = settings.data
    destination = Path(destination)
    with atomic_folder(destination, last=REPORT) as folder:
        scratch = folder / "scratch"
        scratch.mkdir()
        corpus = load_corpus(data, destination.absolute().parent / "downloads", scratch)
        report = _prepare(data, corpus, folder, scratch)
        for path in sorted(scratch.iterdir()):
            path.unlink()
        scratch.rmdir()
        report["sha256"] = {
            str(path.relative_to(folder)): file_sha256(path) for path in sorted(folder.rglob("*")) if path.is_file()
        }
        write_json(folder / REPORT, report)


def _prepare(data: TranslationDataConfig, corpus: Corpus, folder: Path, scratch: Path) -> dict[str, Any]:
    drops: Counter[str] = Counter({reason: 0 for reason in DROP_REASONS})
    with_text = [scratch / f"with_text.{language}" for language in LANGUAGES]
    count = _write_pairs(with_text, drop_empty(tqdm(corpus.train, desc="read", unit=" pairs"), drops))
    if count == 0:
        raise BpdError(f"{data.source}: no training pair has text on both sides ({_in_words(drops)})")
    read = count + drops.total()
    pairs = ParallelFiles([(with_text[0], with_text[1])])
    model = folder / "vocabulary.model"
    train_vocabulary(evenly_spaced(pairs, count, data.vocabulary.training_lines), data.vocabulary, model)
    vocabulary = Vocabulary.load(model)
    write_json(folder / "vocabulary.json", _describe(vocabulary, data))
    manifest = {"corpus": "gold", "source": data.source, "vocabulary_sha256": vocabulary.sha256}
    progress = tqdm(pairs, total=count, desc="encode", unit=" pairs")
    unknown: dict[str, dict[str, int]] = {"train": dict.fromkeys(LANGUAGES, 0)}
    with EncodedPairsWriter(folder / "train", manifest) as writer:
        kept = _write_pairs(
            [folder / f"train.{language}" for language in LANGUAGES],
            _encode(progress, data, vocabulary, drops, writer, unknown["train"]),
        )
    if kept == 0:
        raise BpdError(f"{data.source}: cleaning left no training pairs: of {read} dropped were {_in_words(drops)}")
    for name, text in ((corpus.dev_name, corpus.dev), (corpus.test_name, corpus.test)):
        unknown[name] = _write_set(folder, name, text, vocabulary)
    encoded = EncodedPairs.open(folder / "train")
    return {
        "source": data.source,
        "sets": {"dev": corpus.dev_name, "test": corpus.test_name},
        "counts": {
            "train_read": read,
            "train": kept,
            corpus.dev_name: len(corpus.dev),
            corpus.test_name: len(corpus.test),
        },
        "drops": dict(drops),
        "unknown": unknown,
        "train_subwords": {
            LANGUAGES[0]: int(encoded.source_lengths.sum()),
            LANGUAGES[1]: int(encoded.target_lengths.sum()),
        },
        "vocabulary_sha256": vocabulary.sha256,
        "train_sha256": encoded.sha256,
        "settings": data.model_dump(mode="json"),
        "sentencepiece": importlib.metadata.version("sentencepiece"),
    }


def _encode(
    pairs: Iterable[Pair],
    data: TranslationDataConfig,
    vocabulary: Vocabulary,
    drops: Counter[str],
    writer: EncodedPairsWriter,
    unknown: dict[str, int],
) -> Iterator[Pair]:
    """Encode pairs in chunks, hand the kept ones to `writer`, and yield their text; count drops and unknown ids."""
    stream = iter(pairs)
    while chunk := list(islice(stream, CHUNK_PAIRS)):
        encoded = zip(*(vocabulary.encode_lines(side) for side in zip(*chunk)))
        kept = []
        for pair, (source, target) in zip(chunk, encoded):
            reason = length_problem(len(source), len(target), data.max_subwords, data.max_length_ratio)
            if reason is None:
                kept.append((source, target))
                yield pair
            else:
                drops[reason] += 1
        sides = [[pair[side] for pair in kept] for side in (0, 1)]
        writer.add(sides[0], sides[1])
        for language, sentences in zip(LANGUAGES, sides):
            unknown[language] += _count_unknown(sentences)


def _write_pairs(paths: list[Path], pairs: Iterable[Pair]) -> int:
    """Write the two sides of `pairs` as they come to two files of an unfinished folder; return how many there were."""
    count = 0
    with open(paths[0], "wb") as source, open(paths[1], "wb") as target:
        for count, pair in enumerate(pairs, start=1):
            source.write(encode_line(pair[0], paths[0], count))
            target.write(encode_line(pair[1], paths[1], count))
    return count


def _write_set(folder: Path, name: str, text: ParallelText, vocabulary: Vocabulary) -> dict[str, int]:
    """Write a dev or test set as it is; return its number of unknown ids by language."""
    unknown = {}
    for language, lines in zip(LANGUAGES, (text.source, text.target)):
        write_lines(folder / f"{name}.{language}", lines)
        unknown[language] = _count_unknown(vocabulary.encode_lines(lines))
    return unknown


def _count_unknown(sentences: list[list[int]]) -> int:
    return sum(ids.count(Vocabulary.unknown_id) for ids in sentences)


def _describe(vocabulary: Vocabulary, data: TranslationDataConfig) -> dict[str, Any]:
    return {
        "size": vocabulary.size,
        "pad_id": vocabulary.pad_id,
        "begin_id": vocabulary.begin_id,
        "end_id": vocabulary.end_id,
        "unknown_id": vocabulary.unknown_id,
        "sha256": vocabulary.sha256,
        "settings": data.vocabulary.model_dump(mode="json"),
        "pieces": vocabulary.pieces(range(vocabulary.size)),
    }


def _in_words(drops: Counter[str]) -> str:
    return ", ".join(f"{reason} {count}" for reason, count in drops.items())
