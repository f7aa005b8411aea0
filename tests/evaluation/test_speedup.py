"""Speedup and efficiency, by hand and for any records."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpd.errors import BpdError
from bpd.evaluation.speedup import speedup, timed_batch_sizes
from bpd.evaluation.time_records import TimeRecord


def record(arm, seconds, repeat=0, batch=0, tokens=10, iterations=None, protocol="cached", batch_rows=1):
    iterations = iterations or (tokens if arm == "greedy" else 4)
    return TimeRecord(protocol, batch_rows, repeat, batch, arm, tokens, iterations, iterations, seconds)


def test_by_hand():
    records = [
        record("greedy", 3.0, 0, 0), record("blockwise", 1.0, 0, 0),
        record("greedy", 5.0, 0, 1, tokens=20), record("blockwise", 3.0, 0, 1, tokens=20, iterations=8),
        record("greedy", 4.0, 1, 0), record("blockwise", 2.0, 1, 0),
        record("greedy", 6.0, 1, 1, tokens=20), record("blockwise", 2.0, 1, 1, tokens=20, iterations=8),
    ]  # fmt: skip
    found = speedup(records, "cached")
    assert found.speedup == pytest.approx(18 / 8)
    assert (found.low, found.high) == (pytest.approx(8 / 4), pytest.approx(10 / 4))
    assert found.mean_accepted_block_size == pytest.approx(60 / 24)
    assert found.efficiency == pytest.approx((18 / 8) / (60 / 24))
    assert (found.greedy_seconds, found.blockwise_seconds) == (pytest.approx(18 / 60), pytest.approx(8 / 60))
    assert (found.tokens, found.repeats) == (30, 2)


def test_protocols_and_batch_sizes_are_kept_apart():
    records = [
        record(arm, seconds, protocol=protocol, batch_rows=rows)
        for protocol, rows, fast in (("recompute", 1, 1), ("cached", 1, 2), ("batches", 1, 4), ("batches", 4, 8))
        for arm, seconds in (("greedy", 8.0), ("blockwise", fast))
    ]
    assert [speedup(records, "recompute").speedup, speedup(records, "cached").speedup] == [8.0, 4.0]
    assert [speedup(records, "batches", rows).speedup for rows in timed_batch_sizes(records)] == [2.0, 1.0]
    assert timed_batch_sizes(records) == [1, 4]
    assert speedup(records, "batches", 16) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda found: found[:-1], "lack one arm"),
        (lambda found: [*found, found[0]], "hold one twice"),
        (lambda found: [replace(found[0], tokens=11), *found[1:]], "unlike numbers of tokens"),
    ],
)
def test_unlike_arms_are_refused(change, message):
    records = [record("greedy", 2.0), record("blockwise", 1.0)]
    with pytest.raises(BpdError, match=message):
        speedup(change(records), "cached")


@given(
    st.lists(
        st.tuples(st.floats(0.01, 10), st.floats(0.01, 10), st.integers(1, 50), st.integers(1, 10)),
        min_size=1,
        max_size=6,
    ),
    st.integers(1, 4),
    st.floats(0.1, 10),
)
def test_the_whole_lies_between_the_repeats_and_units_cancel(batches, repeats, unit):
    records = []
    for repeat in range(repeats):
        for batch, (slow, fast, iterations, block) in enumerate(batches):
            tokens = iterations * block
            records += [
                record("greedy", slow * (1 + repeat / 7), repeat, batch, tokens),
                record("blockwise", fast, repeat, batch, tokens, iterations),
            ]
    found = speedup(records, "cached")
    assert found.low <= found.speedup * (1 + 1e-12) and found.speedup <= found.high * (1 + 1e-12)
    assert found.efficiency * found.mean_accepted_block_size == pytest.approx(found.speedup)
    scaled = speedup([replace(one, seconds=one.seconds * unit) for one in records], "cached")
    assert scaled.speedup == pytest.approx(found.speedup)
    shuffled = speedup(records[::-1], "cached")
    assert shuffled.speedup == pytest.approx(found.speedup)
