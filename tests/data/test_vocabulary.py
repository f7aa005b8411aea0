import os
import random
import subprocess
import sys

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from bpd.config import VocabularyConfig
from bpd.data.vocabulary import Vocabulary, evenly_spaced, train_vocabulary
from bpd.errors import BpdError

ODD_LINES = [
    "… ŉ ﬁ ½ ²",
    "two  spaces   three",
    " leading and trailing ",
    "a\ttab",
    "an emoji 🙂 here",
    "a soft\u00adhyphen",
    "„Gänsefüßchen“ ‚einfache‘",
    "carriage\rreturn",
    "separators\u2028and\u2029and\x85and\x0band\x0c",
    "no-break\u00a0space, zero\u200bwidth",
    "é is not e\u0301",
    "</s> inside, <s> and <pad> and <unk> too</s>",
]
WORDS = [
    "der",
    "die",
    "das",
    "kleine",
    "große",
    "Hund",
    "Katze",
    "sieht",
    "the",
    "small",
    "big",
    "dog",
    "cat",
    "sees",
    "a",
    "red",
    "house",
]
LINES = [" ".join(random.Random(i).choices(WORDS, k=8)) for i in range(300)]


def train(path, lines=LINES, size=120, byte_fallback=False):
    train_vocabulary(lines, VocabularyConfig(size=size, byte_fallback=byte_fallback), path)
    return Vocabulary.load(path)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return train(tmp_path_factory.mktemp("vocabulary") / "plain.model")


@pytest.fixture(scope="module")
def with_bytes(tmp_path_factory):
    return train(tmp_path_factory.mktemp("vocabulary") / "bytes.model", size=400, byte_fallback=True)


def test_size_and_special_ids(plain):
    assert plain.size == 120
    assert (plain.pad_id, plain.begin_id, plain.end_id, plain.unknown_id) == (0, 1, 2, 3)
    assert plain.pieces(range(4)) == ["<pad>", "<s>", "</s>", "<unk>"]


def test_training_text_comes_back(plain):
    encoded = plain.encode_lines(LINES)
    assert encoded == [plain.encode(line) for line in LINES]
    assert [plain.decode(ids) for ids in encoded] == LINES
    assert "".join(plain.pieces(encoded[0])) == "▁" + LINES[0].replace(" ", "▁")


@pytest.mark.parametrize("line", ODD_LINES)
def test_odd_text_comes_back_with_byte_fallback(with_bytes, line):
    ids = with_bytes.encode(line)
    assert with_bytes.decode(ids) == line
    assert min(ids) > with_bytes.unknown_id


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="▁"), max_size=20))
def test_any_text_comes_back_with_byte_fallback(with_bytes, text):
    ids = with_bytes.encode(text)
    assert with_bytes.decode(ids) == text
    assert not set(ids) & {0, 1, 2, 3}


def test_odd_text_comes_back_where_it_was_trained_on(tmp_path):
    vocabulary = train(tmp_path / "odd.model", LINES + ODD_LINES, size=200)
    assert [vocabulary.decode(ids) for ids in vocabulary.encode_lines(ODD_LINES)] == ODD_LINES


@pytest.mark.parametrize("mark", ["</s>", "<s>", "<pad>", "<unk>"])
def test_literal_marks_are_text(plain, with_bytes, mark):
    for vocabulary in (plain, with_bytes):
        for text in (mark, f"the dog {mark} sees", f"dog{mark}cat", f"{mark}{mark} a"):
            ids = vocabulary.encode(text)
            assert not set(ids) & {0, 1, 2, 3}
            assert vocabulary.decode(ids) == text


def test_unknown_characters_vanish_and_stay_gone(plain):
    ids = plain.encode("dog 🙂 cat")
    assert ids.count(plain.unknown_id) == 1
    text = plain.decode(ids)
    assert text == "dog  cat"
    assert plain.decode(plain.encode(text)) == text


def test_the_space_sign_comes_back_as_a_space(with_bytes):
    assert with_bytes.decode(with_bytes.encode("a▁b")) == "a b"


def test_special_ids_add_nothing_to_the_text(plain):
    ids = plain.encode("the dog")
    assert plain.decode([1, *ids, 3, 2, 0, 0]) == "the dog"
    assert plain.decode([]) == ""


@pytest.mark.parametrize("wrong", [-1, 120])
def test_ids_outside_the_vocabulary_are_refused(plain, wrong):
    for method in (plain.decode, plain.pieces):
        with pytest.raises(BpdError, match=f"id {wrong} is not in this vocabulary of 120"):
            method([5, wrong])


def test_the_same_text_gives_the_same_vocabulary_on_any_number_of_threads(tmp_path, plain):
    code = (
        "import sys; from pathlib import Path; from bpd.config import VocabularyConfig as C;"
        "from bpd.data.vocabulary import train_vocabulary; from bpd.data.lines import read_lines;"
        "train_vocabulary(read_lines(sys.argv[1]), C(size=120, byte_fallback=False), Path(sys.argv[2]))"
    )
    (tmp_path / "lines").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    for threads in ("1", "4"):
        path = tmp_path / f"with_{threads}.model"
        environment = os.environ | {"OMP_NUM_THREADS": threads, "PYTHONPATH": os.pathsep.join(sys.path)}
        subprocess.run([sys.executable, "-c", code, tmp_path / "lines", path], env=environment, check=True)
        assert Vocabulary.load(path).sha256 == plain.sha256
    assert train(tmp_path / "other.model", LINES[:100]).sha256 != plain.sha256


@pytest.mark.parametrize(
    ("size", "byte_fallback", "message"),
    [
        (5000, False, "size is 5000, but the text supports at most"),
        (5000, True, "size is 5000, but the text supports at most"),
        (16, False, "size is 16, but the text needs at least"),
        (200, True, "size is 200, but the text needs at least"),
    ],
)
def test_impossible_sizes_name_the_key(tmp_path, size, byte_fallback, message):
    with pytest.raises(BpdError, match=rf"translation\.data\.vocabulary\.{message}"):
        train(tmp_path / "no.model", size=size, byte_fallback=byte_fallback)
    assert list(tmp_path.iterdir()) == []


def test_the_size_that_the_message_names_works(tmp_path):
    with pytest.raises(BpdError) as caught:
        train(tmp_path / "no.model", size=5000)
    most = int(str(caught.value).split("at most ")[1].split()[0])
    assert train(tmp_path / "yes.model", size=most).size == most


def test_no_text_is_refused(tmp_path):
    with pytest.raises(BpdError, match="text for the vocabulary is empty"):
        train(tmp_path / "no.model", [])


@pytest.mark.parametrize(
    ("count", "limit", "taken"),
    [(10, None, list(range(10))), (10, 4, [0, 5]), (10, 100, list(range(10))), (10, 1, [0]), (9, 6, [0, 3, 6])],
)
def test_lines_are_taken_evenly_and_from_both_sides(count, limit, taken):
    pairs = [(f"s{i}", f"t{i}") for i in range(count)]
    assert list(evenly_spaced(pairs, count, limit)) == [line for i in taken for line in pairs[i]]


@pytest.mark.parametrize("content", [b"", b"no model", None])
def test_damaged_or_missing_files_are_named(tmp_path, content):
    path = tmp_path / "vocabulary.model"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BpdError, match=r"vocabulary\.model: (not a SentencePiece model|cannot read)"):
        Vocabulary.load(path)


def test_other_special_ids_are_refused(tmp_path):
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_prefix=str(tmp_path / "default"), vocab_size=40, minloglevel=2
    )
    with pytest.raises(BpdError, match=r"unknown ids are \(-1, 1, 2, 0\), but this program's are \(0, 1, 2, 3\)"):
        Vocabulary.load(tmp_path / "default.model")
