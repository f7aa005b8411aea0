"""Where time goes: every second is counted once, to the innermost part, and nothing stays patched."""

from itertools import count

import pytest

from bpd.decoding import blockwise as decoding
from bpd.decoding.acceptance import Acceptance
from bpd.evaluation import time_shares as module
from bpd.evaluation.time_records import PARTS
from bpd.evaluation.time_shares import Stopwatch, time_shares
from bpd.models.cache import KeyValueCache
from bpd.models.local_cache import LocalCache
from bpd.models.translation_model import TranslationModel
from tests.decoding.test_real_models import random_inputs, random_model
from tests.models.image_models import image_model

EXACT = Acceptance.parse("exact")


def test_an_inner_part_stops_the_outer_ones_time(monkeypatch):
    times = iter([0.0, 1.0, 4.0, 9.0, 20.0, 31.0])
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(times))
    settled = []
    watch = Stopwatch(lambda: settled.append(1))
    # host from 0 to 31, model_call within it from 1 to 20, cache within that from 4 to 9.
    with watch.running("host"), watch.running("model_call"):
        watch.watch("cache", lambda: None)()
    assert watch.seconds == {"encode": 0, "model_call": 3 + 11, "cache": 5, "verify": 0, "predict": 0, "host": 1 + 11}
    assert len(settled) == 6


@pytest.mark.parametrize("kind", ["text", "images"])
def test_every_tick_of_a_real_decoding_is_counted_once(monkeypatch, kind):
    if kind == "text":
        model = random_model(5, 4)
        rows, limits = random_inputs(7, 3)
    else:
        model = image_model(2, block_size=3)
        rows, limits = [[10, 200, 30] * 4, [90, 80, 70] * 4], [48, 48]
    clock = count()
    looks = []
    monkeypatch.setattr(module.time, "perf_counter", lambda: looks.append(float(next(clock))) or looks[-1])
    found = time_shares(model, rows, limits, EXACT)
    decoded = decoding.blockwise(model, rows, limits)
    assert found["iterations"] == sum(one.iterations for one in decoded)
    assert found["calls"] == sum(one.calls for one in decoded)
    # Each input is one span from its first look to its last; looks come one tick apart.
    assert sum(found["seconds"].values()) == len(looks) - len(rows)
    assert set(found["seconds"]) == set(PARTS) and all(value > 0 for value in found["seconds"].values())


def test_nothing_stays_patched_even_after_an_error():
    before = [
        *(getattr(kind, name) for kind in (KeyValueCache, LocalCache) for name in ("reserve", "write", "rewind")),
        decoding.verify,
        decoding.predict,
        TranslationModel.start,
    ]
    model = random_model(5, 4)
    time_shares(model, [[3, 4, 2]], [5], EXACT)
    with pytest.raises(IndexError):
        time_shares(model, [[3, 4, 2], [99999, 2]], [5, 5], EXACT)
    after = [
        *(getattr(kind, name) for kind in (KeyValueCache, LocalCache) for name in ("reserve", "write", "rewind")),
        decoding.verify,
        decoding.predict,
        TranslationModel.start,
    ]
    assert before == after
