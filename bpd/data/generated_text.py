"""The generated corpus: English–German sentence pairs from a small grammar, for trying everything without any data.

Each sentence has several valid translations, one of which is drawn: as in real parallel text, a model that sees each
source once or twice cannot know which, and distillation has something to do.
"""

from __future__ import annotations

from bpd.config import GeneratedTextConfig
from bpd.data.grammar import Choice, Clause, NounPhrase, Sentence
from bpd.data.lexicon import ADJECTIVES, GOALS, MODALS, MOTIONS, NOUNS, PLACES, PRONOUNS, SAYINGS, STATES, TIMES, VERBS
from bpd.data.parallel_text import ParallelText
from bpd.errors import BpdError

_SINGULAR_WORDS = ("the", "the", "the", "a", "a", "my", "his", "her", "our", "this")
_PLURAL_WORDS = ("the", "the", "my", "our", "these", "two", "three", "many")


def draw_sentence(choice: Choice) -> Sentence:
    """Return a sentence to be said in English and in German, drawn by `choice`."""
    kind = choice.random()
    if kind < 0.5:
        return Sentence(_draw_clause(choice, choice.of("+-->m")))
    if kind < 0.65:
        tense = choice.of("+-")
        matrix = Clause(_draw_subject(choice), tense, verb=choice.of(SAYINGS))
        return Sentence(matrix, "that", _draw_clause(choice, choice.of("+->") if tense == "+" else "-", plain=True))
    tense = choice.of("+-")
    joint = choice.of(("and", "but", "because", "because", "although"))
    leads = joint in ("because", "although") and choice.chance(0.3)
    return Sentence(_draw_clause(choice, tense, plain=True), joint, _draw_clause(choice, tense, plain=True), leads)


def _draw_clause(choice: Choice, tense: str, plain: bool = False) -> Clause:
    """Draw a clause; a `plain` one, for use in longer sentences, has fewer adverbials."""
    subject = _draw_subject(choice, relative=not plain)
    times = [time for time in TIMES if tense in time.tenses]
    time = choice.of(times) if times and choice.chance(0.25 if plain else 0.6) else None
    common = {"subject": subject, "time": time, "time_first": not plain and choice.chance(0.35)}
    modal = int(choice.random() * len(MODALS)) if tense == "m" else None
    tense = "+" if tense == "m" else tense
    kind = choice.random()
    if kind < 0.15 and modal is None and tense in "+-":
        return Clause(**common, tense=tense, state=choice.of(STATES), very=choice.chance(0.3))
    if kind < 0.3:
        return Clause(**common, tense=tense, modal=modal, verb=choice.of(MOTIONS), place=choice.of(GOALS))
    verb = choice.of(VERBS)
    dative = _draw_object(choice, verb.dative, subject) if verb.dative else None
    accusative = _draw_object(choice, verb.accusative, subject) if verb.accusative else None
    place = choice.of(PLACES) if choice.chance(0.15 if plain else 0.4) else None
    with_to = verb.accusative != "" and choice.chance(0.4)
    return Clause(
        **common,
        tense=tense,
        modal=modal,
        verb=verb,
        dative=dative,
        accusative=accusative,
        with_to=with_to,
        place=place,
    )


def _draw_subject(choice: Choice, relative: bool = False) -> NounPhrase:
    if choice.chance(0.3):
        return NounPhrase(pronoun=int(choice.random() * len(PRONOUNS)))
    phrase = _draw_noun_phrase(choice, "p")
    if relative and phrase.word == "the" and choice.chance(0.2):
        verb = choice.of([verb for verb in VERBS if not verb.dative and not verb.accusative])
        clause = Clause(phrase, "+", verb=verb, place=choice.of(PLACES))
        return NounPhrase(phrase.noun, phrase.word, phrase.plural, None, relative=clause)
    return phrase


def _draw_object(choice: Choice, kinds: str, subject: NounPhrase) -> NounPhrase:
    if kinds == "p" and choice.chance(0.25):
        pronoun = int(choice.random() * len(PRONOUNS))
        # The subject's own pronoun would have to be a reflexive one, which the grammar does not have.
        if subject.noun is not None or pronoun != subject.pronoun:
            return NounPhrase(pronoun=pronoun)
    return _draw_noun_phrase(choice, kinds)


def _draw_noun_phrase(choice: Choice, kinds: str) -> NounPhrase:
    noun = choice.of([noun for noun in NOUNS if noun.kind in kinds])
    plural = choice.chance(0.25)
    word = choice.of(_PLURAL_WORDS if plural else _SINGULAR_WORDS)
    suitable = [adjective for adjective in ADJECTIVES if noun.kind in adjective.kinds]
    return NounPhrase(noun, word, plural, choice.of(suitable) if choice.chance(0.3) else None)


def generate_corpus(config: GeneratedTextConfig) -> tuple[ParallelText, ParallelText, ParallelText]:
    """Return train, dev and test pairs; the same config gives the same ones everywhere.

    No English sentence of dev or test occurs in any other set or twice in its own; training sentences may repeat,
    usually with another translation. Raises `BpdError` where the grammar has too few sentences.
    """
    choice = Choice(config.seed)
    held_out: set[str] = set()
    dev, test = (_draw_unique(choice, count, held_out) for count in (config.dev_pairs, config.test_pairs))
    train: list[tuple[str, str]] = []
    while len(train) < config.train_pairs:
        sentence = draw_sentence(choice)
        if sentence.english() not in held_out:
            train.append((sentence.english(), sentence.german(choice)))
    sets = [ParallelText([pair[0] for pair in pairs], [pair[1] for pair in pairs]) for pairs in (train, dev, test)]
    return sets[0], sets[1], sets[2]


def _draw_unique(choice: Choice, count: int, held_out: set[str]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    tries = 0
    while len(pairs) < count:
        tries += 1
        if tries > 100 * count + 1000:
            raise BpdError(
                f"the grammar has fewer than {count} different sentences for a set: lower the number of pairs"
            )
        sentence = draw_sentence(choice)
        english = sentence.english()
        if english not in held_out:
            held_out.add(english)
            pairs.append((english, sentence.german(choice)))
    return pairs
