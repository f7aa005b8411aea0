"""A09: a subword model changes text, leaks its unknown mark, clashes on special ids, or differs between runs.

Kind: lossy, unpinned text mapping. Any text coming back, unknown characters, marks as text, damaged vocabularies and
those with other special ids are in tests/data/test_vocabulary.py, raw references in tests/evaluation/test_score.py.
Here it is what `bpd prepare text` and a trained model make of it. Further cases: an order of the environment that
changes between runs (hash seed, locale), and a model's own vocabulary against its weights.
"""

import gzip
import hashlib
import json
import shutil

import pytest
import yaml

import bpd
from bpd import grid
from bpd.commands.train import train
from bpd.config import Config, VocabularyConfig, validate_section
from bpd.data.encoded import EncodedPairs
from bpd.data.vocabulary import Vocabulary, train_vocabulary
from bpd.errors import BpdError
from bpd.models.translation_model import TranslationModel
from tests.commands.conftest import CONFIG
from tests.field.driver import bpd as run
from tests.field.driver import refused

ODD = [
    "dots … and the n of ŉ",
    "two  spaces,   three",
    "a\ttab",
    "an emoji 🙂 here",
    "a soft\u00adhyphen",
    "„so“, said ‚she‘",
]
MARKED = ["ends </s> in the middle", "<s> begins", "some <pad> padding <pad>", "an <unk> known</s>"]
PLAIN = [f"the number {number} of all" for number in range(60)]
NAMES = ("train", "val", "test_2016_flickr")


def settings(folder, byte_fallback: bool) -> str:
    """Settings of a corpus in the place of Multi30k: the odd lines are in its dev and test sets, marked ones in all."""
    files = {}
    for name in NAMES:
        lines = PLAIN + MARKED if name == "train" else ODD + MARKED
        for language in ("en", "de"):
            path = folder / f"{name}.{language}.gz"
            path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))
            files[path.name] = {"url": path.as_uri(), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    vocabulary = {"size": 330 if byte_fallback else 70, "byte_fallback": byte_fallback}
    data = {"source": "multi30k", "vocabulary": vocabulary, "max_subwords": 100, "files": files}
    return json.dumps({"data": data})


@pytest.fixture(scope="module", params=[False, True], ids=["characters", "bytes"])
def prepared(request, tmp_path_factory):
    """The same corpus prepared twice: with one thread, and with four, another hash seed and another locale."""
    folder = tmp_path_factory.mktemp("a09")
    given = settings(folder, request.param)
    for name, variables in (
        ("one", {"OMP_NUM_THREADS": 1, "PYTHONHASHSEED": 1, "LC_ALL": "C.UTF-8"}),
        ("four", {"OMP_NUM_THREADS": 4, "PYTHONHASHSEED": 2, "LC_ALL": "C"}),
    ):
        result = run("prepare", "text", "--settings", given, "--output", folder / name, **variables)
        assert result.returncode == 0, result.stderr
    return folder


def test_a09_the_same_data_give_the_same_vocabulary_and_ids_on_any_number_of_threads(prepared):
    reports = [json.loads((prepared / name / "report.json").read_text(encoding="utf-8")) for name in ("one", "four")]
    assert reports[0] == reports[1] and reports[0]["sha256"]["vocabulary.model"]


def test_a09_odd_text_comes_back_or_what_is_lost_is_counted(prepared):
    vocabulary = Vocabulary.load(prepared / "one" / "vocabulary.model")
    unknown = json.loads((prepared / "one" / "report.json").read_text(encoding="utf-8"))["unknown"]
    lost = 0
    for line in ODD + MARKED:
        known = set("".join(PLAIN + MARKED)) if vocabulary.size == 70 else set(line)
        ids = vocabulary.encode(line)
        expected = "".join(character for character in line if character in known or character == " ")
        assert vocabulary.decode(ids) == expected and vocabulary.decode(vocabulary.encode(expected)) == expected
        lost += ids.count(vocabulary.unknown_id)
    assert unknown["val"] == {"en": lost, "de": lost} and (lost > 0) == (vocabulary.size == 70)


def test_a09_literal_marks_stay_text_and_shorten_no_training_pair(prepared):
    vocabulary = Vocabulary.load(prepared / "one" / "vocabulary.model")
    pairs = EncodedPairs.open(prepared / "one" / "train")
    assert len(pairs) == len(PLAIN + MARKED)
    for index, line in enumerate(MARKED, start=len(PLAIN)):
        for ids in (pairs.source(index).tolist(), pairs.target(index).tolist()):
            assert not {0, 1, 2, 3} & set(ids) and vocabulary.decode(ids) == line


def test_a09_references_are_the_published_bytes(prepared):
    for name in NAMES[1:]:
        published = gzip.decompress((prepared / f"{name}.de.gz").read_bytes())
        assert (prepared / "one" / f"{name}.de").read_bytes() == published


@pytest.fixture(scope="module")
def model(prepared):
    """A model trained for a few steps on the prepared data."""
    values = json.loads(json.dumps(CONFIG))
    values["translation"]["base"]["training"] |= {"steps": 6, "evaluate_every": 6, "evaluate_sentences": 2}
    translation = validate_section(Config, values, "tiny").translation
    folder = prepared / "model"
    train(grid.train_settings(translation, "base"), prepared / "one", folder, prepared / "work", None, None)
    return folder


def test_a09_special_ids_are_distinct_and_the_same_in_vocabulary_and_model(prepared, model):
    described = json.loads((prepared / "one" / "vocabulary.json").read_text(encoding="utf-8"))
    names = ("pad_id", "begin_id", "end_id", "unknown_id")
    ids = [described[name] for name in names]
    assert len(set(ids)) == 4 and all(0 <= one < described["size"] for one in ids)
    loaded = bpd.load(model)
    assert [getattr(loaded.vocabulary, name) for name in names] == ids
    assert (TranslationModel.pad_id, loaded.model.end_id) == (ids[0], ids[2])
    rows = loaded.model.state_dict()["transformer.embedding.weight"].shape[0]
    stored = yaml.safe_load((model / "config.yaml").read_text(encoding="utf-8"))["vocabulary_size"]
    assert rows == stored == described["size"] == loaded.vocabulary.size


def test_a09_a_model_whose_vocabulary_size_and_weights_disagree_is_refused(prepared, model, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(model, folder)
    other = tmp_path / "other.model"
    text = (folder / "config.yaml").read_text(encoding="utf-8")
    size = Vocabulary.load(model / "vocabulary.model").size
    (folder / "config.yaml").write_text(text.replace(f"vocabulary_size: {size}", f"vocabulary_size: {size + 1}"))
    refused(run("translate", folder, "A house."), "the weights do not fit config.yaml")
    shutil.copyfile(model / "config.yaml", folder / "config.yaml")
    # A vocabulary like it in all but its subwords.
    train_vocabulary([line[::-1] for line in PLAIN + MARKED], VocabularyConfig(size=70, byte_fallback=False), other)
    shutil.copyfile(other, folder / "vocabulary.model")
    with pytest.raises(BpdError, match="not the vocabulary of this model"):
        bpd.load(folder)


@pytest.mark.parametrize("sentence", MARKED)
def test_a09_marks_in_a_sentence_to_translate_are_words_of_it(model, sentence):
    loaded = bpd.load(model)
    (translation,) = loaded.greedy([sentence])
    assert translation.decoded is not None and not {"</s>", "<s>", "<pad>", "<unk>"} & set(translation.text.split())
