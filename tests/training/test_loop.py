"""Training: exact resume, frozen bases, learning, and refusal of broken numbers and checkpoints."""

import json
from pathlib import Path

import pytest
import torch

from bpd.data.batches import TokenBatches
from bpd.errors import BpdError
from bpd.models.translation_model import TranslationModel
from bpd.stop_request import StopRequest
from bpd.training.loop import Evaluation, Trainer, micro_batch_seed
from tests.training.conftest import VOCABULARY_SIZE, make_settings


def batches_of(pairs, settings):
    """Return what gives the stream of batches from a position on."""
    return lambda position: TokenBatches(pairs, settings.training.micro_batch_tokens, settings.seed, position)


class Stopped(Exception):
    """The kill of a training in a test."""


def train(pairs, folder: Path, settings, identity: str = "a", stop_at: int | None = None) -> TranslationModel:
    """Train from `folder`'s checkpoint, if any; with `stop_at`, die while that step is being recorded."""
    torch.manual_seed(settings.seed)
    model = TranslationModel(settings.transformer, VOCABULARY_SIZE, settings.heads)
    folder.mkdir(exist_ok=True)
    batches = batches_of(pairs, settings)
    trainer = Trainer(model, batches, settings, folder, identity, lambda _: Evaluation({"dev_bleu": 0.0}, "sample"))
    if stop_at is not None:
        take_step = trainer._take_step

        def dying_step(*arguments):
            if trainer.step == stop_at:
                raise Stopped
            return take_step(*arguments)

        trainer._take_step = dying_step
        with pytest.raises(Stopped):
            trainer.run()
    else:
        trainer.run()
    return model


def journal(folder: Path, event: str = "step") -> list[dict]:
    records = [json.loads(line) for line in (folder / "training.jsonl").read_text().splitlines()]
    for record in records:
        record.pop("tokens_per_second", None)
    return [record for record in records if record["event"] == event]


@pytest.mark.parametrize("stops", [(1,), (13,), (20, 26), (29,)])
def test_a_killed_training_ends_with_the_weights_and_records_of_an_undisturbed_one(tmp_path, counting_pairs, stops):
    settings = make_settings()
    whole = train(counting_pairs, tmp_path / "whole", settings)
    for stop in stops:
        train(counting_pairs, tmp_path / "parts", settings, stop_at=stop)
    parts = train(counting_pairs, tmp_path / "parts", settings)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, parts.state_dict()[name]), name
    assert journal(tmp_path / "whole") == journal(tmp_path / "parts")
    assert [record["step"] for record in journal(tmp_path / "parts")] == list(range(1, 31))


def test_the_data_position_is_resumed_in_the_middle_of_an_epoch(tmp_path, counting_pairs):
    settings = make_settings(steps=60, log_every=60)
    train(counting_pairs, tmp_path / "run", settings, stop_at=40)
    state = torch.load(tmp_path / "run" / "checkpoint-00000039.pt", weights_only=True)
    assert state["position"]["epoch"] >= 1 and state["position"]["index"] >= 1


@pytest.mark.parametrize("first_head", ["learned", "identity"])
def test_over_a_frozen_base_only_heads_move(tmp_path, counting_pairs, first_head):
    spec = {"block_size": 3, "first_head": first_head, "frozen": True, "base_dropout": True, "head_loss": "mean"}
    settings = make_settings(spec)
    torch.manual_seed(settings.seed)
    before = TranslationModel(settings.transformer, VOCABULARY_SIZE, settings.heads).state_dict()
    after = train(counting_pairs, tmp_path / "run", settings).state_dict()
    for name, value in before.items():
        assert torch.equal(value, after[name]) == name.startswith("transformer."), name


def test_with_sampled_losses_every_head_and_the_base_move(tmp_path, counting_pairs):
    spec = {"block_size": 3, "first_head": "learned", "frozen": False, "base_dropout": True, "head_loss": "sampled"}
    settings = make_settings(spec)
    torch.manual_seed(settings.seed)
    before = TranslationModel(settings.transformer, VOCABULARY_SIZE, settings.heads)
    after = train(counting_pairs, tmp_path / "run", settings)
    for name, value in before.state_dict().items():
        assert not torch.equal(value, after.state_dict()[name]), name
    moved = (after.heads.output.weight - before.heads.output.weight).view(3, -1).abs().amax(dim=1)
    assert moved.min() > 0
    drawn = [set(record["head_losses"]) for record in journal(tmp_path / "run")]
    assert all(len(heads) == 1 for heads in drawn) and set.union(*drawn) == {"1", "2", "3"}


def test_the_counting_task_is_learned_and_each_head_knows_its_own_place(tmp_path, counting_pairs):
    spec = {"block_size": 3, "first_head": "learned", "frozen": False, "base_dropout": True, "head_loss": "mean"}
    settings = make_settings(spec, steps=250, log_every=50, label_smoothing=0.0, micro_batch_tokens=200)
    model = train(counting_pairs, tmp_path / "run", settings)
    target = torch.arange(5, 17)
    with torch.inference_mode():
        states = model(torch.tensor([[4 + 14, 2]]), torch.cat([torch.tensor([1]), target])[None])
        outputs = model.heads.all_heads(states, model.heads.transform(states))
        guesses = model.transformer.logits(outputs).argmax(-1)[0]
    for head in range(3):
        right = (guesses[: 12 - head, head] == target[head:]).float().mean().item()
        early = (guesses[1 : 12 - head, head] == target[head:11]).float().mean().item()
        assert right > 0.9 and early < 0.2, (head, guesses)


def test_accumulating_micro_batches_equals_one_large_batch(tmp_path, counting_pairs):
    """Two steps over the same sentences, cut into batches differently, have the same gradient."""
    from bpd.data.batches import Batch

    rows = [[5, 6, 7, 8, 2], [5, 2], [5, 6, 2], [5, 6, 7, 2]]

    def batch(indices):
        longest = max(len(rows[index]) for index in indices)
        import numpy as np

        source = np.array([[4 + len(rows[index]) - 1, 2] for index in indices], dtype=np.int64)
        target = np.array([rows[index] + [0] * (longest - len(rows[index])) for index in indices], dtype=np.int64)
        return Batch(source=source, target=target, indices=np.array(indices))

    norms = []
    for number, cut in enumerate([[[0, 1, 2, 3]], [[0, 1], [2, 3]], [[0], [1], [2], [3]]]):
        settings = make_settings(
            {"block_size": 3, "first_head": "learned", "frozen": False, "base_dropout": True, "head_loss": "mean"}
        )
        settings = settings.model_copy(
            update={
                "transformer": settings.transformer.model_copy(update={"residual_dropout": 0.0, "relu_dropout": 0.0})
            }
        )
        torch.manual_seed(0)
        model = TranslationModel(settings.transformer, VOCABULARY_SIZE, settings.heads)
        trainer = Trainer(
            model, batches_of(counting_pairs, settings), settings, tmp_path / str(number), "a", lambda _: None
        )
        norms.append(trainer._take_step([batch(part) for part in cut], StopRequest())["gradient_norm"])
    assert norms[1] == pytest.approx(norms[0], rel=1e-5) and norms[2] == pytest.approx(norms[0], rel=1e-5)


def test_a_broken_number_stops_the_run_and_keeps_the_last_checkpoint(tmp_path, counting_pairs):
    settings = make_settings()
    train(counting_pairs, tmp_path / "run", settings, stop_at=20)
    path = tmp_path / "run" / "checkpoint-00000013.pt"
    state = torch.load(path, weights_only=True)
    state["model"]["transformer.decoder_norm.weight"][0] = float("nan")
    torch.save(state, path)
    content = path.read_bytes()
    with pytest.raises(BpdError, match="not finite"):
        train(counting_pairs, tmp_path / "run", settings)
    assert path.read_bytes() == content
    assert [found.name for found in (tmp_path / "run").glob("checkpoint-*")] == [path.name]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:5000]), "damaged"),
        (lambda path: path.write_bytes(b""), "damaged"),
        (lambda path: path.write_text("<html>"), "damaged"),
        (lambda path: torch.save({"step": 3}, path), "lacks identity"),
        (lambda path: torch.save([1, 2], path), "lacks identity"),
    ],
)
def test_a_broken_checkpoint_is_refused_by_name(tmp_path, counting_pairs, damage, message):
    settings = make_settings()
    train(counting_pairs, tmp_path / "run", settings, stop_at=20)
    path = tmp_path / "run" / "checkpoint-00000013.pt"
    damage(path)
    with pytest.raises(BpdError, match=message) as error:
        train(counting_pairs, tmp_path / "run", settings)
    assert str(path) in str(error.value)


def test_random_numbers_depend_on_the_place_in_the_run_alone(tmp_path, counting_pairs, monkeypatch):
    """What other code draws between the steps, before or after a resume, changes nothing."""
    settings = make_settings()
    whole = train(counting_pairs, tmp_path / "whole", settings)
    take_step = Trainer._take_step

    def step_after_other_draws(self, *arguments):
        torch.rand(self.step + 1)
        return take_step(self, *arguments)

    monkeypatch.setattr(Trainer, "_take_step", step_after_other_draws)
    train(counting_pairs, tmp_path / "parts", settings, stop_at=17)
    parts = train(counting_pairs, tmp_path / "parts", settings)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, parts.state_dict()[name]), name


def test_every_micro_batch_has_random_numbers_of_its_own():
    seeds = {micro_batch_seed(seed, step, place) for seed in (1, 2) for step in range(50) for place in range(8)}
    assert len(seeds) == 2 * 50 * 8 and all(0 <= seed < 2**63 for seed in seeds)


def test_a_checkpoint_of_another_run_is_refused(tmp_path, counting_pairs):
    settings = make_settings()
    train(counting_pairs, tmp_path / "run", settings, stop_at=20)
    with pytest.raises(BpdError, match="other settings or inputs"):
        train(counting_pairs, tmp_path / "run", settings, identity="b")
