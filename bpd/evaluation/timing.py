"""Wall-clock time of greedy and blockwise decoding, side by side (section 7.3, Table 4 and Figure 4)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

import torch
from tqdm import tqdm

from bpd.decoding.acceptance import Acceptance
from bpd.decoding.blockwise import blockwise
from bpd.decoding.greedy import greedy
from bpd.decoding.protocol import DecodableModel, Decoder
from bpd.decoding.results import Decoded
from bpd.evaluation.time_records import ARMS, TimeRecord

# Untimed, before the measurements: all batches of blockwise decoding, and so many of greedy decoding.
WARM_UP_BATCHES = 3


class WithoutEnd:
    """A model that no end symbol stops: it decodes exactly as many tokens as the length limit allows."""

    end_id = -1

    def __init__(self, model: DecodableModel) -> None:
        self.block_size = model.block_size
        self.begin_id = model.begin_id
        self.device = model.device
        self._model = model

    def start(self, inputs: Sequence[Sequence[int]], *, cached: bool = True) -> Decoder:
        """Encode the inputs, one row each, and return a decoder that holds no tokens yet."""
        return self._model.start(inputs, cached=cached)


def time_decoding(
    base: DecodableModel,
    model: DecodableModel,
    rows: Sequence[Sequence[int]],
    limits: Sequence[int],
    *,
    acceptance: Acceptance,
    protocol: str,
    batch_rows: int,
    repeats: int,
    title: str | None = None,
) -> list[TimeRecord]:
    """Time greedy decoding by `base` against blockwise decoding by `model`, batch by batch.

    Both arms decode the same inputs in the same protocol. Greedy decoding is made to emit, row by row, as many tokens
    as blockwise decoding does there: outputs of other lengths would compare unlike work. The two take turns, and each
    goes first in every other turn. Blockwise decoding first runs over all inputs once, and greedy decoding over some,
    untimed. The device is synchronised before and after each measurement. `title`, if given, names the progress bar.
    """
    cached = protocol != "recompute"
    batches = [
        (list(rows[first : first + batch_rows]), list(limits[first : first + batch_rows]))
        for first in range(0, len(rows), batch_rows)
    ]
    endless = WithoutEnd(base)
    records: list[TimeRecord] = []
    with tqdm(
        total=len(batches) * (1 + repeats), desc=title, unit="batch", disable=title is None, mininterval=2.0
    ) as bar:
        counts = []
        for place, (inputs, bounds) in enumerate(batches):
            decoded = blockwise(model, inputs, bounds, acceptance=acceptance, cached=cached)
            counts.append([len(one.token_ids) for one in decoded])
            if place < WARM_UP_BATCHES:
                greedy(endless, inputs, counts[-1], cached=cached)
            bar.update()
        for repeat in range(repeats):
            for place, (inputs, bounds) in enumerate(batches):
                arms = {
                    "greedy": partial(greedy, endless, inputs, counts[place], cached=cached),
                    "blockwise": partial(blockwise, model, inputs, bounds, acceptance=acceptance, cached=cached),
                }
                order = ARMS if (repeat + place) % 2 == 0 else ARMS[::-1]
                for arm in order:
                    seconds, decoded = _timed(arms[arm], model.device)
                    records.append(
                        TimeRecord(
                            protocol,
                            batch_rows,
                            repeat,
                            place,
                            arm,
                            sum(len(one.token_ids) for one in decoded),
                            sum(one.iterations for one in decoded),
                            sum(one.calls for one in decoded),
                            round(seconds, 7),
                        )
                    )
                bar.update()
    return records


def _timed(run: Callable[[], list[Decoded]], device: torch.device) -> tuple[float, list[Decoded]]:
    synchronise(device)
    start = time.perf_counter()
    decoded = run()
    synchronise(device)
    return time.perf_counter() - start, decoded


def synchronise(device: torch.device) -> None:
    """Wait until `device` has done all that it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
