"""Where the time of an iteration goes, as a small table."""

from __future__ import annotations

from collections.abc import Sequence

from bpd.evaluation.time_records import PARTS
from bpd.report.figure4 import TASK_TITLES
from bpd.report.row_table import RowTable
from bpd.report.timings import Timings

_TITLES = {
    "encode": "Encode",
    "model_call": "Model call",
    "cache": "Cache",
    "verify": "Verify",
    "predict": "Predict",
    "host": "Host",
}


def time_shares_table(timings: Sequence[Timings], scale: str) -> RowTable:
    """Return milliseconds an iteration by part, and each part's share, of blockwise decoding one input at a time."""
    rows = [(task.task, timed.block_size, timed.shares()) for task in timings for timed in task.models]

    def column(part: str) -> tuple[str, ...]:
        return tuple(f"{shares[part]:.2f} ({100 * shares[part] / sum(shares.values()):.0f} %)" for *_, shares in rows)

    return RowTable(
        name="time_shares",
        columns=("task", "k", *(f"{part}_milliseconds" for part in PARTS)),
        rows=tuple((task, block_size, *(shares[part] for part in PARTS)) for task, block_size, shares in rows),
        shown=(
            ("Task", tuple(TASK_TITLES[task] for task, *_ in rows)),
            ("k", tuple(str(block_size) for _, block_size, _ in rows)),
            *((_TITLES[part], column(part)) for part in PARTS),
        ),
        caption=f"Where the time goes: milliseconds an iteration, one input at a time, cached protocol, scale {scale}",
        notes=(
            "Model call: the decoder's layers and the heads' hidden layer. Verify: p₁'s logits over the block, and the "
            "criterion. Predict: the logits of p₁ … p_k at one position. Host: all else. The encoder runs once an "
            "input, and is spread over its iterations. Reading the clock so often takes time itself: read the shares.",
            *(f"{TASK_TITLES[task.task]}: {task.provenance()}." for task in timings if task.models),
        ),
    )
