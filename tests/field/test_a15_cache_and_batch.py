"""A15: nothing that was rejected stays in the cache, and no sentence changes the result of another.

Also: the same for random weights, lengths, criteria and beam search (tests/decoding/test_real_models.py), for images
(tests/decoding/test_image_models.py), for calls, block by block (tests/decoding/test_blockwise.py), and the cache
against the whole forward pass (tests/models/test_transformer_decoder.py, tests/models/test_image_decoder.py).
"""

from __future__ import annotations

import random
from functools import cache

import pytest

from bpd.decoding.acceptance import EXACT, Acceptance
from bpd.decoding.batched import decode_set
from bpd.decoding.beam import beam
from bpd.decoding.blockwise import blockwise
from bpd.decoding.greedy import greedy
from bpd.decoding.results import Decoded
from tests.field.counting import END, LARGEST, half_trained, source_of

SENTENCES = 60


@cache
def sources() -> tuple[list[list[int]], list[int]]:
    """Return sixty sources of one to six numbers each, end symbol last, and length limits as mixed."""
    chance = random.Random(7)
    rows = [
        [source_of(chance.randint(2, LARGEST))[0] for _ in range(chance.choice((1, 1, 2, 3, 6)))] + [END]
        for _ in range(SENTENCES)
    ]
    return rows, [chance.choice((5, 20, 35, 70)) for _ in rows]


def decode(
    block_size: int, batch_rows: int, *, acceptance: Acceptance = EXACT, cached: bool = True, backwards: bool = False
) -> list[Decoded]:
    """Decode the sentences in batches, one after the other, as they come or the last one first."""
    rows, limits = sources()
    order = list(range(SENTENCES))[:: -1 if backwards else 1]
    results: list[Decoded] = []
    for first in range(0, SENTENCES, batch_rows):
        part = order[first : first + batch_rows]
        results += blockwise(
            half_trained(),
            [rows[place] for place in part],
            [limits[place] for place in part],
            acceptance=acceptance,
            block_size=block_size,
            cached=cached,
        )
    return results[:: -1 if backwards else 1]


@pytest.mark.parametrize("block_size", [1, 2, 4, 8])
def test_a15_batch_cache_and_order_change_neither_tokens_nor_iterations(block_size):
    alone = decode(block_size, 1)
    # Tokens, block sizes, calls and reasons to stop are compared.
    assert decode(block_size, 7) == alone
    assert decode(block_size, SENTENCES) == alone
    assert decode(block_size, SENTENCES, backwards=True) == alone
    assert decode(block_size, SENTENCES, cached=False) == alone


def test_a15_the_model_is_such_that_a_fault_would_show():
    """Proposals are accepted and rejected, at many places of a block, and sentences end at many places of a batch."""
    sizes = [size for one in decode(8, SENTENCES) for size in one.block_sizes]
    assert {1, 2, 3, 4, 5, 6, 8} <= set(sizes) and sizes.count(8) < len(sizes) / 2
    results = decode(8, SENTENCES)
    assert len({tuple(one.token_ids) for one in results}) > 10
    assert len({one.iterations for one in results}) > 8
    assert {one.stop for one in results} == {"end", "length"}


@pytest.mark.parametrize("criterion", ["top2", "distance2", "minimum3"])
def test_a15_the_approximate_criteria_are_as_independent(criterion):
    """Tokens that greedy decoding would not have chosen stand in the cache, and are what comes next depends on."""
    acceptance = Acceptance.parse(criterion)
    alone = decode(8, 1, acceptance=acceptance)
    assert decode(8, 7, acceptance=acceptance) == alone == decode(8, SENTENCES, acceptance=acceptance, cached=False)
    assert alone != decode(8, 1)


def test_a15_decoding_a_set_gives_each_input_its_own_result_in_its_own_place():
    """Batches are made by length, so that neighbours change with the batch size; blank lines stay blank."""
    rows, _ = sources()
    inputs = [row[:-1] for row in rows]
    inputs[4], inputs[31] = [], []

    def decoded(batch_rows: int) -> list[Decoded | None]:
        found = decode_set(
            lambda part, limits: blockwise(half_trained(), part, limits),
            inputs,
            end_id=END,
            max_extra_tokens=30,
            batch_rows=batch_rows,
        )
        return [one.decoded for one in found]

    alone = decoded(1)
    assert alone == decoded(7) == decoded(64)
    assert [place for place, one in enumerate(alone) if one is None] == [4, 31]
    for place in (0, 30, 59):
        (expected,) = blockwise(half_trained(), [[*inputs[place], END]], [len(inputs[place]) + 30])
        assert alone[place] == expected


def test_a15_greedy_and_beam_search_are_as_independent():
    """The kind, where no block is verified: rows leave the batch, and hypotheses change rows."""
    rows, limits = sources()
    rows, limits = rows[:20], [min(limit, 20) for limit in limits[:20]]
    model = half_trained()
    for search in (
        greedy,
        lambda *words, **named: beam(*words, beam_size=3, length_penalty=0.6, **named),
    ):
        alone = [search(model, [row], [limit])[0].token_ids for row, limit in zip(rows, limits, strict=True)]
        assert [one.token_ids for one in search(model, rows, limits)] == alone
        assert [one.token_ids for one in search(model, rows, limits, cached=False)] == alone
        assert [one.token_ids for one in search(model, rows[::-1], limits[::-1])] == alone[::-1]
