import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpd.data.batches import BatchPosition, TokenBatches, pad_rows
from bpd.data.encoded import EncodedPairs
from bpd.errors import BpdError


def write_pairs(folder, lengths):
    """Write pairs of the given (source, target) lengths, whose ids tell them apart, and open them."""
    sources = [[4 + index % 60000] * lengths_of_pair[0] for index, lengths_of_pair in enumerate(lengths)]
    targets = [[5 + index % 60000] * lengths_of_pair[1] for index, lengths_of_pair in enumerate(lengths)]
    EncodedPairs.write(folder, sources, targets, {})
    return EncodedPairs.open(folder)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    random = np.random.default_rng(0)
    lengths = np.stack([random.integers(1, 40, 500), random.integers(1, 40, 500)], axis=1)
    return write_pairs(tmp_path_factory.mktemp("pairs") / "pairs", lengths.tolist())


def epoch_of(batches):
    epoch = batches.position.epoch
    found = []
    while batches.position.epoch == epoch:
        found.append(batches.next())
    return found


def test_every_epoch_visits_every_pair_once(pairs):
    batches = TokenBatches(pairs, 200, seed=1)
    for _ in range(3):
        indices = np.concatenate([batch.indices for batch in epoch_of(batches)])
        assert sorted(indices.tolist()) == list(range(500))


def test_batches_keep_the_budget_and_use_most_of_it(pairs):
    batches = epoch_of(TokenBatches(pairs, 200, seed=1))
    sizes = [len(batch.indices) * max(batch.source.shape[1], batch.target.shape[1]) for batch in batches]
    assert max(sizes) <= 200
    assert np.mean(sizes) > 150


def test_rows_end_with_the_end_id_and_padding(pairs):
    for batch in epoch_of(TokenBatches(pairs, 200, seed=1)):
        assert batch.source.dtype == batch.target.dtype == np.int64
        for row, index in enumerate(batch.indices):
            for side, sentence in ((batch.source, pairs.source(index)), (batch.target, pairs.target(index))):
                rest = side.shape[1] - len(sentence) - 1
                assert side[row].tolist() == [*sentence.tolist(), 2, *[0] * rest]
        assert batch.source.shape[1] == pairs.source_lengths[batch.indices].max() + 1
        assert batch.target.shape[1] == pairs.target_lengths[batch.indices].max() + 1


def test_little_is_padding_on_the_longer_side(pairs):
    longer = np.maximum(pairs.source_lengths, pairs.target_lengths) + 1
    batches = epoch_of(TokenBatches(pairs, 200, seed=1))
    padded = sum(len(batch.indices) * longer[batch.indices].max() for batch in batches)
    assert longer.sum() / padded > 0.97


def test_seed_and_epoch_decide_the_order(pairs):
    def order(seed, epochs=1):
        batches = TokenBatches(pairs, 200, seed)
        return [[batch.indices.tolist() for batch in epoch_of(batches)] for _ in range(epochs)]

    first, second = order(1, epochs=2)
    assert order(1) == [first]
    assert first != second
    assert sorted(map(sorted, first)) != sorted(map(sorted, second))
    assert order(2) != [first]
    assert order(-1) != [first]


def test_lengths_come_in_random_order(pairs):
    widths = [batch.source.shape[1] + batch.target.shape[1] for batch in epoch_of(TokenBatches(pairs, 200, seed=1))]
    assert abs(np.corrcoef(widths, np.arange(len(widths)))[0, 1]) < 0.3


@settings(max_examples=15, derandomize=True, deadline=None)
@given(steps=st.integers(0, 250))
def test_a_resumed_stream_goes_on_as_if_nothing_had_happened(pairs, steps):
    straight = TokenBatches(pairs, 200, seed=3)
    for _ in range(steps):
        straight.next()
    saved = (straight.position.epoch, straight.position.index)
    resumed = TokenBatches(pairs, 200, seed=3, position=BatchPosition(*saved))
    for _ in range(5):
        one, other = straight.next(), resumed.next()
        assert (one.source == other.source).all()
        assert (one.target == other.target).all()
        assert (one.indices == other.indices).all()
    assert straight.position == resumed.position


def test_position_counts_batches_and_epochs(pairs):
    batches = TokenBatches(pairs, 200, seed=1)
    count = batches.batches_per_epoch
    for _ in range(count - 1):
        batches.next()
    assert batches.position == BatchPosition(0, count - 1)
    batches.next()
    assert batches.position == BatchPosition(1, 0)


def test_a_position_beyond_the_data_is_refused(pairs):
    with pytest.raises(BpdError, match="cannot resume at batch 9999 of epoch 2"):
        TokenBatches(pairs, 200, seed=1, position=BatchPosition(2, 9999))


def test_no_pairs_and_too_long_pairs_are_refused(tmp_path):
    with pytest.raises(BpdError, match="no sentence pairs"):
        TokenBatches(write_pairs(tmp_path / "none", []), 100, seed=1)
    long = write_pairs(tmp_path / "long", [(3, 3), (2, 100)])
    with pytest.raises(BpdError, match=r"pair 1 has 101 tokens .* batch of 100"):
        TokenBatches(long, 100, seed=1)
    assert len(TokenBatches(long, 101, seed=1).next().indices) >= 1


def test_padding_by_hand():
    rows = pad_rows([np.array([7, 8], np.uint16), np.array([], np.uint16)])
    assert rows.tolist() == [[7, 8, 2], [2, 0, 0]]


def test_planning_millions_of_pairs_takes_seconds(pairs):
    class Many:
        folder = "many"
        source_lengths = np.random.default_rng(1).integers(1, 100, 1_000_000)
        target_lengths = np.random.default_rng(2).integers(1, 100, 1_000_000)

        def __len__(self):
            return len(self.source_lengths)

    began = time.process_time()
    batches = TokenBatches(Many(), 4096, seed=1)
    assert time.process_time() - began < 5
    assert batches.batches_per_epoch > 10_000
