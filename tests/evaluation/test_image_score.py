import hashlib
import json
import math
from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest

from bpd.data.image_set import ImageSet
from bpd.errors import BpdError
from bpd.evaluation.image_quality import bicubic, nearest, psnr, ssim
from bpd.evaluation.image_score import LIKELIHOODS, quality_path, score_image_records
from bpd.evaluation.likelihood import LikelihoodRecord, write_likelihoods
from bpd.evaluation.records import read_records, write_records
from bpd.evaluation.score import score_path
from tests.evaluation.example_records import bind
from tests.report.example_images import drawn_images, image_record, write_decoding

TOKENS = 8 * 8 * 3


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    ImageSet.write(folder / "dev", drawn_images(3), 2, 8, {})
    return folder


@pytest.fixture
def dev(data):
    return ImageSet.open(data / "dev")


def write_two(folder, dev, shift=10):
    """Write records of the first two images: the target with every intensity off by `shift`, and the target itself."""
    path = write_decoding(folder, "fine_tuning_k4", "distance2", dev, images=2)
    first = np.array(dev.targets[0]).astype(int)
    first = np.where(first < 128, first + shift, first - shift).astype(np.uint8)
    blocks = ([4] * 48, [1] * 96 + [2] * 48)
    pair = [image_record(0, dev.names[0], first, blocks[0]), image_record(1, dev.names[1], dev.targets[1], blocks[1])]
    write_records(path, pair)
    lines = [LikelihoodRecord(0, dev.names[0], 5.0, 5.5), LikelihoodRecord(1, dev.names[1], 4.5, 6.0)]
    write_likelihoods(path.with_name(LIKELIHOODS), lines)
    return bind(path)


def test_a_score_is_what_the_hand_reckons(tmp_path, data, dev):
    path = write_two(tmp_path, dev)
    score = score_image_records(path, data)
    off, same = 20 * math.log10(255 / 10), 10 * math.log10(255**2 * TOKENS)
    assert score["psnr"] == pytest.approx((off + same) / 2)
    assert score["mean_accepted_block_size"] == pytest.approx(2 * TOKENS / (48 + 96 + 48))
    assert (score["accepted_tokens"], score["iterations"], score["calls"]) == (2 * TOKENS, 192, 194)
    assert score["block_size_counts"] == {1: 96, 2: 48, 4: 48}
    assert (score["images"], score["images_unlike_greedy"]) == (2, None)
    assert (score["bits_per_dimension"], score["bits_per_dimension_other_input"]) == (4.75, 5.75)
    inputs, targets = np.array(dev.inputs[:2]), np.array(dev.targets[:2])
    for name, enlarge in (("nearest", nearest), ("bicubic", bicubic)):
        pairs = [(enlarge(small, 8), target) for small, target in zip(inputs, targets)]
        assert score[f"psnr_{name}"] == pytest.approx(fmean(psnr(*pair) for pair in pairs))
        assert score[f"ssim_{name}"] == pytest.approx(fmean(ssim(*pair) for pair in pairs))
    names = ("task", "model", "set", "role", "criterion", "block_size")
    assert [score[name] for name in names] == ["super_resolution", "fine_tuning_k4", "dev", "dev", "distance2", 4]


def test_a_score_names_what_it_was_made_from(tmp_path, data, dev):
    path = write_two(tmp_path, dev)
    score = score_image_records(path, data)
    assert score["records_sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert score["quality_sha256"] == hashlib.sha256(quality_path(path).read_bytes()).hexdigest()
    assert score["targets_sha256"] == dev.sha256
    assert score["decoding"] == json.loads(path.with_suffix(".meta.json").read_text())
    stored = json.loads(score_path(path).read_text())
    stored["block_size_counts"] = {int(size): count for size, count in stored["block_size_counts"].items()}
    assert stored == score


def test_quality_is_stored_for_each_image_and_its_means_are_the_score(tmp_path, data, dev):
    path = write_two(tmp_path, dev)
    score = score_image_records(path, data)
    text = quality_path(path).read_text(encoding="utf-8")
    rows = [json.loads(line, parse_constant=pytest.fail) for line in text.splitlines()]
    assert quality_path(path).name == "distance2.quality.jsonl"
    assert [(row.pop("index"), row.pop("name")) for row in rows] == [(0, "image_0"), (1, "image_1")]
    assert list(rows[0]) == [
        *("psnr", "ssim", "psnr_nearest", "ssim_nearest", "psnr_bicubic", "ssim_bicubic"),
        *("bits_per_dimension", "bits_per_dimension_other_input"),
    ]
    for name in rows[0]:
        assert score[name] == pytest.approx(fmean(row[name] for row in rows))


def refused(path, data, match):
    with pytest.raises(BpdError, match=match):
        score_image_records(path, data)
    assert not score_path(path).exists() and not quality_path(path).exists()


@pytest.mark.parametrize(
    ("meta", "match"),
    [
        ({"task": "translation"}, "records of translation, not of images"),
        ({"data_sha256": "0" * 64}, "decoded from other images than .*dev holds; decode again"),
        ({"images": 3}, "2 records, but 3 images were decoded"),
        ({"set": "train"}, "no finished folder of images"),
    ],
)
def test_records_of_something_else_are_refused(tmp_path, data, dev, meta, match):
    path = write_two(tmp_path, dev)
    told = path.with_suffix(".meta.json")
    told.write_text(json.dumps(json.loads(told.read_text()) | meta))
    refused(path, data, match)


@pytest.mark.parametrize("name", ["task", "model", "images", "images_unlike_greedy", "data_sha256"])
def test_meta_that_lacks_something_is_refused(tmp_path, data, dev, name):
    path = write_two(tmp_path, dev)
    told = path.with_suffix(".meta.json")
    told.write_text(json.dumps({key: value for key, value in json.loads(told.read_text()).items() if key != name}))
    refused(path, data, rf"distance2\.meta\.json: lacks {name}; decode again")


def test_records_of_other_images_of_the_set_are_refused(tmp_path, data, dev):
    path = write_two(tmp_path, dev)
    one, other = read_records(path)
    write_records(path, [replace(one, text=other.text), replace(other, text=one.text)])
    refused(path, data, "name other images")


def test_likelihoods_of_other_images_and_too_few_are_refused(tmp_path, data, dev):
    path = write_two(tmp_path, dev)
    for names in ((dev.names[1], dev.names[0]), dev.names[:1], dev.names[:3]):
        lines = [LikelihoodRecord(index, name, 5.0, 5.5) for index, name in enumerate(names)]
        write_likelihoods(path.with_name(LIKELIHOODS), lines)
        refused(path, data, "name other images")
    path.with_name(LIKELIHOODS).unlink()
    refused(path, data, "cannot read the likelihoods")


@pytest.mark.parametrize(
    ("tokens", "blocks", "match"),
    [
        ([7] * (TOKENS - 1), [1] * (TOKENS - 1), f"record 1, image_1: {TOKENS - 1} tokens make no image of 8×8"),
        ([7] * (TOKENS + 4), [4] * (TOKENS // 4 + 1), f"{TOKENS + 4} tokens make no image"),
        ([256] + [7] * (TOKENS - 1), [4] * 48, "record 1, image_1: token 0 is 256"),
        ([7] * (TOKENS - 1) + [-1], [4] * 48, f"token {TOKENS - 1} is -1"),
    ],
)
def test_what_is_no_image_is_refused_by_name(tmp_path, data, dev, tokens, blocks, match):
    path = write_two(tmp_path, dev)
    first, second = read_records(path)
    write_records(path, [first, replace(second, token_ids=tokens, block_sizes=blocks, iterations=len(blocks))])
    bind(path)
    refused(path, data, match)


def test_no_records_are_refused(tmp_path, data, dev):
    path = write_decoding(tmp_path, "base", "exact", dev, images=0)
    write_records(path, [])
    write_likelihoods(path.with_name(LIKELIHOODS), [])
    refused(path, data, "0 records")
