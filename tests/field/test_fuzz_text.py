"""Foreign text: parallel files, packed or not, as `bpd prepare text` reads them; newstest's are read the same way."""

import gzip
import hashlib
import json
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bpd.config import GeneratedTextConfig
from bpd.data import lines
from bpd.data.encoded import EncodedPairs
from bpd.data.generated_text import generate_corpus
from bpd.data.lines import read_lines
from bpd.errors import BpdError
from tests.field.driver import bpd, refused
from tests.field.fuzzing import Outcome, call, foreign, fuzzed, scratch

NAMES = [f"{name}.{language}.gz" for name in ("train", "val", "test_2016_flickr") for language in ("en", "de")]


def _valid() -> dict[str, bytes]:
    made = generate_corpus(GeneratedTextConfig(train_pairs=60, dev_pairs=6, test_pairs=5, seed=1))
    texts = [side for pairs in made for side in zip(*pairs)]
    return {name: "".join(line + "\n" for line in text).encode() for name, text in zip(NAMES, texts, strict=True)}


VALID = _valid()


def packed(content: bytes) -> bytes:
    return gzip.compress(content, compresslevel=1, mtime=0)


def prepare(folder: Path, name: str, content: bytes) -> Outcome:
    """Prepare the valid files with the one called `name` replaced."""
    given = {known: packed(text) for known, text in VALID.items()} | {name: content}
    files = {}
    for known, written in given.items():
        (folder / known).write_bytes(written)
        files[known] = {"url": (folder / known).as_uri(), "sha256": hashlib.sha256(written).hexdigest()}
    vocabulary = {"size": 100, "byte_fallback": False}
    data = {"source": "multi30k", "vocabulary": vocabulary, "max_subwords": 64, "files": files}
    return call("prepare", "text", "--settings", json.dumps({"data": data}), "--output", folder / "data")


def check(outcome: Outcome, folder: Path, name: str) -> None:
    if outcome.is_well(name, "translation.data.vocabulary.size", "multi30k:", folder=folder):
        report = json.loads((folder / "data/report.json").read_text())
        pairs = EncodedPairs.open(folder / "data/train")
        assert report["counts"]["train"] == len(pairs) == len(read_lines(folder / "data/train.en"))
        assert report["counts"]["train_read"] == len(pairs) + sum(report["drops"].values())
    else:
        assert not (folder / "data").exists()


@fuzzed(100)
@given(st.sampled_from(NAMES).flatmap(lambda name: st.tuples(st.just(name), foreign(VALID[name]))))
@example((NAMES[0], b"\xff" + VALID[NAMES[0]]))
@example((NAMES[1], VALID[NAMES[1]].replace(b"\n", b"\r\n")))
@example((NAMES[0], b"\x00" + VALID[NAMES[0]]))
@example((NAMES[0], b"\xef\xbb\xbf" + VALID[NAMES[0]]))
@example((NAMES[2], b""))
@example((NAMES[0], VALID[NAMES[0]].replace(b"\n", b" ", 1).replace(b" ", b"x" * 20_000, 1) + b"x\n"))
def test_fuzz_text_is_prepared_or_refused_by_name(case):
    name, content = case
    with scratch() as folder:
        check(prepare(folder, name, packed(content)), folder, name)


@fuzzed(100)
@given(st.sampled_from(NAMES).flatmap(lambda name: st.tuples(st.just(name), foreign(packed(VALID[name])))))
@example((NAMES[0], b""))
@example((NAMES[3], packed(VALID[NAMES[3]])[:-4]))
@example((NAMES[3], packed(VALID[NAMES[3]]) + b"more"))
def test_fuzz_packed_text_is_prepared_or_refused_by_name(case):
    name, content = case
    with scratch() as folder:
        check(prepare(folder, name, content), folder, name)


@pytest.mark.parametrize("line_ends", [True, False])
def test_fuzz_text_that_unpacks_without_end_is_refused_while_it_is_read(line_ends, tmp_path):
    bomb = tmp_path / "train.en.gz"
    bomb.write_bytes(packed(b"\n" * 1_000_000 if line_ends else b"x" * 1_000_000))
    told = rf"train\.en\.gz: line \d+{': it unpacks to more than' if line_ends else ' is longer than 100000 bytes'}"
    with (
        mock.patch.object(lines, "_ALWAYS_BYTES", 1000),
        mock.patch.object(lines, "LONGEST_LINE_BYTES", 100_000),
        pytest.raises(BpdError, match=told),
    ):
        read_lines(bomb)


def test_fuzz_a_person_sees_no_traceback_of_text_that_is_none(tmp_path):
    path = tmp_path / "sentences.txt"
    path.write_bytes(b"Ein Satz.\n\xff\xfe\n")
    refused(bpd("translate", tmp_path, "--input", path), tmp_path)
