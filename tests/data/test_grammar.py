from dataclasses import replace

import pytest

from bpd.data.grammar import Choice, Clause, NounPhrase, Sentence
from bpd.data.lexicon import ADJECTIVES, GOALS, MOTIONS, NOUNS, PLACES, SAYINGS, TIMES, VERBS


def word(entries, english):
    """Return the entry for an English noun, verb, adjective or phrase."""
    return next(entry for entry in entries if english in vars(entry).values())


def phrase(determiner, english, adjective=None, plural=False):
    return NounPhrase(word(NOUNS, english), determiner, plural, adjective and word(ADJECTIVES, adjective))


def translations(sentence, tries=400):
    return {sentence.german(Choice(seed)) for seed in range(tries)}


MAN, WOMAN, DOG = phrase("the", "man"), phrase("the", "woman"), phrase("a", "dog", "small")
SPEAKER, HE, HER = NounPhrase(pronoun=0), NounPhrase(pronoun=1), NounPhrase(pronoun=2)


@pytest.mark.parametrize(
    ("noun", "determiner", "plural", "forms"),
    [
        ("man", "the", False, ("der alte Mann", "den alten Mann", "dem alten Mann")),
        ("man", "a", False, ("ein alter Mann", "einen alten Mann", "einem alten Mann")),
        ("woman", "the", False, ("die alte Frau", "die alte Frau", "der alten Frau")),
        ("woman", "my", False, ("meine alte Frau", "meine alte Frau", "meiner alten Frau")),
        ("child", "the", False, ("das alte Kind", "das alte Kind", "dem alten Kind")),
        ("child", "our", False, ("unser altes Kind", "unser altes Kind", "unserem alten Kind")),
        ("boy", "this", False, ("dieser alte Junge", "diesen alten Jungen", "diesem alten Jungen")),
        ("girl", "this", False, ("dieses alte Mädchen", "dieses alte Mädchen", "diesem alten Mädchen")),
        ("neighbour", "her", False, ("ihr alter Nachbar", "ihren alten Nachbarn", "ihrem alten Nachbarn")),
        ("child", "the", True, ("die alten Kinder", "die alten Kinder", "den alten Kindern")),
        ("friend", "his", True, ("seine alten Freunde", "seine alten Freunde", "seinen alten Freunden")),
        ("friend", "these", True, ("diese alten Freunde", "diese alten Freunde", "diesen alten Freunden")),
        ("dog", "two", True, ("zwei alte Hunde", "zwei alte Hunde", "zwei alten Hunden")),
        ("bird", "many", True, ("viele alte Vögel", "viele alte Vögel", "vielen alten Vögeln")),
    ],
)
def test_declension(noun, determiner, plural, forms):
    declined = phrase(determiner, noun, "old", plural)
    for case, form in zip(("nominative", "accusative", "dative"), forms):
        assert declined.german(Choice(1), case) == form
        assert replace(declined, adjective=None).german(Choice(1), case) == " ".join(form.split()[::2])


def test_synonyms_bring_their_own_gender():
    car = phrase("the", "car", "new")
    found = {car.german(Choice(seed), "accusative") for seed in range(50)}
    assert found == {"das neue Auto", "den neuen Wagen"}


def test_past_tense_has_two_forms_and_time_may_lead():
    time = word(TIMES, "yesterday")
    sentence = Sentence(Clause(MAN, "-", word(VERBS, "buy"), accusative=phrase("the", "book"), time=time))
    assert sentence.english() == "The man bought the book yesterday."
    assert translations(sentence) == {
        "Der Mann kaufte gestern das Buch.",
        "Der Mann kaufte das Buch gestern.",
        "Gestern kaufte der Mann das Buch.",
        "Der Mann hat gestern das Buch gekauft.",
        "Der Mann hat das Buch gestern gekauft.",
        "Gestern hat der Mann das Buch gekauft.",
    }


def test_time_does_not_follow_an_indefinite_object():
    sentence = Sentence(Clause(HE, "+", word(VERBS, "see"), accusative=DOG, time=word(TIMES, "today")))
    assert sentence.english() == "He sees a small dog today."
    assert translations(sentence) == {"Er sieht heute einen kleinen Hund.", "Heute sieht er einen kleinen Hund."}


def test_separable_verbs_part_in_main_clauses_only():
    called = Clause(MAN, "+", word(VERBS, "call"), accusative=HER)
    assert Sentence(called).english() == "The man calls her."
    assert translations(Sentence(called)) == {"Der Mann ruft sie an."}
    said = Clause(SPEAKER, "+", SAYINGS[0])
    assert translations(Sentence(said, "that", called)) == {
        "Ich sage, dass der Mann sie anruft.",
        "Ich sage, der Mann ruft sie an.",
    }


def test_reasons_may_lead_and_invert_the_main_clause():
    tired = Clause(HE, "+", state=word(ADJECTIVES, "old"))
    sleeps = Clause(WOMAN, "+", word(VERBS, "sleep"))
    sentence = Sentence(sleeps, "because", tired)
    assert sentence.english() == "The woman sleeps because he is old."
    assert replace(sentence, second_leads=True).english() == "Because he is old, the woman sleeps."
    assert translations(sentence) == {
        "Die Frau schläft, weil er alt ist.",
        "Die Frau schläft, da er alt ist.",
        "Die Frau schläft, denn er ist alt.",
        "Weil er alt ist, schläft die Frau.",
        "Da er alt ist, schläft die Frau.",
    }


def test_dative_before_accusative_and_modal_brackets():
    gives = Clause(SPEAKER, "+", word(VERBS, "show"), 0, dative=WOMAN, accusative=phrase("a", "picture"), with_to=True)
    assert Sentence(gives).english() == "I want to show a picture to the woman."
    assert translations(Sentence(gives)) == {"Ich will der Frau ein Bild zeigen."}
    although = Sentence(Clause(HE, "+", word(VERBS, "wait")), "although", gives)
    assert "Er wartet, obwohl ich der Frau ein Bild zeigen will." in translations(although)


def test_motion_takes_the_accusative_and_sein():
    goes = Clause(MAN, "-", MOTIONS[0], place=word(GOALS, "into the garden"))
    assert "Der Mann ist in den Garten gegangen." in translations(Sentence(goes))
    because = Sentence(Clause(HE, "-", word(VERBS, "wait")), "because", goes)
    assert "Er hat gewartet, weil der Mann in den Garten gegangen ist." in translations(because)


def test_relative_clauses_agree_and_end_with_the_verb():
    clause = Clause(WOMAN, "+", word(VERBS, "work"), place=word(PLACES, "in the garden"))
    subject = replace(WOMAN, relative=clause)
    sentence = Sentence(Clause(subject, ">", word(VERBS, "sing"), time=word(TIMES, "soon")))
    assert sentence.english() == "The woman who works in the garden will sing soon."
    assert translations(sentence) == {
        "Die Frau, die im Garten arbeitet, wird bald singen.",
        "Bald wird die Frau, die im Garten arbeitet, singen.",
    }


@pytest.mark.parametrize(
    ("number", "english", "german"),
    [
        (SPEAKER, "I am", "Ich bin"),
        (HE, "He is", "Er ist"),
        (phrase("two", "boy", plural=True), "Two boys are", "Zwei Jungen sind"),
    ],
)
def test_verbs_agree_with_their_subjects(number, english, german):
    clause = Clause(number, "+", state=word(ADJECTIVES, "young"), very=True, time=word(TIMES, "often"))
    assert Sentence(clause).english() == f"{english} often very young."
    assert f"{german} oft sehr jung." in translations(Sentence(clause))


def test_articles_before_vowels():
    assert phrase("a", "apple").english(subject=True) == "an apple"
    assert phrase("a", "apple", "red").english(subject=True) == "a red apple"
