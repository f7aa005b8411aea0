"""A18: a measurement begins and ends where decoding does, and says what it measured.

Also: both arms' tokens and turns, what lies between two looks at the clock, in which order (tests/evaluation/
test_timing.py), speedups by hand and unlike arms (tests/evaluation/test_speedup.py), `bpd time` on sentences
(tests/commands/test_time.py).
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Sequence

import pytest
import torch

from bpd import image_grid
from bpd.commands.decode_images import decode_images
from bpd.commands.time import time_model
from bpd.decoding.acceptance import EXACT
from bpd.decoding.protocol import DecodableModel
from bpd.evaluation.speedup import speedup
from bpd.evaluation.time_records import TimeRecord, read_time_records
from bpd.evaluation.timing import WARM_UP_BATCHES, time_decoding
from tests.field.counting import LARGEST, half_trained, source_of
from tests.field.faces import TOKENS, faces

REPEATS = 5


class Slow:
    """A model that sleeps when it starts on inputs, and again before each call."""

    def __init__(self, model: DecodableModel, at_start: float = 0.0, at_call: float = 0.0) -> None:
        self.block_size, self.device = model.block_size, model.device
        self.begin_id, self.end_id = model.begin_id, model.end_id
        self._model, self._at_start, self._at_call = model, at_start, at_call

    def start(self, inputs: Sequence[Sequence[int]], *, cached: bool = True):
        time.sleep(self._at_start)
        decoder = self._model.start(inputs, cached=cached)
        advance = decoder.advance

        def slow_advance(tokens: torch.Tensor):
            time.sleep(self._at_call)
            return advance(tokens)

        decoder.advance = slow_advance
        return decoder


def timed(
    base: DecodableModel, model: DecodableModel, numbers: Sequence[int], repeats: int, limit: int = 24
) -> list[TimeRecord]:
    return time_decoding(
        base,
        model,
        [source_of(number) for number in numbers],
        [limit] * len(numbers),
        acceptance=EXACT,
        protocol="cached",
        batch_rows=1,
        repeats=repeats,
    )


def least(records: Sequence[TimeRecord], arm: str) -> list[float]:
    """Return the least seconds of each batch: other work on the machine only ever adds to them."""
    found: dict[int, list[float]] = defaultdict(list)
    for record in records:
        if record.arm == arm:
            found[record.batch].append(record.seconds)
    return [min(found[batch]) for batch in sorted(found)]


@pytest.mark.parametrize("arm", ["greedy", "blockwise"])
def test_a18_a_sleep_in_a_decoding_is_in_its_time_and_in_no_others(arm):
    """A fifth of a second in one arm is a fifth of a second more there, within a tenth, and nothing elsewhere."""
    numbers = [9, 30]  # Outputs are cut short: what else takes time is then next to nothing.
    models = {"greedy": half_trained(), "blockwise": half_trained()}
    plain = timed(*models.values(), numbers, REPEATS, limit=3)
    slow = timed(*(models | {arm: Slow(half_trained(), at_start=0.2)}).values(), numbers, REPEATS, limit=3)
    other = "blockwise" if arm == "greedy" else "greedy"
    for before, after in zip(least(plain, arm), least(slow, arm), strict=True):
        assert after - before == pytest.approx(0.2, abs=0.02)
    for before, after in zip(least(plain, other), least(slow, other), strict=True):
        assert abs(after - before) < 0.02


def test_a18_twice_the_input_takes_about_twice_the_time():
    """Calls that sleep, and both amounts in one run: what else the machine does then hardly counts."""
    numbers = list(range(2, LARGEST, 12))
    model = Slow(half_trained(), at_call=0.02)
    records = timed(model, model, numbers * 2, repeats=3, limit=5)
    for arm in ("greedy", "blockwise"):
        seconds = least(records, arm)
        once, twice = seconds[: len(numbers)], seconds
        assert 1.6 < sum(twice) / sum(once) < 2.4
        tokens = {record.batch: record.tokens for record in records if record.arm == arm}
        assert sum(tokens.values()) == 2 * sum(tokens[batch] for batch in range(len(numbers)))


def test_a18_a_speedup_is_a_ratio_of_the_times_in_the_file_and_nothing_else():
    """Neither divided nor multiplied by iterations, and of the same inputs and tokens in both arms."""
    records = timed(half_trained(), half_trained(), [9, 30, 45], 2)
    arms = {arm: [record for record in records if record.arm == arm] for arm in ("greedy", "blockwise")}
    seconds = {arm: sum(record.seconds for record in found) for arm, found in arms.items()}
    tokens = {arm: sum(record.tokens for record in found) for arm, found in arms.items()}
    found = speedup(records, "cached")
    assert tokens["greedy"] == tokens["blockwise"] == 2 * found.tokens
    assert found.speedup == pytest.approx(seconds["greedy"] / seconds["blockwise"])
    assert found.greedy_seconds == pytest.approx(seconds["greedy"] / tokens["greedy"])
    assert found.low <= found.speedup <= found.high and found.mean_accepted_block_size > 2


def test_a18_the_result_file_says_what_was_measured_how_often_and_on_what(tmp_path):
    made, part = faces(), faces().config.super_resolution
    timing = part.timing.model_copy(update={"repeats": REPEATS})
    settings = image_grid.time_settings(part.model_copy(update={"timing": timing}))
    model = made.model("fine_tuning_k3")
    time_model(settings, model, made.model("base"), made.data, tmp_path / "time", threads=1)
    path = tmp_path / "time" / "dev" / "distance2.jsonl"
    records = read_time_records(path)
    for protocol, inputs in (("recompute", 2), ("cached", 3)):
        for arm in ("greedy", "blockwise"):
            found = [record for record in records if (record.protocol, record.arm) == (protocol, arm)]
            assert sorted((one.batch, one.repeat) for one in found) == [
                (batch, repeat) for batch in range(inputs) for repeat in range(REPEATS)
            ]
            assert all(one.seconds > 0 and one.batch_rows == 1 for one in found)
    meta = json.loads(path.with_suffix(".meta.json").read_text())
    assert (meta["device"].split(":")[0], meta["precision"], meta["threads"]) == ("cpu", "fp32", 1)
    assert meta["timing"]["repeats"] == REPEATS and meta["timing"]["cached"]["inputs"] == 3
    assert meta["warm_up_batches"] == {"greedy": WARM_UP_BATCHES, "blockwise": "all"} and WARM_UP_BATCHES >= 3
    assert meta["baseline"] == "greedy" and len(meta["base_checkpoint_sha256"]) == 64
    assert meta["synchronised"] == "before and after each measurement"
    decode_settings = image_grid.decode_settings(part, "fine_tuning_k3")
    decode_images(decode_settings, model, made.data, tmp_path / "decode", 2)
    lines = (tmp_path / "decode" / "dev" / "distance2.jsonl").read_text().splitlines()
    decoded = [json.loads(line) for line in lines]
    whole = [one for one in records if one.protocol == "cached" and one.arm == "blockwise" and one.repeat == 0]
    assert len(decoded) == len(whole) == 3
    for one, other in zip(sorted(whole, key=lambda one: one.batch), decoded, strict=True):
        assert (one.tokens, one.iterations, one.calls) == (TOKENS, other["iterations"], other["calls"])
        assert one.tokens == len(other["token_ids"])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA card")
def test_a18_on_a_card_the_time_is_not_below_what_the_card_itself_counts():
    from bpd.evaluation.timing import _timed

    device = torch.device("cuda")
    values = torch.randn(4000, 4000, device=device)
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def work() -> list:
        first.record()
        for _ in range(20):
            values @ values
        last.record()
        return []

    for _ in range(3):
        seconds, _ = _timed(work, device)
        assert seconds >= 0.999 * first.elapsed_time(last) / 1000
