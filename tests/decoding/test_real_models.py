"""Exact decoding equals greedy decoding on real Transformers, in fp32: any k, batch, length, end and cache."""

import random
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bpd.config import HeadSpec, TransformerConfig
from bpd.decoding.acceptance import Acceptance
from bpd.decoding.beam import beam
from bpd.decoding.blockwise import blockwise
from bpd.decoding.greedy import greedy
from bpd.models.translation_model import TranslationModel

CONFIG = TransformerConfig(
    d_model=16, d_ff=24, attention_heads=2, encoder_layers=1, decoder_layers=2,
    residual_dropout=0.1, attention_dropout=0.1, relu_dropout=0.1,
)  # fmt: skip
VOCABULARY = 11


def random_model(seed: int, block_size: int, first_head: str = "learned") -> TranslationModel:
    """Return a model whose outputs vary: weights are drawn wide, and the end symbol is neither rare nor rife."""
    torch.manual_seed(seed)
    spec = HeadSpec(block_size=block_size, first_head=first_head, frozen=False, base_dropout=True, head_loss="mean")
    model = TranslationModel(CONFIG, VOCABULARY, spec).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.6)
    return model


def random_inputs(seed: int, rows: int) -> tuple[list[list[int]], list[int]]:
    chance = random.Random(seed)
    inputs = [[chance.randrange(3, VOCABULARY) for _ in range(chance.randint(1, 9))] + [2] for _ in range(rows)]
    return inputs, [chance.randint(1, 24) for _ in range(rows)]


def copying_model(block_size: int) -> TranslationModel:
    """Return a model whose heads see through each other well: all of them are the base model's own output."""
    model = random_model(block_size, block_size)
    with torch.no_grad():
        model.heads.output.weight.zero_()
        model.heads.output.bias.zero_()
    return model


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.integers(1, 10), st.integers(1, 9), st.sampled_from(["learned", "identity"]))
def test_exact_is_greedy_cached_is_recomputed_and_batches_change_nothing(seed, block_size, rows, first_head):
    model = random_model(seed, block_size, first_head)
    inputs, limits = random_inputs(seed, rows)
    plain = greedy(model, inputs, limits)
    blocks = blockwise(model, inputs, limits)
    assert [one.token_ids for one in blocks] == [one.token_ids for one in plain]
    assert [one.stop for one in blocks] == [one.stop for one in plain]
    assert greedy(model, inputs, limits, cached=False) == plain
    assert blockwise(model, inputs, limits, cached=False) == blocks
    alone = [blockwise(model, [row], [limit])[0] for row, limit in zip(inputs, limits, strict=True)]
    assert alone == blocks
    backwards = blockwise(model, inputs[::-1], limits[::-1])
    assert backwards[::-1] == blocks
    for one, limit in zip(blocks, limits, strict=True):
        assert sum(one.block_sizes) == len(one.token_ids) <= limit
        assert max(one.block_sizes) <= block_size
        assert one.iterations <= one.calls <= one.iterations + 1
        assert (one.token_ids[-1] == 2) == (one.stop == "end") and 2 not in one.token_ids[:-1]


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.integers(1, 10))
def test_relaxed_criteria_shrink_to_the_exact_one(seed, block_size):
    model = random_model(seed, block_size)
    inputs, limits = random_inputs(seed, 5)
    exact = blockwise(model, inputs, limits)
    for name in ("top1", "distance0", "minimum1"):
        assert blockwise(model, inputs, limits, acceptance=Acceptance.parse(name)) == exact
    everything = Acceptance.parse(f"top{VOCABULARY}")
    whole = blockwise(model, inputs, limits, acceptance=everything)
    assert all(size == block_size for one in whole for size in one.block_sizes[:-1])
    smaller = blockwise(model, inputs, limits, block_size=1)
    assert smaller == greedy(model, inputs, limits)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.integers(2, 10))
def test_approximate_decoding_does_not_depend_on_batch_or_cache(seed, block_size):
    model = random_model(seed, block_size)
    inputs, limits = random_inputs(seed, 6)
    for name in ("top2", "top3", "distance2", "minimum2"):
        acceptance = Acceptance.parse(name)
        together = blockwise(model, inputs, limits, acceptance=acceptance)
        alone = [blockwise(model, [row], [limit], acceptance=acceptance)[0] for row, limit in zip(inputs, limits)]
        assert together == alone
        assert together == blockwise(model, inputs, limits, acceptance=acceptance, cached=False)


@pytest.mark.parametrize("block_size", range(1, 11))
def test_every_place_of_the_end_symbol_is_met(block_size):
    """The end symbol is moved through every place of a block: it ends the output wherever it stands."""
    inputs, limits = random_inputs(1, 6)
    met = set()
    for seed, end_id in product(range(3), range(3, VOCABULARY)):
        model = random_model(seed, block_size)
        model.end_id = end_id
        plain, blocks = greedy(model, inputs, limits), blockwise(model, inputs, limits)
        assert [one.token_ids for one in plain] == [one.token_ids for one in blocks]
        assert all(end_id not in one.token_ids[:-1] for one in blocks)
        met |= {one.stop for one in blocks}
    assert met == {"end", "length"}


@pytest.mark.parametrize("block_size", [2, 5, 10])
def test_identical_heads_accept_runs_of_one_token(block_size):
    model = copying_model(block_size)
    inputs, limits = random_inputs(3, 12)
    blocks = blockwise(model, inputs, limits)
    assert [one.token_ids for one in blocks] == [one.token_ids for one in greedy(model, inputs, limits)]
    for one in blocks:
        place = 0
        for size in one.block_sizes:
            assert len(set(one.token_ids[place : place + size])) == 1
            place += size


def test_beam_search_does_not_depend_on_batch_or_cache():
    model = random_model(5, 1)
    inputs, limits = random_inputs(5, 7)
    together = beam(model, inputs, limits, beam_size=4, length_penalty=0.6)
    alone = [beam(model, [row], [limit], beam_size=4, length_penalty=0.6)[0] for row, limit in zip(inputs, limits)]
    assert [one.token_ids for one in together] == [one.token_ids for one in alone]
    recomputed = beam(model, inputs, limits, beam_size=4, length_penalty=0.6, cached=False)
    assert [one.token_ids for one in recomputed] == [one.token_ids for one in together]
