"""A14: targets shorter than the look-ahead, and numbers that are none, spoil neither a training nor what it left.

Also: the mean over a step's real targets by hand, a head beyond every target, a step without any target for its head
(tests/training/test_head_loss.py), a loss over no tokens (tests/training/test_output_loss.py).
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from bpd.commands.inspect import inspect
from bpd.data.batches import TokenBatches
from bpd.data.encoded import EncodedPairs
from bpd.errors import BpdError
from bpd.fingerprints import file_sha256
from bpd.models.model_folder import load_model
from bpd.training.head_loss import head_losses, plan_step
from bpd.training.loop import Trainer
from tests.commands.test_cli import run
from tests.field.counting import heads_of, settings_for, train, write_pairs
from tests.models.image_models import image_model, tokens
from tests.training.test_head_loss import spec

AT_ONCE = {"kind": "inverse_square_root", "scale": 0.1, "warmup_steps": 1}
K, STEPS = 10, 50


@pytest.fixture
def pairs(tmp_path: Path) -> EncodedPairs:
    """Half of the targets are one token, which the end symbol follows; sorted by length, such lines share batches."""
    return write_pairs(tmp_path / "pairs", [1 if index % 2 else 1 + index % 20 for index in range(80)])


def journal(folder: Path) -> list[dict]:
    records = map(json.loads, (folder / "model" / "training.jsonl").read_text().splitlines())
    return [record for record in records if record["event"] == "step"]


def finite(model: torch.nn.Module) -> bool:
    return all(bool(torch.isfinite(parameter).all()) for parameter in model.parameters())


@pytest.mark.parametrize("head_loss", ["mean", "sampled", "sampled_per_position"])
def test_a14_every_loss_is_finite_and_heads_without_a_target_are_left_out(tmp_path, pairs, head_loss):
    settings = settings_for(
        heads_of(K, head_loss=head_loss), steps=STEPS, micro_batches=1, micro_batch_tokens=60, schedule=AT_ONCE
    )
    model = train(pairs, settings, tmp_path)
    assert finite(model)
    stream = TokenBatches(pairs, 60, settings.seed)
    only_short = 0
    for record in journal(tmp_path):
        numbers = [record["loss"], record["gradient_norm"], *record["head_losses"].values()]
        assert all(isinstance(number, float) and math.isfinite(number) for number in numbers), record
        longest = stream.next().target.shape[1]
        assert max(map(int, record["head_losses"]), default=0) <= longest
        only_short += longest == 2
        if longest < K and head_loss == "mean":
            assert set(record["head_losses"]) == {str(head) for head in range(1, longest + 1)}
    assert 3 < only_short < STEPS


@pytest.mark.parametrize("head_loss", ["mean", "sampled", "sampled_per_position"])
def test_a14_nothing_but_single_tokens_trains_the_two_heads_that_have_targets(tmp_path, head_loss):
    pairs = write_pairs(tmp_path / "pairs", [1] * 40)
    settings = settings_for(
        heads_of(K, head_loss=head_loss), steps=STEPS, micro_batches=2, micro_batch_tokens=20, schedule=AT_ONCE
    )
    assert finite(train(pairs, settings, tmp_path))
    records = journal(tmp_path)
    assert {head for record in records for head in record["head_losses"]} == {"1", "2"}
    assert all(math.isfinite(record["loss"]) for record in records)


def test_a14_an_image_shorter_than_the_look_ahead(tmp_path):
    """The kind, elsewhere: heads that aim beyond the whole sequence of every example, at the image's end."""
    model = image_model(1, block_size=15, sizes=(1, 2)).train()
    source, target = tokens(1, 2, 3), tokens(2, 2, 12)
    step = plan_step(spec(15), 1, 1, [target.numpy()], model.pad_id)
    assert step.counts == tuple(2 * max(0, 12 - head) for head in range(15))
    result = head_losses(model, model.training_states(source, target), target, step, 0, 0.0)
    result.loss.backward()
    assert torch.isfinite(result.sums).all() and math.isfinite(result.loss.item())
    assert all(torch.isfinite(one.grad).all() for one in model.parameters() if one.grad is not None)


def test_a14_a_base_with_a_number_that_is_none_is_refused_before_the_first_step(tmp_path, pairs):
    """The fault put where the training starts from: a weight of the base model, its fingerprint made to fit."""
    train(pairs, settings_for(steps=2, schedule=AT_ONCE), tmp_path / "base")
    spoil(tmp_path / "base" / "model", "transformer.decoder_norm.weight")
    with pytest.raises(BpdError, match=r"model\.safetensors: transformer\.decoder_norm\.weight holds .* not finite"):
        train(
            pairs,
            settings_for(heads_of(3), steps=2, schedule=AT_ONCE),
            tmp_path / "heads",
            base=tmp_path / "base" / "model",
        )
    assert not (tmp_path / "heads" / "model").exists() and not list(tmp_path.glob("heads/work/*/*.pt"))


def test_a14_no_command_takes_numbers_that_are_none_for_a_model(tmp_path, pairs):
    """An argmax over such logits would be the first token, for ever and without a word."""
    train(pairs, settings_for(steps=2, schedule=AT_ONCE), tmp_path)
    for value in (math.nan, math.inf, -math.inf):
        spoil(tmp_path / "model", "transformer.embedding.weight", value)
        with pytest.raises(BpdError, match="not finite"):
            load_model(tmp_path / "model")
    said = run("inspect", tmp_path / "model")
    assert said.returncode == 1 and "not finite" in said.stderr and "Traceback" not in said.stderr


def spoil(folder: Path, name: str, value: float = math.nan) -> None:
    """Write `value` into one weight of a model folder, and its new SHA-256 into its provenance."""
    weights = load_file(folder / "model.safetensors")
    weights[name].view(-1)[0] = value
    save_file(weights, folder / "model.safetensors")
    provenance = json.loads((folder / "provenance.json").read_text())
    provenance["checkpoint_sha256"] = file_sha256(folder / "model.safetensors")
    (folder / "provenance.json").write_text(json.dumps(provenance))


def test_a14_weights_that_a_step_has_broken_are_not_saved(tmp_path, pairs):
    """Loss and gradient of a step are those of the weights before it: the weights after it are looked at too."""
    huge = AT_ONCE | {"scale": 1e300}
    with pytest.raises(BpdError, match=r"weights after step 1 are not finite; the last checkpoint in .* is kept"):
        train(pairs, settings_for(steps=5, schedule=huge, checkpoint_every=1), tmp_path)
    assert not list(tmp_path.glob("work/*/*.pt")) and not (tmp_path / "model").exists()


def test_a14_a_weight_broken_in_a_checkpoint_stops_the_run_and_the_checkpoint_before_it_still_leads_on(tmp_path, pairs):
    """The refusal's advice is tried: without the broken checkpoint the training ends as an undisturbed one does."""
    settings = settings_for(steps=12, schedule=AT_ONCE, checkpoint_every=3)
    train(pairs, settings, tmp_path / "whole")
    with pytest.MonkeyPatch.context() as patch:
        take_step = Trainer._take_step

        def dying_step(self, *arguments):
            if self.step == 8:
                raise KeyboardInterrupt
            return take_step(self, *arguments)

        patch.setattr(Trainer, "_take_step", dying_step)
        with pytest.raises(KeyboardInterrupt):
            train(pairs, settings, tmp_path / "parts")
    before, newest = sorted(tmp_path.glob("parts/work/*/checkpoint-*.pt"))
    kept = before.read_bytes()
    state = torch.load(newest, weights_only=True)
    state["model"]["transformer.decoder_norm.weight"][0] = math.nan
    torch.save(state, newest)
    broken = newest.read_bytes()
    with pytest.raises(BpdError, match="not finite"):
        train(pairs, settings, tmp_path / "parts")
    assert (before.read_bytes(), newest.read_bytes()) == (kept, broken)
    newest.unlink()
    train(pairs, settings, tmp_path / "parts")
    whole, parts = (inspect(tmp_path / name / "model")["tensors"] for name in ("whole", "parts"))
    assert whole == parts


def test_a14_attention_to_padding_alone_never_comes_about(tmp_path):
    """A row of keys that are all masked would be not a number for the whole batch: the end symbol is always seen."""
    EncodedPairs.write(
        tmp_path / "pairs", [np.array([], dtype=np.int64), np.arange(5, 25)], [np.array([5]), np.arange(5, 25)], {}
    )
    pairs = EncodedPairs.open(tmp_path / "pairs")
    settings = settings_for(steps=6, micro_batches=1, micro_batch_tokens=60, schedule=AT_ONCE)
    batch = TokenBatches(pairs, 60, settings.seed).next()
    assert batch.source.shape == (2, 21), "the empty source stands beside a long one"
    assert finite(train(pairs, settings, tmp_path))
