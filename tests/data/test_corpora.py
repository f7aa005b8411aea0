import hashlib
import io
import tarfile

import pytest
from pydantic import ValidationError

from bpd.config import GeneratedTextConfig, RemoteFile, TranslationDataConfig, VocabularyConfig
from bpd.data import newstest
from bpd.data.corpora import WMT14_ARCHIVES, load_corpus
from bpd.data.newstest import PublishedSet
from bpd.errors import BpdError

VOCABULARY = VocabularyConfig(size=100, byte_fallback=False)
FOLDERS = {"training-parallel-commoncrawl.tgz": ""}


def config(source, **others):
    return TranslationDataConfig(source=source, vocabulary=VOCABULARY, max_subwords=50, **others)


@pytest.fixture
def load(tmp_path):
    (tmp_path / "scratch").mkdir()
    return lambda data: load_corpus(data, tmp_path / "downloads", tmp_path / "scratch")


@pytest.fixture
def wmt14(local_data, monkeypatch):
    """Tiny archives and test sets with the real layout in the local data folder, and the config that accepts them."""
    (local_data / "wmt").mkdir()
    contents = {}
    for archive, stem in WMT14_ARCHIVES.items():
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as stream:
            for pair in ("cs-en", "de-en"):
                for language in pair.split("-"):
                    text = f"{stem} {pair} {language}\r\n{language} \u2028 2\n".encode()
                    member = f"{FOLDERS.get(archive, 'training/')}{stem.removesuffix('de-en')}{pair}.{language}"
                    info = tarfile.TarInfo(member)
                    info.size = len(text)
                    stream.addfile(info, io.BytesIO(text))
        contents[archive] = buffer.getvalue()
    for name in ("newstest2013", "newstest2014"):
        for language in ("en", "de"):
            contents[f"{name}.{language}"] = f"{name} {language}\n\n".encode()
    files = {}
    for name, content in contents.items():
        (local_data / "wmt" / name).write_bytes(content)
        files[name] = RemoteFile(url="http://127.0.0.1:9/none", sha256=hashlib.sha256(content).hexdigest())
    monkeypatch.setattr(newstest, "NEWSTEST", {name: PublishedSet("none", 2) for name in newstest.NEWSTEST})
    return config("wmt14", files=files)


def test_wmt14_joins_the_german_english_parts_of_three_archives(wmt14, load):
    corpus = load(wmt14)
    expected = []
    for stem in ("europarl-v7.de-en", "commoncrawl.de-en", "news-commentary-v9.de-en"):
        expected += [(f"{stem} de-en en\r", f"{stem} de-en de\r"), ("en \u2028 2", "de \u2028 2")]
    assert list(corpus.train) == list(corpus.train) == expected
    assert (corpus.dev_name, corpus.test_name) == ("newstest2013", "newstest2014")
    assert corpus.dev.source == ["newstest2013 en", ""]
    assert corpus.test.target == ["newstest2014 de", ""]


def test_a_missing_archive_says_what_to_put_where(wmt14, load, local_data):
    name = "training-parallel-europarl-v7.tgz"
    (local_data / "wmt" / name).unlink()
    with pytest.raises(BpdError) as caught:
        load(wmt14)
    assert f"put {name}" in str(caught.value)
    assert str(local_data / "wmt" / name) in str(caught.value)


def test_a_misspelt_file_is_refused_before_anything_is_fetched(load, local_data):
    files = {"train.en": RemoteFile(url="http://127.0.0.1:9/none", sha256="0" * 64)}
    with pytest.raises(ValidationError, match=r"no file is called 'train\.en'"):
        load(config("multi30k", files=files))


def test_an_empty_dev_set_is_refused(wmt14, load, local_data, monkeypatch):
    monkeypatch.setattr(newstest, "NEWSTEST", {name: PublishedSet("none", 0) for name in newstest.NEWSTEST})
    empty = RemoteFile(url="http://127.0.0.1:9/none", sha256=hashlib.sha256(b"").hexdigest())
    files = dict(wmt14.files)
    for name in files:
        if name.startswith("newstest"):
            (local_data / "wmt" / name).write_bytes(b"")
            files[name] = empty
    with pytest.raises(BpdError, match="the set newstest2013 has no lines"):
        load(wmt14.model_copy(update={"files": files}))


def test_generated_sets_have_their_names(load):
    counts = GeneratedTextConfig(train_pairs=5, dev_pairs=3, test_pairs=2, seed=1)
    corpus = load(config("generated", generated=counts))
    assert (corpus.dev_name, len(corpus.dev), corpus.test_name, len(corpus.test)) == ("dev", 3, "test", 2)
    assert len(list(corpus.train)) == 5


def test_multi30k_has_its_published_sizes(real_data, monkeypatch, load):
    monkeypatch.setenv("BPD_DATA_DIR", str(real_data))
    corpus = load(config("multi30k"))
    assert (corpus.dev_name, len(corpus.dev)) == ("val", 1014)
    assert (corpus.test_name, len(corpus.test)) == ("test_2016_flickr", 1000)
    assert sum(1 for _ in corpus.train) == 29000
    assert corpus.dev.source[0] == "A group of men are loading cotton onto a truck"
    assert corpus.dev.target[0] == "Eine Gruppe von Männern lädt Baumwolle auf einen Lastwagen"
