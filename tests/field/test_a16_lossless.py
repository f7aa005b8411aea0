"""A16: exact decoding is greedy decoding, token for token; relaxed criteria shrink to it; where it is not, it is told.

Also: the same for any logits with ties (tests/decoding/test_blockwise.py), which tokens pass each criterion and how
ties are broken (tests/decoding/test_acceptance.py), random weights (tests/decoding/test_real_models.py), images
(tests/decoding/test_image_models.py), a minimum above k as a command (tests/commands/test_pipeline.py).
"""

from __future__ import annotations

import inspect
import json
import random
from copy import deepcopy
from functools import cache

import pandas
import pytest
import torch

from bpd.commands.image_report import write_image_tables
from bpd.commands.report import write_tables
from bpd.config import HeadSpec
from bpd.decoding.acceptance import EXACT, Acceptance
from bpd.decoding.blockwise import blockwise
from bpd.decoding.greedy import greedy
from bpd.decoding.results import Decoded
from bpd.errors import BpdError
from bpd.models.translation_model import TranslationModel
from bpd.trained_image_model import TrainedImageModel
from bpd.trained_model import TrainedModel
from tests.commands.test_cli import run
from tests.field.counting import END, LARGEST, VOCABULARY_SIZE, half_trained, heads_of, source_of
from tests.report.example_images import drawn_images, score_path, write_image_results
from tests.report.example_results import write_results, write_score

SENTENCES = 100
Outputs = list[list[int]]


@cache
def sources() -> tuple[list[list[int]], list[int]]:
    """Return a hundred sources of one to three numbers each, end symbol last, and their length limits."""
    chance = random.Random(11)
    rows = [
        [source_of(chance.randint(2, LARGEST))[0] for _ in range(chance.choice((1, 1, 2, 3)))] + [END]
        for _ in range(SENTENCES)
    ]
    return rows, [chance.choice((9, 30, 60)) for _ in rows]


def tokens(results: list[Decoded]) -> Outputs:
    return [one.token_ids for one in results]


@cache
def greedy_outputs() -> Outputs:
    return tokens(greedy(half_trained(), *sources()))


@pytest.mark.parametrize("block_size", range(1, 11))
def test_a16_the_exact_criterion_gives_the_greedy_output_at_every_k(block_size):
    decoded = blockwise(half_trained(), *sources(), block_size=block_size)
    assert tokens(decoded) == greedy_outputs()
    iterations = sum(one.iterations for one in decoded)
    assert iterations < sum(map(len, greedy_outputs())) or block_size == 1


@pytest.mark.parametrize("criterion", ["top1", "distance0", "minimum1"])
@pytest.mark.parametrize("block_size", [1, 4, 10])
def test_a16_each_relaxed_criterion_shrinks_to_the_exact_one_iterations_included(block_size, criterion):
    exact = blockwise(half_trained(), *sources(), block_size=block_size)
    assert blockwise(half_trained(), *sources(), block_size=block_size, acceptance=Acceptance.parse(criterion)) == exact


def test_a16_relaxed_criteria_are_off_unless_asked_for():
    plain = blockwise(half_trained(), *sources())
    assert plain == blockwise(half_trained(), *sources(), acceptance=EXACT)
    assert plain != blockwise(half_trained(), *sources(), acceptance=Acceptance.parse("top2"))
    for face in (TrainedModel.blockwise, TrainedImageModel.blockwise):
        assert inspect.signature(face).parameters["criterion"].default == "exact"
    for command in ("translate", "upscale"):
        shown = " ".join(run(command, "--help").stdout.split())
        assert "[default: exact]" in shown, shown


def test_a16_a_minimum_block_size_larger_than_k_is_refused():
    with pytest.raises(BpdError, match="minimum block size 5 is larger than the block size 4"):
        blockwise(half_trained(), *sources(), block_size=4, acceptance=Acceptance.parse("minimum5"))


def with_doubles(copies: int) -> TranslationModel:
    """Return the model with a vocabulary of `copies` times the same tokens: the best one is never alone.

    Embeddings and projection are one matrix, so that the doubles of a token read and say the same as it does.
    """
    model = half_trained()
    spec = HeadSpec(**heads_of(model.block_size))
    doubled = TranslationModel(model.transformer.config, copies * VOCABULARY_SIZE, spec).eval()
    weights = model.state_dict()
    weights["transformer.embedding.weight"] = weights["transformer.embedding.weight"].repeat(copies, 1)
    doubled.load_state_dict(weights)
    return doubled


@pytest.mark.parametrize("copies", [2, 150])
@pytest.mark.parametrize("block_size", [1, 2, 10])
def test_a16_of_equally_good_tokens_every_decoding_takes_the_one_with_the_lowest_id(block_size, copies):
    """Ties of a real model, of a small vocabulary and of one whose projection is laid out for decoding."""
    model = with_doubles(copies)
    assert tokens(greedy(model, *sources())) == greedy_outputs()
    exact = blockwise(model, *sources(), block_size=block_size)
    assert tokens(exact) == greedy_outputs()
    for name in ("top1", "distance0", "minimum1"):
        relaxed = blockwise(model, *sources(), block_size=block_size, acceptance=Acceptance.parse(name))
        assert relaxed == exact, name


def test_a16_the_nth_best_are_n_tokens_however_many_are_as_good():
    """A threshold in place of a rank would let every double of the best token pass as top-1."""
    model, (rows, _) = with_doubles(3), sources()
    with torch.inference_mode():
        decoder = model.start(rows[:8])
        logits = decoder.advance(torch.full((8, 1), model.begin_id)).scoring()
    every_token = torch.arange(logits.shape[-1])
    for count in (1, 2, 3, 4):
        passes = Acceptance("top", count).accepted(logits.expand(-1, len(every_token), -1), every_token.expand(8, -1))
        assert passes.sum(1).tolist() == [count] * 8
        best = logits.flatten(0, 1).argmax(-1)
        assert passes[torch.arange(8), best].all()


def test_a16_a_model_that_says_nothing_emits_the_lowest_id():
    model = deepcopy(half_trained())
    with torch.no_grad():
        model.transformer.embedding.weight.zero_()
    rows, limits = sources()
    for decoded in (greedy(model, rows, limits), blockwise(model, rows, limits)):
        assert tokens(decoded) == [[0] * limit for limit in limits]


@pytest.mark.parametrize("block_size", [3, 10])
def test_a16_in_double_precision_too(block_size):
    model = deepcopy(half_trained()).double()
    expected = tokens(greedy(model, *sources()))
    assert tokens(blockwise(model, *sources(), block_size=block_size)) == expected
    assert tokens(blockwise(model, *sources(), block_size=block_size, cached=False)) == expected


def test_a16_the_report_tells_how_many_sentences_left_greedy_decoding(tmp_path):
    settings = write_results(tmp_path, (2,))
    half = {"precision": "bf16", "checkpoint_sha256": "c" * 64, "config_sha256": "f" * 64}
    write_score(tmp_path, "both_k2", sentences_unlike_greedy=7, sentences=3000, decoding=half)
    write_tables(settings, tmp_path, tmp_path / "tables")
    frame = pandas.read_csv(tmp_path / "tables" / "scores.csv").set_index(["model", "role", "criterion"])
    assert frame.loc[("both_k2", "dev", "exact"), "sentences_unlike_greedy"] == 7
    for kind in ("md", "tex"):
        told = (tmp_path / "tables" / f"table1.{kind}").read_text(encoding="utf-8")
        assert "not lossless here" in told and "7 of 3000" in told
    assert "sentences unlike greedy decoding of the same model: both_k2 (bf16, newstest2013) 7 of 3000." in (
        tmp_path / "tables" / "table1.md"
    ).read_text(encoding="utf-8")


def test_a16_the_report_tells_how_many_images_left_greedy_decoding(tmp_path):
    settings = write_image_results(tmp_path, (2,), drawn_images(3))
    write_image_tables(settings, tmp_path, tmp_path / "before")
    assert "not lossless" not in (tmp_path / "before" / "table2.md").read_text(encoding="utf-8")
    path = score_path(tmp_path, "regular_k2")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"images_unlike_greedy": 2}))
    write_image_tables(settings, tmp_path, tmp_path / "after")
    told = (tmp_path / "after" / "table2.md").read_text(encoding="utf-8")
    assert "images unlike greedy decoding of the same model: regular_k2 (fp32, dev) 2 of" in told
