"""Arms take turns, and ratios are those of the turns."""

import pytest

from bench.interleave import Ratio, Timings, interleave


def test_each_turn_begins_with_another_arm_and_warm_ups_are_not_timed():
    called = []
    arms = {name: (lambda name=name: called.append(name)) for name in "abc"}
    timings = interleave(arms, repeats=3, warm_ups=1)
    assert "".join(called) == "cab" + "abc" + "bca" + "cab"
    assert {arm: len(seconds) for arm, seconds in timings.seconds.items()} == {"a": 3, "b": 3, "c": 3}


def test_seconds_are_those_between_two_looks_at_the_clock():
    looks = iter([0.0, 2.0, 2.0, 5.0, 10.0, 14.0, 20.0, 22.0])
    timings = interleave({"slow": lambda: None, "fast": lambda: None}, repeats=2, warm_ups=0, clock=lambda: next(looks))
    assert timings.seconds == {"slow": (2.0, 2.0), "fast": (3.0, 4.0)}


def test_a_ratio_is_the_median_of_the_turns_not_the_ratio_of_medians():
    timings = Timings({"one": (2.0, 40.0, 6.0), "other": (1.0, 10.0, 2.0)})
    assert timings.ratio("one", "other") == Ratio(3.0, 2.0, 4.0)
    assert timings.ratio("other", "one").value == pytest.approx(1 / 3)
    assert timings.median("one") == 6.0
    assert timings.alone("other") == Ratio(2.0, 1.0, 10.0)
    assert timings.summary()["one"] == {"median": 6.0, "least": 2.0, "largest": 40.0}


def test_a_ratio_can_be_given_in_other_units():
    assert Ratio(3.0, 2.0, 4.0) / 2 == Ratio(1.5, 1.0, 2.0)
    assert Ratio(3.0, 2.0, 4.0) * 2 == Ratio(6.0, 4.0, 8.0)


@pytest.mark.parametrize(("arms", "repeats"), [({}, 5), ({"one": lambda: None}, 0)])
def test_nothing_to_time_is_refused(arms, repeats):
    with pytest.raises(ValueError, match="nothing to time"):
        interleave(arms, repeats=repeats)
