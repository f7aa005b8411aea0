import gzip
import hashlib
import json

import pytest

from bpd.config import GeneratedTextConfig, PrepareSettings, RemoteFile, TranslationDataConfig, VocabularyConfig
from bpd.data import prepare
from bpd.data.encoded import EncodedPairs
from bpd.data.lines import read_lines, write_lines
from bpd.data.prepare import prepare_text
from bpd.data.vocabulary import Vocabulary
from bpd.errors import BpdError
from bpd.fingerprints import file_sha256

WORDS = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn"]
PAIRS = [(f"number {i} of ten", f"Nummer {WORDS[i - 1]} von zehn") for i in range(1, 11)]
ODD_DEV = ["plain", "", "  two  spaces\t\r", "…ŉ🙂„so“\u2028\x85", "</s> <unk>"]


def settings(tmp_path, train, dev, size=60, max_subwords=100, **others):
    """Settings for a corpus of the given pairs that takes the place of Multi30k; test is dev reversed."""
    folder = tmp_path / "own"
    folder.mkdir(exist_ok=True)
    files = {}
    for name, pairs in (("train", train), ("val", dev), ("test_2016_flickr", dev[::-1])):
        for side, language in enumerate(("en", "de")):
            path = folder / f"{name}.{language}.gz"
            content = "".join(pair[side] + "\n" for pair in pairs).encode()
            path.write_bytes(gzip.compress(content, mtime=0))
            files[path.name] = RemoteFile(url=path.as_uri(), sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    vocabulary = VocabularyConfig(size=size, byte_fallback=others.pop("byte_fallback", False))
    data = TranslationDataConfig(
        source="multi30k", vocabulary=vocabulary, max_subwords=max_subwords, files=files, **others
    )
    return PrepareSettings(data=data)


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.fixture
def prepared(tmp_path, local_data):
    train = list(PAIRS)
    train[2] = ("", "Nummer drei")
    train[5] = ("number 6", "   ")
    train[8] = ("", "")
    dev = [(line, line[::-1]) for line in ODD_DEV]
    prepare_text(settings(tmp_path, train, dev), tmp_path / "data")
    return tmp_path / "data"


def test_the_folder_holds_what_is_promised_and_nothing_else(prepared):
    assert names(prepared) == sorted(
        ["report.json", "vocabulary.json", "vocabulary.model", "train", "train.en", "train.de", "val.en", "val.de"]
        + ["test_2016_flickr.en", "test_2016_flickr.de", "train/manifest.json"]
        + [f"train/{side}{part}.npy" for side in ("source", "target") for part in ("", "_offsets")]
    )
    assert sorted(path.name for path in prepared.parent.iterdir()) == ["data", "downloads", "local_data", "own"]


def test_empty_lines_go_on_both_sides_and_are_counted(prepared):
    kept = [pair for i, pair in enumerate(PAIRS) if i not in (2, 5, 8)]
    assert list(zip(read_lines(prepared / "train.en"), read_lines(prepared / "train.de"))) == kept
    report = json.loads((prepared / "report.json").read_text())
    drops = {"empty_source": 1, "empty_target": 1, "empty_both": 1, "too_long": 0, "length_ratio": 0}
    assert report["drops"] == drops
    assert report["counts"] == {"train_read": 10, "train": 7, "val": 5, "test_2016_flickr": 5}
    assert report["sets"] == {"dev": "val", "test": "test_2016_flickr"}


def test_dev_and_test_sets_keep_every_byte(prepared):
    assert (prepared / "val.en").read_bytes() == "".join(f"{line}\n" for line in ODD_DEV).encode()
    assert (prepared / "test_2016_flickr.de").read_bytes() == "".join(
        f"{line[::-1]}\n" for line in ODD_DEV[::-1]
    ).encode()


def test_encoded_pairs_are_the_text(prepared):
    vocabulary = Vocabulary.load(prepared / "vocabulary.model")
    pairs = EncodedPairs.open(prepared / "train")
    assert pairs.manifest["vocabulary_sha256"] == vocabulary.sha256
    assert [vocabulary.decode(pairs.source(i)) for i in range(7)] == read_lines(prepared / "train.en")
    assert [vocabulary.decode(pairs.target(i)) for i in range(7)] == read_lines(prepared / "train.de")


def test_the_report_accounts_for_every_file_and_every_unknown(prepared):
    report = json.loads((prepared / "report.json").read_text())
    files = [name for name in names(prepared) if (prepared / name).is_file() and name != "report.json"]
    assert report["sha256"] == {name: file_sha256(prepared / name) for name in files}
    vocabulary = Vocabulary.load(prepared / "vocabulary.model")
    unknown = sum(ids.count(vocabulary.unknown_id) for ids in vocabulary.encode_lines(ODD_DEV))
    assert report["unknown"]["val"]["en"] == unknown > 0
    assert report["unknown"]["train"] == {"en": 0, "de": 0}
    described = json.loads((prepared / "vocabulary.json").read_text())
    assert described["size"] == len(described["pieces"]) == 60
    assert described["pieces"][:4] == ["<pad>", "<s>", "</s>", "<unk>"]


def test_long_and_lopsided_pairs_go(tmp_path, local_data):
    train = [*PAIRS, ("number " * 40, "Nummer"), ("number", "Nummer " * 6)]
    prepare_text(settings(tmp_path, train, PAIRS[:2], max_subwords=30, max_length_ratio=3.0), tmp_path / "data")
    report = json.loads((tmp_path / "data" / "report.json").read_text())
    assert (report["drops"]["too_long"], report["drops"]["length_ratio"]) == (1, 1)
    pairs = EncodedPairs.open(tmp_path / "data" / "train")
    assert len(pairs) == report["counts"]["train"] == 10
    assert max(pairs.source_lengths.max(), pairs.target_lengths.max()) <= 30


def test_literal_marks_do_not_shorten_a_training_pair(tmp_path, local_data):
    marked = [("one </s> two <s> three", "eins <pad> zwei <unk> drei</s>")]
    prepare_text(settings(tmp_path, PAIRS + marked, PAIRS[:2]), tmp_path / "data")
    pairs = EncodedPairs.open(tmp_path / "data" / "train")
    vocabulary = Vocabulary.load(tmp_path / "data" / "vocabulary.model")
    assert (vocabulary.decode(pairs.source(10)), vocabulary.decode(pairs.target(10))) == marked[0]
    assert min(pairs.source(10).min(), pairs.target(10).min()) > vocabulary.unknown_id


def test_small_chunks_give_the_same_folder(prepared, tmp_path, monkeypatch):
    monkeypatch.setattr(prepare, "CHUNK_PAIRS", 3)
    train = [pair for i, pair in enumerate(PAIRS) if i not in (2, 5, 8)]
    prepare_text(settings(tmp_path, train, [(line, line[::-1]) for line in ODD_DEV]), tmp_path / "chunked")
    for name in names(prepared):
        if (prepared / name).is_file() and name != "report.json":
            assert (tmp_path / "chunked" / name).read_bytes() == (prepared / name).read_bytes()


def test_a_second_run_replaces_the_first_with_the_same(prepared, tmp_path):
    before = {name: (prepared / name).read_bytes() for name in names(prepared) if (prepared / name).is_file()}
    given = json.loads((prepared / "report.json").read_text())["settings"]
    again = PrepareSettings(data=TranslationDataConfig.model_validate_json(json.dumps(given)))
    prepare_text(again, prepared)
    assert {name: (prepared / name).read_bytes() for name in before} == before
    assert len(names(prepared)) == len(before) + 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train": [("", "a"), (" ", "b")]}, r"no training pair has text on both sides \(empty_source 2"),
        ({"max_subwords": 1}, "cleaning left no training pairs"),
        ({"size": 5000}, r"vocabulary\.size is 5000, but the text supports at most"),
        ({"dev": []}, "the set val has no lines"),
    ],
)
def test_a_failure_leaves_no_folder(tmp_path, local_data, change, message):
    given = {"train": PAIRS, "dev": PAIRS[:2]} | change
    with pytest.raises(BpdError, match=message):
        prepare_text(settings(tmp_path, given.pop("train"), given.pop("dev"), **given), tmp_path / "data")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["downloads", "local_data", "own"]


def test_unequal_files_are_refused_with_both_counts(tmp_path, local_data):
    given = settings(tmp_path, PAIRS, PAIRS[:2])
    path = tmp_path / "own" / "train.de.gz"
    path.write_bytes(gzip.compress(b"nur eine Zeile\n"))
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    files = given.data.files | {"train.de.gz": RemoteFile(url=path.as_uri(), sha256=sha256)}
    changed = PrepareSettings(data=given.data.model_copy(update={"files": files}))
    with pytest.raises(BpdError, match=r"train\.en\.gz has 10 lines but .*train\.de\.gz has 1"):
        prepare_text(changed, tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_the_generated_corpus_is_the_same_everywhere(tmp_path):
    counts = GeneratedTextConfig(train_pairs=300, dev_pairs=10, test_pairs=10, seed=3)
    vocabulary = VocabularyConfig(size=200, byte_fallback=False, training_lines=400)
    data = TranslationDataConfig(source="generated", generated=counts, vocabulary=vocabulary, max_subwords=64)
    for name in ("one", "other"):
        prepare_text(PrepareSettings(data=data), tmp_path / name)
    assert (tmp_path / "one" / "report.json").read_bytes() == (tmp_path / "other" / "report.json").read_bytes()
    assert len(read_lines(tmp_path / "one" / "dev.en")) == 10


def test_lines_with_returns_stay_one_line(tmp_path, local_data):
    odd = [("number\rone\u2028two", "Nummer\x85eins\x0b")]
    prepare_text(settings(tmp_path, PAIRS + odd, odd), tmp_path / "data")
    assert read_lines(tmp_path / "data" / "train.en")[-1] == odd[0][0]
    write_lines(tmp_path / "expected", [odd[0][1]])
    assert (tmp_path / "data" / "val.de").read_bytes() == (tmp_path / "expected").read_bytes()
