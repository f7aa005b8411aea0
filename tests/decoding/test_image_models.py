"""Exact decoding of images equals greedy decoding, in fp32: any k, first head, options and batch."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bpd.decoding.acceptance import Acceptance
from bpd.decoding.blockwise import blockwise
from bpd.decoding.greedy import greedy
from tests.models.image_models import ALL_OPTIONS, PLAIN, image_model, tokens

TOKENS = 4 * 4 * 3


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    st.integers(0, 10**6),
    st.integers(1, 10),
    st.integers(1, 4),
    st.sampled_from(["learned", "identity"]),
    st.sampled_from([PLAIN, ALL_OPTIONS]),
)
def test_exact_is_greedy_is_distance_0_cached_or_not(seed, block_size, rows, first_head, options):
    model = image_model(seed, block_size, first_head, **options)
    inputs, limits = tokens(seed, rows, 12).tolist(), [TOKENS] * rows
    plain = [one.token_ids for one in greedy(model, inputs, limits)]
    for made in (
        blockwise(model, inputs, limits),
        blockwise(model, inputs, limits, cached=False),
        blockwise(model, inputs, limits, acceptance=Acceptance.parse("distance0")),
        blockwise(model, inputs, limits, block_size=1),
    ):
        assert [one.token_ids for one in made] == plain


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.integers(1, 10), st.sampled_from(["exact", "distance2", "distance40"]))
def test_an_image_is_whole_whatever_the_blocks_and_rows_do_not_mix(seed, block_size, criterion):
    model = image_model(seed, block_size, **ALL_OPTIONS)
    inputs, acceptance = tokens(seed, 3, 12).tolist(), Acceptance.parse(criterion)
    together = blockwise(model, inputs, [TOKENS] * 3, acceptance=acceptance)
    for row, made in zip(inputs, together, strict=True):
        assert len(made.token_ids) == TOKENS == sum(made.block_sizes) and made.stop == "length"
        assert all(0 <= token <= 255 for token in made.token_ids)
        assert min(made.block_sizes) >= 1 and max(made.block_sizes) <= block_size
        assert made.calls - made.iterations in (0, 1)
        (alone,) = blockwise(model, [row], [TOKENS], acceptance=acceptance)
        assert (alone.token_ids, alone.block_sizes) == (made.token_ids, made.block_sizes)


def test_some_block_ends_within_a_pixel_and_a_wider_distance_accepts_more():
    sizes = {}
    for criterion in ("exact", "distance30", "distance255"):
        model = image_model(3, 4, **ALL_OPTIONS)
        (made,) = blockwise(model, tokens(3, 1, 12).tolist(), [TOKENS], acceptance=Acceptance.parse(criterion))
        sizes[criterion] = made.block_sizes
    assert len(sizes["distance255"]) == TOKENS / 4
    assert len(sizes["exact"]) > len(sizes["distance30"]) > len(sizes["distance255"])
    ends = torch.tensor(sizes["exact"]).cumsum(0)
    assert (ends % 3 != 0).any()


def test_distances_do_not_wrap_in_eight_bits():
    logits = torch.full((2, 256), -1.0)
    logits[0, 0] = logits[1, 255] = 1.0
    assert Acceptance.parse("distance2").accepted(logits, torch.tensor([255, 0])).tolist() == [False, False]
    assert Acceptance.parse("distance2").accepted(logits, torch.tensor([2, 253])).tolist() == [True, True]


def test_an_identity_first_head_is_the_base_models_own_whatever_the_heads_norm_does():
    heads = image_model(5, 3, "identity")
    base = image_model(5)
    base.transformer.load_state_dict(heads.transformer.state_dict())
    inputs = tokens(5, 2, 12).tolist()
    made = blockwise(heads, inputs, [TOKENS] * 2)
    assert [one.token_ids for one in made] == [one.token_ids for one in greedy(base, inputs, [TOKENS] * 2)]


@pytest.mark.parametrize("first_head", ["learned", "identity"])
def test_the_heads_share_one_norm_which_an_identity_first_head_bypasses(first_head):
    model = image_model(5, 3, first_head)
    states = torch.randn(7, 16)
    outputs = model.heads.all_heads(states, model.heads.transform(states))
    norm = model.heads.norm
    model.heads.norm = None
    raw = model.heads.all_heads(states, model.heads.transform(states))
    assert torch.allclose(outputs[:, 1:], norm(raw[:, 1:]), atol=1e-6)
    first = states if first_head == "identity" else norm(raw[:, 0])
    assert torch.allclose(outputs[:, 0], first, atol=1e-6)
