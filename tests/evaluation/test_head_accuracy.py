"""Accuracy of heads, against asking the model after every single prefix, and against the blocks that it accepts."""

import json

import pytest
import torch

from bpd.decoding.blockwise import Step, blockwise
from bpd.decoding.greedy import greedy
from bpd.errors import BpdError
from bpd.evaluation.head_accuracy import head_accuracy
from bpd.evaluation.measured_heads import read_heads
from tests.decoding.test_real_models import copying_model, random_inputs, random_model
from tests.models.image_models import image_model


def one_by_one(model, sources, outputs):
    """Return accuracies and runs by asking all heads after each prefix of each output alone."""
    k = model.block_size
    right, total, runs = [0] * k, [0] * k, [0] * (k + 1)
    with torch.inference_mode():
        for source, output in zip(sources, outputs):
            for place in range(len(output)):
                decoder = model.start([source], cached=False)
                scores = decoder.advance(torch.tensor([[model.begin_id, *output[:place]]]))
                guesses = scores.proposing(torch.tensor([place])).argmax(dim=-1)[0].tolist()
                aims = output[place : place + k]
                hits = [guess == aim for guess, aim in zip(guesses, aims)]
                for head, hit in enumerate(hits):
                    total[head] += 1
                    right[head] += hit
                runs[[*hits, False].index(False)] += 1
    return {"right": right, "total": total, "runs": runs}


@pytest.mark.parametrize("batch_rows", [1, 3, 8])
@pytest.mark.parametrize("block_size", [1, 2, 5])
def test_text_heads_asked_one_by_one(block_size, batch_rows):
    model = random_model(block_size, block_size)
    sources, limits = random_inputs(4, 6)
    own = [one.token_ids for one in greedy(model, sources, limits)]
    own[2] = []
    human = random_inputs(9, 6)[0]
    for outputs in (own, human):
        kept = [place for place, output in enumerate(outputs) if output]
        expected = one_by_one(model, [sources[place] for place in kept], [outputs[place] for place in kept])
        assert head_accuracy(model, sources, outputs, batch_rows) == expected
    found = head_accuracy(model, sources, own, batch_rows)
    assert found["right"][0] == found["total"][0] == sum(map(len, own)) and found["runs"][0] == 0


def test_image_heads_asked_one_by_one():
    model = image_model(3, block_size=4)
    sources = [[10, 200, 30] * 4, [90, 80, 70] * 4]
    own = [one.token_ids for one in greedy(model, sources, [48, 48])]
    human = [[(7 * place * row) % 256 for place in range(48)] for row in (1, 3)]
    for outputs in (own, human):
        assert head_accuracy(model, sources, outputs, 2) == one_by_one(model, sources, outputs)


def test_a_run_is_the_block_that_the_exact_criterion_accepts_there():
    model = copying_model(4)
    sources, limits = random_inputs(11, 8)
    steps: list[Step] = []
    decoded = blockwise(model, sources, limits, on_step=steps.append)
    assert max(step.accepted for step in steps) > 1, "nothing was accepted beyond p₁'s own token: a blunt test"
    ended = [place for place, one in enumerate(decoded) if one.stop == "end"]
    for place in ended:
        first = 0
        for size in decoded[place].block_sizes:
            rest = decoded[place].token_ids
            whole = head_accuracy(model, [sources[place]], [rest], 1)["runs"]
            # The run at one place is what all places give, less what all others give.
            others = one_by_one(model, [sources[place]], [rest])["runs"]
            assert whole == others
            alone = run_at(model, sources[place], rest, first)
            assert alone == size
            first += size


def run_at(model, source, output, place):
    with torch.inference_mode():
        decoder = model.start([source], cached=False)
        scores = decoder.advance(torch.tensor([[model.begin_id, *output[:place]]]))
        guesses = scores.proposing(torch.tensor([place])).argmax(dim=-1)[0].tolist()
    hits = [guess == aim for guess, aim in zip(guesses, output[place:])]
    return [*hits, False].index(False)


VALUES = {
    "block_size": 2,
    **{text: {"right": [10, 4], "total": [10, 8], "runs": [0, 6, 4]} for text in ("own_output", "reference")},
}


def test_stored_accuracies_are_read(tmp_path):
    path = tmp_path / "heads.json"
    path.write_text(json.dumps(VALUES))
    found = read_heads(path)
    assert found.accuracies("own_output") == [1.0, 0.5] and found.mean_run == pytest.approx(1.4)
    path.write_text(json.dumps(VALUES | {"reference": {"right": [0, 0], "total": [3, 0], "runs": [3, 0, 0]}}))
    assert read_heads(path).accuracies("reference") == [0.0, None]


@pytest.mark.parametrize(
    "change",
    [
        {"block_size": 3},
        {"own_output": {"right": [1, 1], "total": [1], "runs": [0, 1, 0]}},
        {"own_output": {"right": [1, 1], "total": [1, 1], "runs": [0, 1]}},
        {"own_output": {"right": [1, 0.5], "total": [1, 1], "runs": [0, 1, 0]}},
        {"own_output": {"right": [0, 0], "total": [0, 0], "runs": [0, 0, 0]}},
        {"reference": None},
    ],
)
def test_damaged_accuracies_are_refused_by_name(tmp_path, change):
    path = tmp_path / "heads.json"
    path.write_text(json.dumps(VALUES | change))
    with pytest.raises(BpdError, match=r"heads\.json: missing or damaged accuracies"):
        read_heads(path)
    path.unlink()
    with pytest.raises(BpdError, match=r"heads\.json: missing or damaged accuracies"):
        read_heads(path)
