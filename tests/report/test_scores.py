import json
import math

import pytest

from bpd.errors import BpdError
from bpd.report.scores import Scores
from tests.report.example_results import SIGNATURE, score_path, score_values, write_score


def test_scores_are_found_by_model_criterion_and_role(tmp_path):
    paths = [
        write_score(tmp_path, "both_k4", bleu=20.0),
        write_score(tmp_path, "both_k4", "top2", bleu=19.0),
        write_score(tmp_path, "both_k4", role="test", bleu=21.0),
    ]
    scores = Scores(paths)
    assert scores.get("both_k4", "exact")["bleu"] == 20.0
    assert scores.get("both_k4", "top2")["bleu"] == 19.0
    assert scores.get("both_k4", "exact", "test")["bleu"] == 21.0
    assert scores.get("both_k4", "top2", "test") is None
    assert scores.get("both_k2", "exact") is None
    assert (scores.set_name(), scores.set_name("test")) == ("newstest2013", "newstest2014")


def test_a_score_that_is_not_asked_for_stays_out(tmp_path):
    asked = write_score(tmp_path, "both_k4")
    write_score(tmp_path, "both_k8")
    assert Scores([asked]).get("both_k8", "exact") is None


def test_all_scores_stand_in_one_sorted_frame_with_their_provenance(tmp_path):
    paths = [
        write_score(tmp_path, "regular_k2", bleu=20.0),
        write_score(tmp_path, "both_k4", role="test"),
        write_score(tmp_path, "both_k4", "top2", sentences_unlike_greedy=None),
        write_score(tmp_path, "both_k4"),
    ]
    frame = Scores(paths).frame()
    places = list(zip(frame["model"], frame["role"], frame["criterion"], strict=True))
    assert places == [
        ("both_k4", "dev", "exact"),
        ("both_k4", "dev", "top2"),
        ("both_k4", "test", "exact"),
        ("regular_k2", "dev", "exact"),
    ]
    last = frame.iloc[-1]
    assert last["bleu"] == 20.0
    assert (last["signature"], last["seed"], last["device"], last["precision"]) == (SIGNATURE, 3, "cpu", "fp32")
    assert last["checkpoint_sha256"] == "c" * 64 and last["config_sha256"] == "f" * 64
    assert frame["sentences_unlike_greedy"].isna().tolist() == [False, True, False, False]


@pytest.mark.parametrize(
    ("name", "value"),
    [("bleu", math.inf), ("iterations", math.nan), ("bleu", -1.0), ("bleu", 100.5), ("mean_accepted_block_size", 0.5),
     ("mean_accepted_block_size", 4.5), ("iterations", -3), ("brevity_penalty", 1.5), ("bleu_intl", -math.inf)],
)  # fmt: skip
def test_what_such_a_number_cannot_be_is_refused(tmp_path, name, value):
    path = write_score(tmp_path, "both_k4", **{name: value})
    with pytest.raises(BpdError, match=rf"exact\.score\.json: damaged score \({name} is {value}.*run `bpd score`"):
        Scores([path])


def test_no_number_is_no_score(tmp_path):
    """A gap in the tables, neither 0 nor the end of the report."""
    scores = Scores([write_score(tmp_path, "both_k2", bleu=math.nan), write_score(tmp_path, "both_k4")])
    assert scores.get("both_k2", "exact") is None and scores.get("both_k4", "exact") is not None
    assert scores.frame()["bleu"].isna().tolist() == [True, False]


def test_two_scores_of_one_decoding_are_refused(tmp_path):
    paths = [write_score(tmp_path, "both_k4"), write_score(tmp_path / "elsewhere", "both_k4")]
    with pytest.raises(BpdError, match=r"elsewhere.*a second score of both_k4 by exact on the dev set"):
        Scores(paths)


def test_unlike_signatures_do_not_stand_in_one_table(tmp_path):
    other = SIGNATURE.replace("case:mixed", "case:lc")
    scores = Scores([write_score(tmp_path, "both_k2"), write_score(tmp_path, "both_k4", signature=other)])
    with pytest.raises(BpdError, match="unlike BLEU signatures") as refusal:
        scores.signature()
    assert SIGNATURE in str(refusal.value) and other in str(refusal.value)
    assert Scores([write_score(tmp_path, "both_k2")]).signature() == SIGNATURE


def test_provenance_names_each_device_and_commit_once(tmp_path):
    other = score_values("both_k4")["decoding"] | {"device": "cuda", "commit": "f" * 40, "dirty": True}
    paths = [write_score(tmp_path, "base"), write_score(tmp_path, "both_k2"), write_score(tmp_path, "both_k4")]
    assert Scores(paths).provenance() == "device cpu; precision fp32; commit 0123456789ab"
    paths[-1] = write_score(tmp_path, "both_k4", decoding=other)
    assert Scores(paths).provenance() == (
        "device cpu, cuda; precision fp32; commit 0123456789ab, ffffffffffff with uncommitted changes"
    )


def test_a_missing_score_is_refused_by_name(tmp_path):
    with pytest.raises(BpdError, match=r"both_k4/.*exact\.score\.json: no such score; run `bpd score` first"):
        Scores([score_path(tmp_path, "both_k4")])


@pytest.mark.parametrize("content", [b"", b"{", b"null", b"7", b"[]", b'"bleu"', b"\xff\xfe", b"{}"])
def test_a_damaged_score_is_refused_by_name(tmp_path, content):
    path = write_score(tmp_path, "both_k4")
    path.write_bytes(content)
    with pytest.raises(BpdError, match=r"exact\.score\.json: .*run `bpd score` again"):
        Scores([path])


@pytest.mark.parametrize("name", ["bleu", "mean_accepted_block_size", "signature", "block_size_counts", "decoding"])
def test_a_score_that_lacks_something_is_refused(tmp_path, name):
    path = write_score(tmp_path, "both_k4")
    values = {key: value for key, value in score_values("both_k4").items() if key != name}
    path.write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(BpdError, match=rf"exact\.score\.json: the score lacks {name}; run `bpd score` again"):
        Scores([path])


@pytest.mark.parametrize(
    ("name", "value"),
    [("bleu", None), ("bleu", "25"), ("bleu", True), ("model", ["both"]), ("decoding", []), ("block_size_counts", 3)],
)
def test_a_score_of_the_wrong_kind_is_refused(tmp_path, name, value):
    path = write_score(tmp_path, "both_k4")
    path.write_text(json.dumps(score_values("both_k4") | {name: value}), encoding="utf-8")
    with pytest.raises(BpdError, match=rf"exact\.score\.json: damaged score \({name} is "):
        Scores([path])


def test_a_report_of_nothing_is_refused():
    with pytest.raises(BpdError, match="no score files were given"):
        Scores([])
