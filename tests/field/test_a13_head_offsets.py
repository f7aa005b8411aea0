"""A13: head i learns the token i places ahead, every head learns, and nobody sees the answer.

Also: targets and counts of each head by hand, heads with nothing to learn (tests/training/test_head_loss.py), frozen
bases (tests/training/test_loop.py), no prediction that depends on a later token (tests/models/test_transformer.py).
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from bpd.data.encoded import EncodedPairs
from bpd.data.image_batches import ImageBatches
from bpd.data.image_set import ImageSet
from bpd.data.raster import to_tokens
from bpd.decoding.blockwise import blockwise
from bpd.evaluation.head_accuracy import head_accuracy
from bpd.models.combined_model import CombinedModel
from bpd.models.model_folder import build_model, load_model
from bpd.training.loop import Evaluation, Trainer
from tests.field.counting import (
    LARGEST,
    VOCABULARY_SIZE,
    heads_of,
    settings_for,
    source_of,
    target_of,
    train,
    write_pairs,
)
from tests.training.test_image_training import heads, image_settings

K = 4
SCHEDULE = {"kind": "linear", "peak": 0.01, "warmup_steps": 20}
AT_ONCE = {"kind": "inverse_square_root", "scale": 0.1, "warmup_steps": 1}


@torch.no_grad()
def right_at(model: CombinedModel, source: torch.Tensor, target: torch.Tensor) -> np.ndarray:
    """Return how often each head [k] is right about the token 0, 1, 2 … k + 1 places ahead [k + 2]."""
    states = model.training_states(source, target)
    outputs = model.heads.all_heads(states, model.heads.transform(states))
    guesses = model.transformer.logits(outputs).argmax(-1)
    length, k = target.shape[1], model.block_size
    # At position j of the output, which nothing before has seen, the token j places on is "one ahead".
    found = np.zeros((k, k + 2))
    for head in range(k):
        for ahead in range(k + 2):
            first, last = max(0, 1 - ahead), length - max(0, ahead - 1)
            aims = target[:, first + ahead - 1 : last + ahead - 1]
            found[head, ahead] = (guesses[:, first:last, head] == aims).float().mean().item()
    return found


def assert_each_head_is_right_at_its_own_place_alone(found: np.ndarray) -> None:
    for head in range(len(found)):
        assert found[head, head + 1] > 0.95, found
        assert found[head, head] < 0.3 and found[head, head + 2] < 0.3, found


def test_a13_trained_on_counting_each_head_knows_its_own_place_and_blocks_are_full(tmp_path):
    pairs = write_pairs(tmp_path / "pairs", [2 + index % (LARGEST - 1) for index in range(200)])
    training = {"steps": 250, "micro_batches": 1, "micro_batch_tokens": 800, "schedule": SCHEDULE, "log_every": 50}
    settings = settings_for(heads_of(K), width=32, label_smoothing=0.0, checkpoint_every=250, **training)
    model = train(pairs, settings, tmp_path)
    numbers = range(2, LARGEST + 1)
    sources, targets = [source_of(n) for n in numbers], [target_of(n) for n in numbers]
    accuracy = head_accuracy(model, sources, targets, 20)
    assert min(right / total for right, total in zip(accuracy["right"], accuracy["total"], strict=True)) > 0.95
    # Each target is counted once for each head that can aim at it.
    assert accuracy["total"] == [sum(max(0, n + 1 - head) for n in numbers) for head in range(K)]
    longest = torch.tensor([target_of(LARGEST)[:-1]])
    assert_each_head_is_right_at_its_own_place_alone(right_at(model, torch.tensor([source_of(LARGEST)]), longest))
    decoded = blockwise(model, sources, [n + 9 for n in numbers])
    assert sum(len(one.token_ids) for one in decoded) / sum(one.iterations for one in decoded) > 0.85 * K


def test_a13_of_images_too_each_head_knows_its_own_place(tmp_path):
    """Images whose intensities count up by five: from one to the next, and on from the last channel of a pixel."""
    ramps = (np.arange(48) * 5 + np.arange(40)[:, None]).astype(np.uint8).reshape(40, 4, 4, 3)
    images = [(str(number), np.full((2, 2, 3), number, dtype=np.uint8), ramp) for number, ramp in enumerate(ramps)]
    ImageSet.write(tmp_path / "ramps", images, 2, 4, {})
    written = ImageSet.open(tmp_path / "ramps")
    training = {"steps": 240, "micro_batch_images": 8, "schedule": SCHEDULE, "log_every": 1, "checkpoint_every": 240}
    spec = heads(frozen=False, base_dropout=True, head_loss="sampled_per_position")
    settings = image_settings(spec, {"ordinal_start": True, "d_model": 32}, evaluate_every=240, **training)
    torch.manual_seed(settings.seed)
    model = build_model(settings, None)
    (tmp_path / "run").mkdir()
    Trainer(
        model,
        lambda position: ImageBatches(written, 8, settings.seed, position),
        settings,
        tmp_path / "run",
        "a",
        lambda _: Evaluation({"dev_psnr": 0.0}),
    ).run()
    source, target = (torch.from_numpy(to_tokens(np.asarray(part))) for part in (written.inputs, written.targets))
    assert_each_head_is_right_at_its_own_place_alone(right_at(model, source, target))


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> tuple[Path, EncodedPairs]:
    """A base model after a few steps, and the pairs it was trained on."""
    folder = tmp_path_factory.mktemp("base")
    pairs = write_pairs(folder / "pairs", [2 + index % 17 for index in range(68)])
    train(pairs, settings_for(steps=5, schedule=AT_ONCE), folder)
    return folder / "model", pairs


@pytest.mark.parametrize("head_loss", ["mean", "sampled_per_position"])
@pytest.mark.parametrize("frozen", [True, False])
def test_a13_one_step_from_a_base_moves_every_head(tmp_path, base, frozen, head_loss):
    folder, pairs = base
    settings = settings_for(heads_of(K, frozen=frozen, head_loss=head_loss), steps=1, schedule=AT_ONCE)
    torch.manual_seed(settings.seed)
    before = build_model(settings, VOCABULARY_SIZE).heads.state_dict()
    after = train(pairs, settings, tmp_path, base=folder)
    moved = {name: (after.heads.state_dict()[name] - value).abs() for name, value in before.items()}
    # The rows of the output layer are the heads', one after the other; so are those of the hidden layer.
    for name in ("output.weight", "output.bias", "hidden.weight", "hidden.bias"):
        assert moved[name].unflatten(0, (K, -1)).flatten(1).amax(1).min() > 0, name
    old, new = load_model(folder).model.transformer.state_dict(), after.transformer.state_dict()
    assert all(torch.equal(value, new[name]) == frozen for name, value in old.items())


def test_a13_a_drawn_head_moves_alone_and_each_is_drawn(tmp_path, base):
    """One step moves the output of the head it drew; after some steps, that of every head has moved."""
    folder, pairs = base
    drawn = set()
    for steps in (1, 12):
        settings = settings_for(heads_of(K, frozen=True, head_loss="sampled"), steps=steps, schedule=AT_ONCE)
        torch.manual_seed(settings.seed)
        before = build_model(settings, VOCABULARY_SIZE).heads.output.weight
        after = train(pairs, settings, tmp_path / str(steps), base=folder).heads.output.weight
        moved = (after - before).unflatten(0, (K, -1)).flatten(1).abs().amax(1) > 0
        records = map(json.loads, (tmp_path / str(steps) / "model" / "training.jsonl").read_text().splitlines())
        drawn = {int(head) for record in records if record["event"] == "step" for head in record["head_losses"]}
        assert {head for head in range(1, K + 1) if moved[head - 1]} == drawn
    assert drawn == {1, 2, 3, 4}


@pytest.mark.parametrize("head_loss", ["mean", "sampled_per_position"])
def test_a13_random_text_cannot_be_foreseen(tmp_path, head_loss):
    """A model that read what it predicts would soon be near zero; chance is the logarithm of the number of tokens."""
    random = np.random.default_rng(3)
    targets = [random.integers(5, 55, 20) for _ in range(2000)]
    EncodedPairs.write(tmp_path / "pairs", [np.array([4])] * len(targets), targets, {})
    training = {"steps": 60, "micro_batches": 1, "micro_batch_tokens": 600, "schedule": SCHEDULE, "log_every": 1}
    spec = heads_of(3, head_loss=head_loss)
    settings = settings_for(spec, label_smoothing=0.0, checkpoint_every=60, evaluate_every=60, **training)
    train(EncodedPairs.open(tmp_path / "pairs"), settings, tmp_path)
    lines = (tmp_path / "model" / "training.jsonl").read_text().splitlines()
    losses = [record["head_losses"] for record in map(json.loads, lines) if record["event"] == "step"]
    for head in ("1", "2", "3"):
        last = np.mean([loss[head] for loss in losses[-10:]])
        assert 0.85 * np.log(50) < last < 1.05 * np.log(50)


def test_a13_two_evaluations_of_one_model_say_the_same(tmp_path, base):
    _, pairs = base
    source, target = torch.tensor([source_of(9)]), torch.tensor([target_of(9)])
    told = []

    def evaluate(model: CombinedModel) -> Evaluation:
        states = [model.training_states(source, target) for _ in range(2)]
        told.append([model.heads.all_heads(one, model.heads.transform(one)) for one in states])
        return Evaluation({"dev_bleu": 0.0})

    settings = settings_for(heads_of(K), dropout=0.3, steps=6, evaluate_every=2, schedule=AT_ONCE)
    train(pairs, settings, tmp_path, evaluate=evaluate)
    assert len(told) == 3 and all(torch.equal(one, other) for one, other in told)
    assert not torch.equal(told[0][0], told[1][0]), "training went on between the evaluations"
