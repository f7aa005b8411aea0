"""Cached decoding equals recomputing and the full forward pass, whatever was rewound or selected before."""

import random

import pytest
import torch

from bpd.config import HeadSpec, TransformerConfig
from bpd.models.translation_model import TranslationModel

TINY = TransformerConfig(
    d_model=16, d_ff=32, attention_heads=2, encoder_layers=1, decoder_layers=2,
    residual_dropout=0.0, attention_dropout=0.0, relu_dropout=0.0,
)  # fmt: skip
INPUTS = [[5, 6, 7, 2], [8, 2], [9, 10, 11, 12, 13, 2]]


def make_model(block_size: int | None = 3, first_head: str = "learned") -> TranslationModel:
    torch.manual_seed(1)
    spec = None
    if block_size is not None:
        spec = HeadSpec(block_size=block_size, first_head=first_head, frozen=False, base_dropout=True, head_loss="mean")
    return TranslationModel(TINY, 20, spec).eval()


def all_logits(model: TranslationModel, inputs: list[list[int]], prefix: list[list[int]]) -> list[torch.Tensor]:
    """Return p₁ … p_k after every prefix token, [length, k, vocabulary] a row, from one full forward pass a row."""
    results = []
    for row, tokens in zip(inputs, prefix, strict=True):
        states = model(torch.tensor([row]), torch.tensor([tokens]))
        if model.heads is None:
            outputs = states.unsqueeze(2)
        else:
            outputs = model.heads.all_heads(states, model.heads.transform(states))
        results.append(model.transformer.logits(outputs)[0])
    return results


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("block_size", [None, 1, 3])
@torch.inference_mode()
def test_advancing_rewinding_and_selecting_agree_with_full_forward_passes(cached, block_size):
    model = make_model(block_size)
    chance = random.Random(7)
    rows = [0, 1, 2]
    held: list[list[int]] = [[], [], []]
    decoder = model.start(INPUTS, cached=cached)
    for step in range(60):
        block = chance.choice([1, 2, 3, 5])
        new = [[chance.randrange(3, 20) for _ in range(block)] for _ in rows]
        scores = decoder.advance(torch.tensor(new))
        held = [tokens + more for tokens, more in zip(held, new, strict=True)]
        expected = all_logits(model, [INPUTS[row] for row in rows], held)
        scoring = scores.scoring()
        for index, logits in enumerate(expected):
            assert torch.allclose(scoring[index], logits[-block:, 0], atol=2e-5)
        places = [chance.randrange(block) for _ in rows]
        proposing = scores.proposing(torch.tensor(places))
        for index, (logits, place) in enumerate(zip(expected, places, strict=True)):
            assert torch.allclose(proposing[index], logits[len(held[index]) - block + place], atol=2e-5)
        kept = [len(tokens) - chance.randrange(block) for tokens in held]
        if step % 9 == 8:
            kept = [chance.randrange(1, 4) for _ in held]
        decoder.rewind(torch.tensor(kept))
        held = [tokens[:length] for tokens, length in zip(held, kept, strict=True)]
        if step % 5 == 4:
            chosen = [chance.randrange(len(rows)) for _ in range(chance.choice([1, 2, 3, 4]))]
            decoder.select(torch.tensor(chosen))
            rows, held = [rows[index] for index in chosen], [list(held[index]) for index in chosen]
        assert list(decoder.lengths) == [len(tokens) for tokens in held]


@torch.inference_mode()
def test_an_identity_first_head_is_the_base_model_and_a_learned_one_is_not():
    identity, learned = make_model(3, "identity"), make_model(3, "learned")
    prefix = [[1, 5, 6]]
    base = identity.transformer.logits(identity(torch.tensor(INPUTS[:1]), torch.tensor(prefix)))[0]
    assert torch.allclose(all_logits(identity, INPUTS[:1], prefix)[0][:, 0], base, atol=1e-6)
    base = learned.transformer.logits(learned(torch.tensor(INPUTS[:1]), torch.tensor(prefix)))[0]
    assert not torch.allclose(all_logits(learned, INPUTS[:1], prefix)[0][:, 0], base, atol=1e-3)


@torch.inference_mode()
def test_a_rewind_forward_is_refused():
    decoder = make_model().start(INPUTS)
    decoder.advance(torch.tensor([[1], [1], [1]]))
    with pytest.raises(ValueError, match="cannot rewind"):
        decoder.rewind([1, 2, 1])


@torch.inference_mode()
def test_heads_see_no_other_row():
    model = make_model()
    together = model.start(INPUTS).advance(torch.tensor([[1, 4], [1, 5], [1, 6]])).scoring()
    for row, tokens in enumerate([[1, 4], [1, 5], [1, 6]]):
        alone = model.start([INPUTS[row]]).advance(torch.tensor([tokens])).scoring()
        assert torch.allclose(together[row], alone[0], atol=1e-5)
