import hashlib
import json
import math

import pytest

from bpd.errors import BpdError
from bpd.evaluation.meta import fingerprint
from bpd.evaluation.score import score_path, score_records
from tests.evaluation.example_records import META, record, write_decoding

REFERENCES = ["Der Hund steht im Garten.", "Die Frau liest heute einen Brief.", "Wir gehen über den Berg."]


def test_a_score_holds_both_measures_and_what_they_are_of(tmp_path):
    records = [
        record(0, REFERENCES[0], (4, 4)),
        record(1, REFERENCES[1], (1,)),
        record(2, REFERENCES[2], (2, 1, 1), stop="length"),
    ]
    path, data = write_decoding(tmp_path, records, REFERENCES)
    score = score_records(path, data)
    assert score["bleu"] == pytest.approx(100)
    assert score["mean_accepted_block_size"] == pytest.approx(13 / 6)
    assert (score["accepted_tokens"], score["iterations"], score["calls"]) == (13, 6, 9)
    assert score["block_size_counts"] == {1: 3, 2: 1, 4: 2}
    assert (score["sentences"], score["cut_at_length_limit"], score["sentences_unlike_greedy"]) == (3, 1, 0)
    names = ("model", "set", "role", "criterion", "block_size")
    assert {name: score[name] for name in names} == {name: META[name] for name in names}
    assert "case:mixed" in score["signature"] and "tok:13a" in score["signature"]
    assert "not comparable" in score["signature_compound_split"]
    assert score["decoding"] == META | fingerprint(path)
    assert score["records_sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    reference = data / "newstest2013.de"
    assert score["references_sha256"] == hashlib.sha256(reference.read_bytes()).hexdigest()


def test_the_score_file_lies_beside_the_records_and_says_the_same(tmp_path):
    path, data = write_decoding(tmp_path, [record(0, REFERENCES[0])], REFERENCES[:1])
    score = score_records(path, data)
    assert score_path(path) == path.parent / "exact.score.json"
    stored = json.loads(score_path(path).read_text(encoding="utf-8"))
    stored["block_size_counts"] = {int(size): count for size, count in stored["block_size_counts"].items()}
    assert stored == score


def test_dev_and_test_are_told_apart(tmp_path):
    path, data = write_decoding(tmp_path, [record(0)], ["Ein Satz."], set="newstest2014", role="test")
    score = score_records(path, data)
    assert (score["set"], score["role"]) == ("newstest2014", "test")


def test_hypotheses_a_word_shorter_than_the_references_are_too_short(tmp_path):
    records = [record(index, line.replace("steht ", "")) for index, line in enumerate(REFERENCES[:1] * 5)]
    path, data = write_decoding(tmp_path, records, REFERENCES[:1] * 5)
    assert score_records(path, data)["brevity_penalty"] == pytest.approx(math.exp(1 - 6 / 5))


@pytest.mark.parametrize(("outputs", "references"), [(2737, 3003), (3003, 2737)])
def test_another_edition_of_the_test_set_is_refused_and_nothing_stored(tmp_path, outputs, references):
    records = [record(index) for index in range(outputs)]
    path, data = write_decoding(tmp_path, records, ["Ein Satz."] * references, set="newstest2014", role="test")
    with pytest.raises(BpdError, match=rf"exact\.jsonl holds {outputs} outputs, but .*\.de {references} references"):
        score_records(path, data)
    assert not score_path(path).exists()


def test_blank_lines_are_scored_as_segments(tmp_path):
    records = [record(index, REFERENCES[index % 3], (2, 3)) for index in range(10)]
    records[2] = records[8] = None
    records = [record(index, block_sizes=()) if one is None else one for index, one in enumerate(records)]
    references = ["" if index in (2, 5, 8) else REFERENCES[index % 3] for index in range(10)]
    path, data = write_decoding(tmp_path, records, references)
    score = score_records(path, data)
    assert score["sentences"] == 10
    assert score["mean_accepted_block_size"] == 2.5
    assert score["iterations"] == 16
    assert 0 < score["bleu"] < 100


def test_references_are_the_raw_lines(tmp_path):
    raw = "Zwei\u2028Zeilen\u00a0in einer, „so“ wie sie ist\r"
    path, data = write_decoding(tmp_path, [record(0, raw)], [raw])
    assert score_records(path, data)["sentences"] == 1


def test_an_output_of_blanks_alone_is_refused(tmp_path):
    path, data = write_decoding(tmp_path, [record(0, block_sizes=())], ["Ein Satz."])
    with pytest.raises(BpdError, match="every input was blank"):
        score_records(path, data)
    assert not score_path(path).exists()


def test_tokenised_outputs_are_warned_of(tmp_path):
    path, data = write_decoding(tmp_path, [record(0, "Der Hund steht im Garten .")], REFERENCES[:1])
    with pytest.warns(UserWarning, match="look tokenised"):
        score_records(path, data)


@pytest.mark.parametrize("content", [None, b"", b"{", b"3", b"null", b"[]", b'"model"', b"\xff\xfe"])
def test_damaged_meta_is_refused_by_name(tmp_path, content):
    path, data = write_decoding(tmp_path, [record(0)], ["Ein Satz."])
    meta = path.with_suffix(".meta.json")
    meta.unlink() if content is None else meta.write_bytes(content)
    with pytest.raises(BpdError, match=r"exact\.meta\.json: .*; decode again"):
        score_records(path, data)
    assert not score_path(path).exists()


@pytest.mark.parametrize("name", ["model", "set", "role", "criterion", "block_size", "checkpoint_sha256"])
def test_meta_that_does_not_say_what_was_decoded_is_refused(tmp_path, name):
    path, data = write_decoding(tmp_path, [record(0)], ["Ein Satz."])
    values = {key: value for key, value in META.items() if key != name}
    path.with_suffix(".meta.json").write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(BpdError, match=rf"exact\.meta\.json: lacks {name}; decode again"):
        score_records(path, data)


def test_missing_references_are_refused_by_name(tmp_path):
    path, data = write_decoding(tmp_path, [record(0)], ["Ein Satz."])
    (data / "newstest2013.de").unlink()
    with pytest.raises(BpdError, match=r"newstest2013\.de: cannot be read"):
        score_records(path, data)


def test_faulty_records_are_refused_by_line_and_nothing_stored(tmp_path):
    path, data = write_decoding(tmp_path, [record(0), record(1)], ["Ein Satz."] * 2)
    path.write_text(path.read_text(encoding="utf-8").replace('"index": 1', '"index": 7'), encoding="utf-8")
    with pytest.raises(BpdError, match=r"exact\.jsonl, line 2: .*index is 7, expected 1"):
        score_records(path, data)
    assert not score_path(path).exists()
