"""Timing: both arms do equal work, take turns, and only what lies between two looks at the clock is counted."""

from itertools import count

import pytest

from bpd.decoding.acceptance import Acceptance
from bpd.decoding.blockwise import blockwise
from bpd.evaluation import timing
from bpd.evaluation.timing import WithoutEnd, time_decoding
from tests.decoding.test_real_models import random_inputs, random_model

EXACT = Acceptance.parse("exact")


def timed(batch_rows: int = 2, protocol: str = "cached", repeats: int = 3):
    model, base = random_model(5, 4), random_model(6, 1)
    inputs, limits = random_inputs(7, 5)
    records = time_decoding(
        base, model, inputs, limits, acceptance=EXACT, protocol=protocol, batch_rows=batch_rows, repeats=repeats
    )
    return model, inputs, limits, records


@pytest.mark.parametrize("protocol", ["recompute", "cached", "batches"])
@pytest.mark.parametrize("batch_rows", [1, 2, 5])
def test_both_arms_emit_equally_many_tokens_in_every_batch(protocol, batch_rows):
    model, inputs, limits, records = timed(batch_rows, protocol)
    batches = -(-len(inputs) // batch_rows)
    assert len(records) == 3 * batches * 2
    found = {(one.repeat, one.batch, one.arm): one for one in records}
    assert len(found) == len(records)
    decoded = blockwise(model, inputs, limits)
    for repeat in range(3):
        for batch in range(batches):
            part = decoded[batch * batch_rows : (batch + 1) * batch_rows]
            tokens = sum(len(one.token_ids) for one in part)
            slow, fast = found[repeat, batch, "greedy"], found[repeat, batch, "blockwise"]
            assert slow.tokens == fast.tokens == slow.iterations == tokens
            assert fast.iterations == sum(one.iterations for one in part)
            assert (slow.protocol, slow.batch_rows) == (protocol, batch_rows)
            assert slow.seconds > 0 and fast.seconds > 0


def test_the_arms_take_turns_and_the_first_place_changes_hands():
    order = [(one.repeat, one.batch, one.arm) for one in timed()[-1]]
    expected = []
    for repeat in range(3):
        for batch in range(3):
            arms = ["greedy", "blockwise"]
            expected += [(repeat, batch, arm) for arm in (arms if (repeat + batch) % 2 == 0 else arms[::-1])]
    assert order == expected
    firsts = [arm for *_, arm in order[::2]]
    assert abs(firsts.count("greedy") - firsts.count("blockwise")) <= 1


def test_only_decoding_between_two_synchronisations_is_counted(monkeypatch):
    clock = count()
    happened = []
    monkeypatch.setattr(timing.time, "perf_counter", lambda: happened.append("clock") or float(next(clock)))
    monkeypatch.setattr(timing, "synchronise", lambda device: happened.append("synchronise"))
    for arm in ("greedy", "blockwise"):
        original = getattr(timing, arm)
        monkeypatch.setattr(
            timing, arm, lambda *words, _arm=arm, _run=original, **named: happened.append(_arm) or _run(*words, **named)
        )
    records = timed(batch_rows=5)[-1]
    assert [one.seconds for one in records] == [1.0] * 6
    # A round of each arm before the first look at the clock, then nothing but measurements.
    assert happened[:2] == ["blockwise", "greedy"]
    arms = [one.arm for one in records]
    assert happened[2:] == [word for arm in arms for word in ("synchronise", "clock", arm, "synchronise", "clock")]


def test_the_endless_model_decodes_to_its_limit_whatever_it_says():
    model = random_model(1, 1)
    inputs, limits = random_inputs(3, 6)
    outputs = timing.greedy(WithoutEnd(model), inputs, limits)
    assert [len(one.token_ids) for one in outputs] == limits
    assert any(2 in one.token_ids[:-1] for one in outputs), "no output would have ended before its limit: a blunt test"
