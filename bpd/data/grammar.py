"""The grammar of the generated corpus: noun phrases, clauses and sentences, in English and in German.

German gender, case, adjective endings and verb position are right. A sentence has several valid translations
(synonyms, tense, order of phrases and of clauses); `german` draws one of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bpd.data.lexicon import CASES, MODALS, PRONOUNS, Adjective, GermanNoun, GermanVerb, Noun, Phrase, Verb

Item = TypeVar("Item")
_ARTICLES = {
    "m": ("der", "den", "dem"),
    "f": ("die", "die", "der"),
    "n": ("das", "das", "dem"),
    "plural": ("die", "die", "den"),
}
_ENDINGS = {
    "m": ("", "en", "em"),
    "f": ("e", "e", "er"),
    "n": ("", "", "em"),
    "plural": ("e", "e", "en"),
}
_STRONG_ENDINGS = {
    "m": ("er", "en", "em"),
    "f": ("e", "e", "er"),
    "n": ("es", "es", "em"),
    "plural": ("e", "e", "en"),
}
_EIN_WORDS = {"a": "ein", "my": "mein", "his": "sein", "her": "ihr", "our": "unser"}
_COUNTS = {"two": "zwei", "three": "drei", "many": "viel"}


class Choice(random.Random):
    """Seeded choices; the same seed gives the same ones on every machine."""

    def chance(self, probability: float) -> bool:
        """Return True with the given probability."""
        return self.random() < probability

    def of(self, items: Sequence[Item]) -> Item:
        """Return one of `items`, each equally likely."""
        return items[int(self.random() * len(items))]

    def usual(self, items: Sequence[Item]) -> Item:
        """Return the first item mostly, else any of the others."""
        return items[0] if len(items) == 1 or self.chance(0.6) else self.of(items[1:])


@dataclass(frozen=True)
class NounPhrase:
    """A noun with determiner and perhaps an adjective and a relative clause, or a personal pronoun."""

    noun: Noun | None = None
    word: str = ""
    plural: bool = False
    adjective: Adjective | None = None
    pronoun: int = 0
    relative: Clause | None = None

    @property
    def number(self) -> str:
        """Which verb form the phrase asks for as a subject: first (person singular), singular or plural."""
        return PRONOUNS[self.pronoun][3] if self.noun is None else "plural" if self.plural else "singular"

    @property
    def definite(self) -> bool:
        """Whether the phrase stands for something known, so that it may stand before an adverb of time."""
        return self.noun is None or self.word not in ("a", *_COUNTS)

    def english(self, subject: bool) -> str:
        """Return the English words."""
        if self.noun is None:
            return PRONOUNS[self.pronoun][0 if subject else 1]
        words = [self.adjective.english] if self.adjective else []
        words.append(self.noun.plural if self.plural else self.noun.singular)
        word = "an" if self.word == "a" and words[0][0] in "aeiou" else self.word
        phrase = " ".join([word, *words])
        return f"{phrase} who {self.relative.english_predicate()}" if self.relative else phrase

    def german(self, choice: Choice, case: str) -> str:
        """Return one German translation in the given case; a relative clause ends with a comma."""
        index = CASES.index(case)
        if self.noun is None:
            return PRONOUNS[self.pronoun][2][index]
        noun = choice.usual(self.noun.german)
        column = "plural" if self.plural else noun.gender
        words = [self._german_word(column, index)]
        if self.adjective:
            words.append(choice.usual(self.adjective.german)[0] + self._adjective_ending(column, index))
        words.append(self._german_noun(noun, index))
        phrase = " ".join(words)
        if self.relative:
            return f"{phrase}, {_ARTICLES[column][0]} {self.relative.german_predicate(choice)},"
        return phrase

    def _german_word(self, column: str, case: int) -> str:
        if self.word == "the":
            return _ARTICLES[column][case]
        if self.word in ("this", "these"):
            return "dies" + _STRONG_ENDINGS[column][case]
        if self.word == "many":
            return _COUNTS["many"] + _STRONG_ENDINGS[column][case]
        if self.word in _COUNTS:
            return _COUNTS[self.word]
        return _EIN_WORDS[self.word] + _ENDINGS[column][case]

    def _adjective_ending(self, column: str, case: int) -> str:
        if self.word in _COUNTS:
            return _STRONG_ENDINGS[column][case]
        if column == "plural" or CASES[case] == "dative" or (column == "m" and CASES[case] == "accusative"):
            return "en"
        return "e" if self.word in ("the", "this") else _STRONG_ENDINGS[column][case]

    def _german_noun(self, noun: GermanNoun, case: int) -> str:
        if self.plural:
            return noun.plural_dative if CASES[case] == "dative" else noun.plural
        return noun.nominative if CASES[case] == "nominative" else noun.oblique


@dataclass(frozen=True)
class Clause:
    """Who does what to whom, where and when; without a verb, in what state the subject is."""

    subject: NounPhrase
    tense: str
    verb: Verb | None = None
    modal: int | None = None
    state: Adjective | None = None
    very: bool = False
    dative: NounPhrase | None = None
    accusative: NounPhrase | None = None
    with_to: bool = False
    place: Phrase | None = None
    time: Phrase | None = None
    time_first: bool = False

    def english(self) -> str:
        """Return the English clause."""
        words = [self.subject.english(subject=True), self.english_predicate()]
        if self.time and self.time_first and not self.time.with_verb:
            words.insert(0, f"{self.time.english},")
        return " ".join(words)

    def english_predicate(self) -> str:
        """Return the English clause without its subject and a leading time."""
        words = [self._english_verb()]
        if self.time and self.time.with_verb:
            words.insert(0 if self.verb else 1, self.time.english)
        if self.state:
            words += ["very"] * self.very + [self.state.english]
        objects = [part.english(subject=False) for part in (self.dative, self.accusative) if part]
        if self.with_to and len(objects) == 2:
            objects = [objects[1], "to", objects[0]]
        words += objects
        late_time = None if self.time_first or (self.time and self.time.with_verb) else self.time
        words += [part.english for part in (self.place, late_time) if part]
        return " ".join(words)

    def _english_verb(self) -> str:
        number = self.subject.number
        if self.verb is None:
            if self.tense == "-":
                return "were" if number == "plural" else "was"
            return {"first": "am", "singular": "is", "plural": "are"}[number]
        if self.modal is not None:
            return f"{MODALS[self.modal][0 if number == 'singular' else 1]} {self.verb.base}"
        if self.tense == ">":
            return f"will {self.verb.base}"
        if self.tense == "-":
            return self.verb.past
        return self.verb.present if number == "singular" else self.verb.base

    def german_main(self, choice: Choice, after_clause: bool = False) -> str:
        """Return one German translation with the finite verb second, or first where another clause comes before."""
        finite, tail, _ = self._german_verb(choice)
        subject = self.subject.german(choice, "nominative")
        fronted = self.time is not None and self.time.fronts and not after_clause and choice.chance(0.4)
        middle = self._middle(choice, with_time=not fronted)
        if fronted:
            words = [choice.usual(self.time.german), finite, subject]
        else:
            words = [finite, subject] if after_clause else [subject, finite]
        return " ".join([*words, *middle, *tail])

    def german_final(self, choice: Choice) -> str:
        """Return one German translation with the finite verb last, as after a subordinating conjunction."""
        return f"{self.subject.german(choice, 'nominative')} {self.german_predicate(choice)}"

    def german_predicate(self, choice: Choice) -> str:
        """Return what follows the subject, or the relative pronoun, of a clause with the finite verb last."""
        _, _, final = self._german_verb(choice)
        return " ".join([*self._middle(choice, with_time=True), *final])

    def _middle(self, choice: Choice, with_time: bool) -> list[str]:
        """Return the phrases of the middle field in one of their valid orders.

        Pronouns come first, the person before the thing; time may follow what is definite; place comes late.
        """
        phrases: list[str] = []
        earliest = 0
        for phrase, case in ((self.dative, "dative"), (self.accusative, "accusative")):
            if phrase:
                phrases.append(phrase.german(choice, case))
                earliest += phrase.noun is None
        latest = earliest
        for phrase in [part for part in (self.dative, self.accusative) if part][earliest:]:
            if not phrase.definite:
                break
            latest += 1
        position = earliest + int(choice.random() * (latest - earliest + 1))
        if self.time and with_time:
            phrases.insert(position, choice.usual(self.time.german))
        if self.place:
            place = choice.usual(self.place.german)
            before_thing = self.accusative is not None and not self.accusative.definite and choice.chance(0.4)
            phrases.insert(len(phrases) - before_thing, place)
        return phrases + ["sehr"] * self.very

    def _german_verb(self, choice: Choice) -> tuple[str, list[str], list[str]]:
        """Return the finite verb, what ends a main clause, and what ends a subordinate one."""
        number = self.subject.number
        if self.verb is None:
            state = choice.usual(self.state.german)[1] if self.state else ""
            forms = {"first": ("bin", "war"), "singular": ("ist", "war"), "plural": ("sind", "waren")}
            finite = forms[number][self.tense == "-"]
            return finite, [state], [state, finite]
        verb = choice.usual(self.verb.german)
        if self.modal is not None:
            finite = MODALS[self.modal][3 if number == "plural" else 2]
            return _periphrastic(finite, verb.prefix + verb.infinitive)
        if self.tense == ">":
            finite = {"first": "werde", "singular": "wird", "plural": "werden"}[number]
            return _periphrastic(finite, verb.prefix + verb.infinitive)
        if self.tense == "-" and choice.chance(0.5):
            return _periphrastic(_AUXILIARIES[verb.auxiliary][number], verb.participle)
        finite = _simple_form(verb, number, past=self.tense == "-")
        return finite, [verb.prefix] if verb.prefix else [], [verb.prefix + finite]


_AUXILIARIES = {
    "haben": {"first": "habe", "singular": "hat", "plural": "haben"},
    "sein": {"first": "bin", "singular": "ist", "plural": "sind"},
}


def _periphrastic(finite: str, rest: str) -> tuple[str, list[str], list[str]]:
    return finite, [rest], [rest, finite]


def _plural_past(singular: str) -> str:
    return singular + ("n" if singular.endswith("e") else "en")


def _simple_form(verb: GermanVerb, number: str, past: bool) -> str:
    if past:
        return _plural_past(verb.preterite) if number == "plural" else verb.preterite
    return {"first": verb.infinitive.removesuffix("n"), "singular": verb.present, "plural": verb.infinitive}[number]


@dataclass(frozen=True)
class Sentence:
    """One or two clauses and what joins them."""

    first: Clause
    joint: str = ""
    second: Clause | None = None
    second_leads: bool = False

    def english(self) -> str:
        """Return the English sentence."""
        first = self.first.english()
        if self.second is None:
            return _finished(first)
        second = self.second.english()
        if self.joint in ("and", "but"):
            return _finished(f"{first}, {self.joint} {second}")
        if self.second_leads:
            return _finished(f"{self.joint} {second}, {first}")
        return _finished(f"{first} {self.joint} {second}")

    def german(self, choice: Choice) -> str:
        """Return one valid German translation, drawn by `choice`."""
        if self.second is None:
            return _finished(self.first.german_main(choice))
        return _finished(_JOINTS[self.joint](self, choice))


def _coordinated(conjunction: str) -> Callable[[Sentence, Choice], str]:
    def translate(sentence: Sentence, choice: Choice) -> str:
        return f"{sentence.first.german_main(choice)}, {conjunction} {sentence.second.german_main(choice)}"

    return translate


def _subordinated(conjunctions: tuple[str, ...], main_conjunction: str = "") -> Callable[[Sentence, Choice], str]:
    def translate(sentence: Sentence, choice: Choice) -> str:
        if choice.chance(0.85 if sentence.second_leads else 0.2):
            clause = f"{choice.usual(conjunctions)} {sentence.second.german_final(choice)}"
            return f"{clause}, {sentence.first.german_main(choice, after_clause=True)}"
        if main_conjunction and choice.chance(0.3):
            return f"{sentence.first.german_main(choice)}, {main_conjunction} {sentence.second.german_main(choice)}"
        clause = f"{choice.usual(conjunctions)} {sentence.second.german_final(choice)}"
        return f"{sentence.first.german_main(choice)}, {clause}"

    return translate


def _reported(sentence: Sentence, choice: Choice) -> str:
    if choice.chance(0.3):
        return f"{sentence.first.german_main(choice)}, {sentence.second.german_main(choice)}"
    return f"{sentence.first.german_main(choice)}, dass {sentence.second.german_final(choice)}"


_JOINTS: dict[str, Callable[[Sentence, Choice], str]] = {
    "and": _coordinated("und"),
    "but": _coordinated("aber"),
    "because": _subordinated(("weil", "da"), main_conjunction="denn"),
    "although": _subordinated(("obwohl",)),
    "that": _reported,
}


def _finished(text: str) -> str:
    text = text.replace(",,", ",").replace(",.", ".")
    return text[0].upper() + text[1:].rstrip(",") + "."
