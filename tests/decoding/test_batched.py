"""Decoding a whole set: nothing is lost, reordered, decoded twice or given the wrong limit."""

import random

from bpd.decoding.batched import decode_set
from bpd.decoding.results import Decoded
from tests.decoding.scripted_model import END


def test_results_come_in_the_order_of_the_inputs_from_batches_of_similar_lengths():
    chance = random.Random(2)
    inputs = [[10 + index] * chance.randint(1, 9) for index in range(23)]
    inputs[4] = inputs[11] = []
    batches = []

    def decode(rows, limits):
        batches.append([len(row) - 1 for row in rows])
        for row, limit in zip(rows, limits, strict=True):
            assert row[-1] == END and END not in row[:-1]
            assert limit == len(row) - 1 + 50
        return [Decoded([row[0], END], [2], 2, "end") for row in rows]

    results = decode_set(decode, inputs, end_id=END, max_extra_tokens=50, batch_rows=4)
    assert [None if one.decoded is None else one.decoded.token_ids[0] for one in results] == [
        row[0] if row else None for row in inputs
    ]
    assert all(one.seconds >= 0 for one in results)
    assert [len(batch) for batch in batches] == [4, 4, 4, 4, 4, 1]
    lengths = [length for batch in batches for length in batch]
    assert lengths == sorted(lengths, reverse=True)


def test_empty_inputs_are_not_decoded():
    def decode(rows, limits):
        raise AssertionError("there is nothing to decode")

    results = decode_set(decode, [[], []], end_id=END, max_extra_tokens=50)
    assert [(one.decoded, one.seconds) for one in results] == [(None, 0.0)] * 2
    assert decode_set(decode, [], end_id=END, max_extra_tokens=50) == []
