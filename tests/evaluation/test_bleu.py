import math
import warnings

import pytest

from bpd.errors import BpdError
from bpd.evaluation.bleu import all_bleu, corpus_bleu, looks_tokenised

NOUNS = ["Hund", "Vogel", "Mann", "Garten", "Berg", "Zug", "Brief", "Turm", "Fluss", "Wald"]
REFERENCES = [
    f"Der {NOUNS[i % 10]} steht am {i}. Tag neben dem {NOUNS[i * 7 % 10]}, und alle sehen ihn an." for i in range(200)
]


def test_a_perfect_hypothesis_scores_a_hundred_by_all_three_measures():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bleu = all_bleu(REFERENCES, REFERENCES)
    assert bleu.bleu == pytest.approx(100)
    assert bleu.bleu_intl == pytest.approx(100)
    assert bleu.bleu_compound_split == pytest.approx(100)
    assert bleu.brevity_penalty == 1.0


def test_tokenised_hypotheses_are_warned_of():
    tokenised = [line.replace(",", " ,").replace("an.", "an .") for line in REFERENCES]
    with pytest.warns(UserWarning, match="the hypotheses look tokenised"):
        bleu = all_bleu(tokenised, REFERENCES)
    assert bleu.bleu == pytest.approx(100), "13a alone would not show it"


def test_tokenised_references_excuse_tokenised_hypotheses():
    tokenised = [line.replace("an.", "an .") for line in REFERENCES]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        all_bleu(tokenised, tokenised)


@pytest.mark.parametrize(
    ("lines", "tokenised"),
    [
        ([], False),
        (["ohne Punkt", "auch ohne"], False),
        (["Eins .", "Zwei .", "Drei."], True),
        (["Eins .", "Zwei."], False),
        (["Eins .", "ohne", "ohne", "ohne"], True),
    ],
)
def test_most_full_stops_decide_what_looks_tokenised(lines, tokenised):
    assert looks_tokenised(lines) is tokenised


def test_short_hypotheses_are_penalised_and_long_ones_are_not():
    short = [line.replace(", und alle", ", alle") for line in REFERENCES]
    hypothesis, reference = 16, 17  # tokens a line, by 13a: words, number, comma and full stops
    assert all_bleu(short, REFERENCES).brevity_penalty == pytest.approx(math.exp(1 - reference / hypothesis))
    assert all_bleu(REFERENCES, short).brevity_penalty == 1.0


def test_case_counts():
    assert corpus_bleu([line.lower() for line in REFERENCES], REFERENCES) < 80


def test_one_number_is_the_13a_of_the_whole():
    short = [line.replace("steht ", "") for line in REFERENCES]
    bleu = all_bleu(short, REFERENCES)
    assert corpus_bleu(short, REFERENCES) == bleu.bleu
    assert 0 < bleu.bleu < 100


def test_signatures_tell_case_tokenisation_and_version():
    bleu = all_bleu(REFERENCES, REFERENCES)
    assert bleu.signature.startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert "|tok:intl|" in bleu.signature_intl


def test_split_compounds_match_in_part():
    hypotheses = [f"Die {noun}-Frage steht heute im Raum." for noun in NOUNS]
    references = [f"Die {noun}-Antwort steht heute im Raum." for noun in NOUNS]
    bleu = all_bleu(hypotheses, references)
    # Of 9 tokens, as in "Die Hund ##AT##-##AT## Frage steht heute im Raum .", the fourth is wrong.
    assert bleu.bleu_compound_split == pytest.approx(100 * (8 / 9 * 6 / 8 * 4 / 7 * 2 / 6) ** 0.25)


def test_hyphens_between_spaces_are_no_compounds():
    hypotheses = [f"Der {noun} – oder - die Frage im Raum" for noun in NOUNS]
    references = [f"Der {noun} – oder - eine Frage im Raum" for noun in NOUNS]
    bleu = all_bleu(hypotheses, references)
    assert bleu.bleu_compound_split == pytest.approx(bleu.bleu)


def test_blank_lines_are_segments_like_others():
    references = [*REFERENCES[:10], "", "Noch einer."]
    hypotheses = [*REFERENCES[:9], "", "", "Noch einer."]
    bleu = all_bleu(hypotheses, references)
    # Ten lines of 17 tokens and one of 3, of which one of 17 is missing.
    assert bleu.brevity_penalty == pytest.approx(math.exp(1 - 173 / 156))
    assert bleu.bleu == pytest.approx(100 * bleu.brevity_penalty)
    assert all_bleu(references, references).bleu == pytest.approx(100)


def test_nothing_but_blanks_scores_zero():
    assert all_bleu([""] * 10, REFERENCES[:10]).bleu == 0.0


@pytest.mark.parametrize(("hypotheses", "references"), [(2737, 3003), (3003, 2737), (0, 1)])
def test_unlike_counts_are_refused_with_both_numbers(hypotheses, references):
    with pytest.raises(BpdError, match=f"{hypotheses} hypotheses .* {references} references"):
        all_bleu(["Satz."] * hypotheses, ["Satz."] * references)


def test_there_is_no_score_of_nothing():
    with pytest.raises(BpdError, match="nothing to score"):
        corpus_bleu([], [])
