"""Cached and recomputing decoders say what the full forward pass says, whatever the blocks, rewinds and rows."""

import pytest
import torch

from bpd.models.image_model import ImageModel
from bpd.models.image_transformer import BEGIN_ID
from bpd.models.local_cache import LocalCache
from tests.models.image_models import ALL_OPTIONS, image_model, tokens

SIZES = (2, 8)
LENGTH = 8 * 8 * 3


@torch.no_grad()
def forward(model: ImageModel, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return p₁'s logits [rows, length, 256] for `target`, predicted from the true tokens before."""
    states = model.training_states(source, target)
    if model.heads is not None:
        states = model.heads.head(1, states, model.heads.transform(states))
    return model.transformer.logits(states)


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("options", [{}, ALL_OPTIONS])
@pytest.mark.parametrize("seed", [1, 2, 3])
@torch.no_grad()
def test_ragged_blocks_rewinds_and_selections_give_the_forward_pass(seed, options, cached):
    model = image_model(seed, block_size=5, sizes=SIZES, local_block=24, **options)
    source, target = tokens(seed, 3, 12), tokens(seed + 10, 3, LENGTH)
    expected = forward(model, source, target)
    # The decoder's input: the begin symbol, then the tokens.
    fed = torch.cat([torch.full((3, 1), BEGIN_ID), target], dim=1)
    decoder = model.start(source.tolist(), cached=cached)
    rows, lengths = [0, 1, 2], [0, 0, 0]
    random = torch.Generator().manual_seed(seed)

    def draw(low: int, high: int) -> int:
        return int(torch.randint(low, high + 1, (1,), generator=random))

    steps = 0
    while min(lengths) < LENGTH - 6 and steps < (400 if cached else 40):
        steps += 1
        block = draw(1, 5)
        block = min(block, LENGTH - max(lengths))
        # Rejected proposals: what is advanced over may be wrong, and is rewound.
        wrong = draw(0, 1)
        part = torch.stack([fed[row, length : length + block] for row, length in zip(rows, lengths)])
        right = block - (draw(0, block - 1) if wrong else 0)
        part[:, right:] = (part[:, right:] + 13) % 256
        scores = decoder.advance(part).scoring()
        for place, (row, length) in enumerate(zip(rows, lengths)):
            assert torch.allclose(scores[place, :right], expected[row, length : length + right], atol=2e-4)
        kept = [draw(max(1, right - 1), right) for _ in rows]
        lengths = [length + keep for length, keep in zip(lengths, kept)]
        decoder.rewind(lengths)
        assert decoder.lengths == lengths
        if steps == 7:
            decoder.select([2, 0])
            rows, lengths = [rows[2], rows[0]], [lengths[2], lengths[0]]
    assert min(lengths) > (3 * 24 + 5 if cached else 24), "the ring went round"


@torch.no_grad()
def test_heads_propose_at_one_position_a_row_what_they_say_in_the_forward_pass():
    model = image_model(4, block_size=3, sizes=SIZES, local_block=24, **ALL_OPTIONS)
    source, target = tokens(4, 2, 12), tokens(5, 2, LENGTH)
    states = model.training_states(source, target)
    expected = model.transformer.logits(model.heads.all_heads(states, model.heads.transform(states)))
    decoder = model.start(source.tolist())
    scores = decoder.advance(torch.cat([torch.full((2, 1), BEGIN_ID), target[:, :2]], dim=1))
    proposed = scores.proposing(torch.tensor([2, 1]))
    assert torch.allclose(proposed[0], expected[0, 2], atol=2e-4)
    assert torch.allclose(proposed[1], expected[1, 1], atol=2e-4)


def cache(window: int = 4, largest_block: int = 3, batch: int = 1) -> LocalCache:
    return LocalCache(1, batch, 1, 2, window, largest_block, torch.zeros(1))


def advance(ring: LocalCache, block: int) -> torch.Tensor:
    _, mask = ring.reserve(block)
    ring.write(0, torch.zeros(len(ring.lengths), block, 4))
    ring.extend(block)
    return mask


def test_a_ring_does_not_grow_and_shows_the_window_alone():
    ring = cache()
    size = ring._store.numel()
    for index in range(40):
        mask = advance(ring, 1)
        first = max(0, (index // 4 - 1) * 4)
        shown = {place for place in range(ring.capacity) if mask[0, 0, 0, place] == 0}
        assert shown == {position % ring.capacity for position in range(first, index + 1)}
    assert ring._store.numel() == size


def test_what_the_ring_cannot_do_is_refused():
    ring = cache()
    with pytest.raises(ValueError, match="a block of 4 is more than the 3 provided for"):
        ring.reserve(4)
    for _ in range(20):
        advance(ring, 1)
    with pytest.raises(ValueError, match="cannot rewind rows of lengths"):
        ring.rewind([21])
    with pytest.raises(ValueError, match="of its 20 entries only the last 11 are kept"):
        ring.rewind([11])
    ring.rewind([17])
    assert ring.lengths == [17]


@pytest.mark.parametrize("kind", ["text", "image"])
@torch.inference_mode()
def test_half_precision_keys_find_room_in_the_cache(kind):
    from bpd.decoding.blockwise import blockwise
    from tests.decoding.test_real_models import random_inputs, random_model

    with torch.autocast("cpu", dtype=torch.bfloat16):
        if kind == "image":
            results = blockwise(image_model(1, block_size=3, **ALL_OPTIONS), tokens(1, 3, 12).tolist(), [48] * 3)
            assert [len(result.token_ids) for result in results] == [48] * 3
        else:
            results = blockwise(random_model(3, 3), *random_inputs(3, 5))
            assert all(result.token_ids for result in results)
