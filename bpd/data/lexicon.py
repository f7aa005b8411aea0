"""The lexicon of the generated corpus: English words and their German translations with gender, case and tense forms.

Where a word has several good translations they all stand here, the most usual one first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

Entry = TypeVar("Entry")
CASES = ("nominative", "accusative", "dative")


@dataclass(frozen=True)
class GermanNoun:
    """One German noun: gender m, f or n, and its forms."""

    gender: str
    nominative: str
    oblique: str
    plural: str
    plural_dative: str


@dataclass(frozen=True)
class Noun:
    """An English noun, what kind of thing it is, and its German translations."""

    singular: str
    plural: str
    kind: str
    german: tuple[GermanNoun, ...]


@dataclass(frozen=True)
class Adjective:
    """An English adjective, the kinds of nouns it suits, and its German translations as (stem, bare form)."""

    english: str
    kinds: str
    german: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class GermanVerb:
    """One German verb; `prefix` is separable and not part of the other forms, `participle` is whole."""

    prefix: str
    infinitive: str
    present: str
    preterite: str
    participle: str
    auxiliary: str


@dataclass(frozen=True)
class Verb:
    """An English verb, the kinds of its objects by case, and its German translations."""

    base: str
    present: str
    past: str
    german: tuple[GermanVerb, ...]
    dative: str = ""
    accusative: str = ""


@dataclass(frozen=True)
class Phrase:
    """An adverbial: English, German translations, its tenses, and where it can stand.

    `fronts`: it may begin a German main clause. `with_verb`: in English it stands beside the verb.
    """

    english: str
    german: tuple[str, ...]
    tenses: str = ""
    fronts: bool = True
    with_verb: bool = False


def _table(parse: Callable[[str], Entry], text: str) -> tuple[Entry, ...]:
    return tuple(parse(line) for line in text.strip().split("\n"))


def _noun(line: str) -> Noun:
    english, kind, german = (part.strip() for part in line.split("|"))
    singular, plural = english.split()
    return Noun(singular, plural, kind, tuple(GermanNoun(*words.split()) for words in german.split("/")))


def _adjective(line: str) -> Adjective:
    english, kinds, german = (part.strip() for part in line.split("|"))
    forms = [words.split() for words in german.split("/")]
    return Adjective(english, kinds, tuple((words[0], words[-1]) for words in forms))


def _verb(line: str) -> Verb:
    english, dative, accusative, german = (part.strip() for part in line.split("|"))
    return Verb(*english.split(), tuple(_german_verb(words) for words in german.split("/")), dative, accusative)


def _german_verb(words: str) -> GermanVerb:
    infinitive, present, preterite, participle = words.split()
    prefix, _, stem = infinitive.rpartition("+")
    auxiliary = "sein" if participle.startswith("*") else "haben"
    return GermanVerb(prefix, stem, present, preterite, participle.lstrip("*"), auxiliary)


# Kinds: p person, a animal, r something to read, f food, v vehicle, o something to open, t other thing.
NOUNS = _table(
    _noun,
    """
man men | p | m Mann Mann Männer Männern
woman women | p | f Frau Frau Frauen Frauen
child children | p | n Kind Kind Kinder Kindern
girl girls | p | n Mädchen Mädchen Mädchen Mädchen
boy boys | p | m Junge Jungen Jungen Jungen
teacher teachers | p | m Lehrer Lehrer Lehrer Lehrern
doctor doctors | p | f Ärztin Ärztin Ärztinnen Ärztinnen
neighbour neighbours | p | m Nachbar Nachbarn Nachbarn Nachbarn
friend friends | p | m Freund Freund Freunde Freunden
sister sisters | p | f Schwester Schwester Schwestern Schwestern
dog dogs | a | m Hund Hund Hunde Hunden
cat cats | a | f Katze Katze Katzen Katzen
horse horses | a | n Pferd Pferd Pferde Pferden
bird birds | a | m Vogel Vogel Vögel Vögeln
book books | r | n Buch Buch Bücher Büchern
letter letters | r | m Brief Brief Briefe Briefen
newspaper newspapers | r | f Zeitung Zeitung Zeitungen Zeitungen
apple apples | f | m Apfel Apfel Äpfel Äpfeln
cake cakes | f | m Kuchen Kuchen Kuchen Kuchen
egg eggs | f | n Ei Ei Eier Eiern
car cars | v | n Auto Auto Autos Autos / m Wagen Wagen Wagen Wagen
bicycle bicycles | v | n Fahrrad Fahrrad Fahrräder Fahrrädern / n Rad Rad Räder Rädern
door doors | o | f Tür Tür Türen Türen
window windows | o | n Fenster Fenster Fenster Fenstern
bottle bottles | o | f Flasche Flasche Flaschen Flaschen
picture pictures | t | n Bild Bild Bilder Bildern
flower flowers | t | f Blume Blume Blumen Blumen
key keys | t | m Schlüssel Schlüssel Schlüssel Schlüsseln
hat hats | t | m Hut Hut Hüte Hüten
jacket jackets | t | f Jacke Jacke Jacken Jacken
""",
)

ADJECTIVES = _table(
    _adjective,
    """
old | parvot | alt
big | avoft | groß
small | pavoft | klein
young | pa | jung
friendly | pa | freundlich / nett
clever | pa | klug / schlau
famous | p | berühmt / bekannt
new | rvot | neu
beautiful | avt | schön
expensive | rvt | teur teuer / kostspielig
cheap | rvt | billig / günstig
red | vot | rot
black | avt | schwarz
good | prf | gut
""",
)

STATES = _table(
    _adjective,
    """
tired | pa | müde
happy | pa | glücklich / froh
hungry | pa | hungrig
ill | pa | krank
sad | pa | traurig
""",
)

# English | kinds of the dative object | kinds of the accusative object | German
VERBS = _table(
    _verb,
    """
read reads read | | r | lesen liest las gelesen
buy buys bought | | arfvt | kaufen kauft kaufte gekauft
see sees saw | | parfvot | sehen sieht sah gesehen
find finds found | | arfvt | finden findet fand gefunden
eat eats ate | | f | essen isst aß gegessen
paint paints painted | | paft | malen malt malte gemalt
repair repairs repaired | | vo | reparieren repariert reparierte repariert
forget forgets forgot | | rft | vergessen vergisst vergaß vergessen
open opens opened | | o | öffnen öffnet öffnete geöffnet / auf+machen macht machte aufgemacht
close closes closed | | o | schließen schließt schloss geschlossen / zu+machen macht machte zugemacht
call calls called | | p | an+rufen ruft rief angerufen
invite invites invited | | p | ein+laden lädt lud eingeladen
visit visits visited | | p | besuchen besucht besuchte besucht
help helps helped | p | | helfen hilft half geholfen
thank thanks thanked | p | | danken dankt dankte gedankt
give gives gave | p | arft | geben gibt gab gegeben / schenken schenkt schenkte geschenkt
show shows showed | p | arfvt | zeigen zeigt zeigte gezeigt
bring brings brought | p | rft | bringen bringt brachte gebracht / mit+bringen bringt brachte mitgebracht
sell sells sold | p | arfvt | verkaufen verkauft verkaufte verkauft
sleep sleeps slept | | | schlafen schläft schlief geschlafen
work works worked | | | arbeiten arbeitet arbeitete gearbeitet
wait waits waited | | | warten wartet wartete gewartet
sing sings sang | | | singen singt sang gesungen
play plays played | | | spielen spielt spielte gespielt
dance dances danced | | | tanzen tanzt tanzte getanzt
""",
)

MOTIONS = _table(
    _verb,
    """
go goes went | | | gehen geht ging *gegangen
run runs ran | | | laufen läuft lief *gelaufen / rennen rennt rannte *gerannt
come comes came | | | kommen kommt kam *gekommen
drive drives drove | | | fahren fährt fuhr *gefahren
""",
)

SAYINGS = _table(
    _verb,
    """
say says said | | | sagen sagt sagte gesagt
think thinks thought | | | denken denkt dachte gedacht / glauben glaubt glaubte geglaubt
hope hopes hoped | | | hoffen hofft hoffte gehofft
""",
)

PLACES = (
    Phrase("in the garden", ("im Garten",)),
    Phrase("in the kitchen", ("in der Küche",)),
    Phrase("in the forest", ("im Wald",)),
    Phrase("in the house", ("im Haus",)),
    Phrase("in the city", ("in der Stadt",)),
    Phrase("at the station", ("am Bahnhof",)),
    Phrase("at the lake", ("am See",)),
    Phrase("at the market", ("auf dem Markt",)),
)

GOALS = (
    Phrase("into the garden", ("in den Garten",)),
    Phrase("into the kitchen", ("in die Küche",)),
    Phrase("into the forest", ("in den Wald",)),
    Phrase("into the house", ("ins Haus",)),
    Phrase("into the city", ("in die Stadt",)),
    Phrase("to the station", ("zum Bahnhof",)),
    Phrase("to the lake", ("zum See", "an den See")),
    Phrase("to the market", ("zum Markt", "auf den Markt")),
)

# Tenses: + present, - past, > future, m with a modal verb.
TIMES = (
    Phrase("today", ("heute",), "+->m"),
    Phrase("often", ("oft", "häufig"), "+-", with_verb=True),
    Phrase("always", ("immer",), "+", fronts=False, with_verb=True),
    Phrase("every day", ("jeden Tag", "täglich"), "+m"),
    Phrase("in the evening", ("am Abend", "abends"), "+-m"),
    Phrase("on Monday", ("am Montag",), "->m"),
    Phrase("on Sunday", ("am Sonntag",), "->m"),
    Phrase("yesterday", ("gestern",), "-"),
    Phrase("last week", ("letzte Woche", "in der letzten Woche"), "-"),
    Phrase("tomorrow", ("morgen",), ">m"),
    Phrase("soon", ("bald",), ">"),
    Phrase("next week", ("nächste Woche", "in der nächsten Woche"), ">m"),
)

# English singular and plural, German singular and plural.
MODALS = (
    ("wants to", "want to", "will", "wollen"),
    ("can", "can", "kann", "können"),
    ("must", "must", "muss", "müssen"),
)

# English subject and object; German by case; number.
PRONOUNS = (
    ("I", "me", ("ich", "mich", "mir"), "first"),
    ("he", "him", ("er", "ihn", "ihm"), "singular"),
    ("she", "her", ("sie", "sie", "ihr"), "singular"),
    ("we", "us", ("wir", "uns", "uns"), "plural"),
    ("they", "them", ("sie", "sie", "ihnen"), "plural"),
)
