import pytest

from bpd.errors import BpdError
from bpd.evaluation.accepted_blocks import block_size_counts, mean_accepted_block_size
from tests.evaluation.example_records import record


def test_the_mean_is_a_ratio_of_sums_not_a_mean_of_ratios():
    records = [record(0, block_sizes=(4, 4)), record(1, block_sizes=(1,)), record(2, block_sizes=(2, 1, 1))]
    # (8 + 1 + 4) tokens in (2 + 1 + 3) iterations; the mean of 4, 1 and 4/3 would be 19/9.
    assert mean_accepted_block_size(records) == pytest.approx(13 / 6)


def test_calls_are_no_iterations():
    assert mean_accepted_block_size([record(0, block_sizes=(3, 3), calls=99)]) == 3.0


def test_blank_inputs_count_for_nothing():
    blank, spoken = record(0, block_sizes=()), record(1, block_sizes=(2, 3))
    assert mean_accepted_block_size([blank, spoken]) == 2.5
    assert block_size_counts([blank, spoken]) == {2: 1, 3: 1}


def test_greedy_decoding_accepts_one_token_an_iteration():
    assert mean_accepted_block_size([record(0, block_sizes=(1,) * 7), record(1, block_sizes=(1,) * 2)]) == 1.0


@pytest.mark.parametrize("records", [[], [record(0, block_sizes=())]])
def test_there_is_no_mean_of_nothing(records):
    with pytest.raises(BpdError, match="no iterations: every input was blank"):
        mean_accepted_block_size(records)


def test_iterations_are_counted_by_the_tokens_they_accepted():
    counts = block_size_counts([record(0, block_sizes=(4, 1, 4)), record(1, block_sizes=(2, 1, 1))])
    assert list(counts.items()) == [(1, 3), (2, 1), (4, 2)]
    assert block_size_counts([]) == {}
