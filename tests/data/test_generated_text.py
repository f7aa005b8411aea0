import pytest

from bpd.config import GeneratedTextConfig
from bpd.data.generated_text import draw_sentence, generate_corpus
from bpd.data.grammar import Choice, Clause, NounPhrase, Sentence
from bpd.data.lexicon import VERBS
from bpd.errors import BpdError

CONFIG = GeneratedTextConfig(train_pairs=1500, dev_pairs=100, test_pairs=100, seed=1)
HE = NounPhrase(pronoun=1)


@pytest.fixture(scope="module")
def corpus():
    return generate_corpus(CONFIG)


def test_sets_have_their_sizes_and_share_no_source(corpus):
    train, dev, test = corpus
    assert [len(text) for text in corpus] == [1500, 100, 100]
    held_out = dev.source + test.source
    assert len(set(held_out)) == 200
    assert not set(held_out) & set(train.source)


def test_the_seed_decides_everything(corpus):
    assert generate_corpus(CONFIG) == corpus
    assert generate_corpus(CONFIG.model_copy(update={"seed": 2})) != corpus


def test_a_known_sentence_stays_the_same(corpus):
    assert corpus[1].source[0] == "A child wants to call her good man."
    assert corpus[1].target[0] == "Ein Kind will ihren guten Mann anrufen."


def test_sentences_look_like_sentences(corpus):
    train, _, _ = corpus
    for text in (*train.source, *train.target):
        assert text[0].isupper()
        assert text.endswith(".")
        assert not set(text) & set("+*|/")
        assert "  " not in text
        assert ",," not in text
        assert ",." not in text
        assert " ," not in text
        assert 2 <= len(text.split()) <= 30


def test_most_sources_have_several_translations():
    choice = Choice(5)
    sentences = [draw_sentence(choice) for _ in range(200)]
    counts = [len({sentence.german(Choice(seed)) for seed in range(30)}) for sentence in sentences]
    assert sum(count > 1 for count in counts) > 150
    assert len({sentence.english() for sentence in sentences}) > 150


def test_a_subject_is_never_its_own_object(corpus):
    for text in corpus:
        for source in text.source:
            words = source.lower().rstrip(".").split()
            assert not ({"i", "me"} <= set(words) and len(words) <= 4)


def test_more_sentences_than_the_grammar_has_are_refused(monkeypatch):
    monkeypatch.setattr("bpd.data.generated_text.draw_sentence", lambda choice: Sentence(Clause(HE, "+", VERBS[-1])))
    with pytest.raises(BpdError, match="fewer than 100 different sentences"):
        generate_corpus(CONFIG)


def test_training_never_sees_a_held_out_source(monkeypatch):
    few = [Sentence(Clause(HE, "+", verb)) for verb in VERBS if not verb.dative and not verb.accusative]
    monkeypatch.setattr("bpd.data.generated_text.draw_sentence", lambda choice: choice.of(few))
    counts = CONFIG.model_copy(update={"train_pairs": 50, "dev_pairs": 2, "test_pairs": 2})
    train, dev, test = generate_corpus(counts)
    assert set(train.source) == {sentence.english() for sentence in few} - set(dev.source) - set(test.source)
