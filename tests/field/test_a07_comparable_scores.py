"""A07: scores that cannot be compared: another newstest2014, tokenised text, swapped arguments.

Kind: an unrecorded choice changes the number. The parts of a score are reckoned by hand in test_bleu.py and
test_score.py of tests/evaluation; that the shorter newstest2014 is never taken for the full one is in
tests/data/test_newstest.py.
Here `bpd score` is called on decode records. Arguments cannot be crossed: hypotheses are records, which say what they
are of, and references are plain lines. Further cases: records of another preparation of the data, which has as many
lines, and references whose words and spaces differ from the published ones in their Unicode form alone.
"""

import json
import math
import unicodedata

import pytest

from bpd.atomic import write_json
from bpd.data.lines import write_lines
from bpd.errors import BpdError
from bpd.evaluation.score import score_path, score_records
from tests.evaluation.example_records import record, write_decoding
from tests.field.driver import bpd, refused

NOUNS = ["Hund", "Vogel", "Mann", "Garten", "Berg", "Zug", "Brief", "Turm", "Fluss", "Wald"]
REFERENCES = [f"Der {NOUNS[i % 10]} steht am {i}. Tag neben dem {NOUNS[i * 7 % 10]} und sieht ihn." for i in range(200)]


def written(folder, hypotheses: list[str], references: list[str], **meta):
    folder.mkdir(exist_ok=True)
    return write_decoding(folder, [record(index, text) for index, text in enumerate(hypotheses)], references, **meta)


@pytest.mark.parametrize(("outputs", "references"), [(2737, 3003), (3003, 2737)])
def test_a07_the_two_editions_of_newstest2014_are_not_scored_against_each_other(tmp_path, outputs, references):
    test = {"set": "newstest2014", "role": "test"}
    path, data = written(tmp_path, ["Ein Satz."] * outputs, ["Ein Satz."] * references, **test)
    refused(bpd("score", path, "--data", data), f"holds {outputs} outputs", f"newstest2014.de {references} references")
    assert not score_path(path).exists()


def test_a07_a_perfect_hypothesis_scores_100_and_a_tokenised_one_is_pointed_out(tmp_path):
    as_it_is, data = written(tmp_path / "detokenised", REFERENCES, REFERENCES)
    tokenised = [line.replace("ihn.", "ihn .") for line in REFERENCES]
    pulled_apart, _ = written(tmp_path / "tokenised", tokenised, REFERENCES)
    shorter = [line.replace(" steht", "") for line in REFERENCES]
    short, _ = written(tmp_path / "short", shorter, REFERENCES)
    result = bpd("score", as_it_is, pulled_apart, short, "--data", data)
    assert result.returncode == 0, result.stderr
    perfect, warned, too_short = (
        json.loads(score_path(path).read_text(encoding="utf-8")) for path in (as_it_is, pulled_apart, short)
    )
    assert perfect["bleu"] == pytest.approx(100) and perfect["brevity_penalty"] == 1.0
    assert [line.count("look tokenised") for line in result.stderr.splitlines() if "look tokenised" in line] == [1]
    assert warned["bleu"] == pytest.approx(100), "which is why it has to be pointed out"
    tokens = 14
    assert too_short["brevity_penalty"] == pytest.approx(math.exp(1 - tokens / (tokens - 1)))


def test_a07_a_score_says_what_it_is_of(tmp_path):
    for name, role in (("newstest2013", "dev"), ("newstest2014", "test")):
        path, data = written(tmp_path / name, REFERENCES, REFERENCES, set=name, role=role)
        score_records(path, data)
        score = json.loads(score_path(path).read_text(encoding="utf-8"))
        assert (score["set"], score["role"], score["sentences"]) == (name, role, 200)
        parts = dict(part.split(":", 1) for part in score["signature"].split("|"))
        assert (parts["case"], parts["tok"], parts["nrefs"]) == ("mixed", "13a", "1") and parts["version"]


def test_a07_records_of_another_preparation_of_as_many_lines_are_refused(tmp_path):
    path, data = written(tmp_path, REFERENCES, REFERENCES[::-1], vocabulary_sha256="a" * 64)
    write_json(data / "report.json", {"vocabulary_sha256": "b" * 64})
    with pytest.raises(BpdError, match=rf"exact\.jsonl: decoded with vocabulary {'a' * 64}, but .* holds {'b' * 64}"):
        score_records(path, data)
    assert not score_path(path).exists()
    write_json(data / "report.json", {"vocabulary_sha256": "a" * 64})
    assert score_records(path, data)["sentences"] == 200


def test_a07_references_in_another_unicode_form_make_another_score_and_it_shows(tmp_path):
    """The words are the same to the eye; a score tells by the fingerprint of its references."""
    lines = ["Die Vögel fliegen über die Bäume.", "Grüße aus Köln."] * 5
    path, data = written(tmp_path, lines, lines)
    composed = score_records(path, data)
    write_lines(data / "newstest2013.de", [unicodedata.normalize("NFD", line) for line in lines])
    decomposed = score_records(path, data)
    assert composed["bleu"] == pytest.approx(100) and decomposed["bleu"] < 60
    assert composed["references_sha256"] != decomposed["references_sha256"]
