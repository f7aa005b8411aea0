import json
import math

import pytest

from bpd.errors import BpdError
from bpd.report.image_scores import ImageScores
from tests.report.example_images import score_path, score_values, write_score


def test_scores_are_found_by_model_and_criterion(tmp_path):
    paths = [
        write_score(tmp_path, "regular_k4", mean_accepted_block_size=1.25),
        write_score(tmp_path, "regular_k4", "distance2", mean_accepted_block_size=1.5, images_unlike_greedy=None),
    ]
    scores = ImageScores(paths)
    assert scores.get("regular_k4", "exact")["mean_accepted_block_size"] == 1.25
    assert scores.get("regular_k4", "distance2")["mean_accepted_block_size"] == 1.5
    assert scores.get("fine_tuning_k4", "exact") is None
    assert scores.images() == 10


def test_all_scores_stand_in_one_frame_with_their_provenance(tmp_path):
    paths = [write_score(tmp_path, "regular_k4", "distance2", psnr=21.5), write_score(tmp_path, "base", psnr=22.5)]
    frame = ImageScores(paths).frame()
    assert frame[["model", "criterion", "psnr"]].values.tolist() == [
        ["base", "exact", 22.5],
        ["regular_k4", "distance2", 21.5],
    ]
    assert {
        *("bits_per_dimension", "bits_per_dimension_other_input", "ssim", "psnr_nearest", "ssim_nearest"),
        *("psnr_bicubic", "ssim_bicubic", "images", "images_unlike_greedy", "iterations", "accepted_tokens", "calls"),
    } <= set(frame.columns)
    assert frame["data_sha256"].tolist() == ["d" * 64] * 2 and frame["checkpoint_sha256"].tolist() == ["c" * 64] * 2


@pytest.mark.parametrize(
    ("name", "value"),
    [("ssim", math.nan), ("bits_per_dimension", math.inf), ("mean_accepted_block_size", 1.5), ("ssim", -2.0)],
)
def test_what_such_a_number_cannot_be_is_refused(tmp_path, name, value):
    with pytest.raises(BpdError, match=rf"exact\.score\.json: damaged score \({name} is {value}"):
        ImageScores([write_score(tmp_path, "base", **{name: value})])


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [("model", "regular_k8", "regular_k4"), ("set", "train", "dev"), ("criterion", "distance2", "exact")],
)
def test_a_score_of_something_else_than_its_path_says_is_refused(tmp_path, name, value, wanted):
    path = write_score(tmp_path, "regular_k4", **{name: value})
    with pytest.raises(BpdError, match=rf"exact\.score\.json: a score of {name} {value}, not {wanted}"):
        ImageScores([path])


@pytest.mark.parametrize(
    "changes", [{"images": 9}, {"decoding": score_values("base")["decoding"] | {"data_sha256": "e" * 64}}]
)
def test_scores_of_unlike_images_do_not_stand_in_one_table(tmp_path, changes):
    scores = ImageScores([write_score(tmp_path, "base"), write_score(tmp_path, "regular_k4", **changes)])
    with pytest.raises(BpdError, match="unlike images") as refusal:
        scores.images()
    assert "base exact: 10 of set dddddddddddd" in str(refusal.value) and "regular_k4 exact" in str(refusal.value)


@pytest.mark.parametrize("name", ["psnr", "bits_per_dimension_other_input", "ssim_bicubic", "decoding", "images"])
def test_a_score_that_lacks_something_is_refused(tmp_path, name):
    path = write_score(tmp_path, "base")
    path.write_text(json.dumps({key: value for key, value in score_values("base").items() if key != name}))
    with pytest.raises(BpdError, match=rf"exact\.score\.json: the score lacks {name}; run `bpd score` again"):
        ImageScores([path])


@pytest.mark.parametrize(
    ("name", "value"), [("psnr", None), ("psnr", "22"), ("ssim", True), ("model", 3), ("images_unlike_greedy", "0")]
)
def test_a_score_of_the_wrong_kind_is_refused(tmp_path, name, value):
    with pytest.raises(BpdError, match=rf"damaged score \({name} is "):
        ImageScores([write_score(tmp_path, "base", **{name: value})])


def test_a_missing_score_is_refused_by_name(tmp_path):
    with pytest.raises(BpdError, match=r"regular_k4/decode/dev/exact\.score\.json: no such score"):
        ImageScores([score_path(tmp_path, "regular_k4")])
