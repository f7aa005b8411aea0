"""The block sizes at which quality is kept, or lost slightly: what the abstract's "fewer iterations" rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bpd.config import ScorecardSettings
from bpd.report.result_values import BLOCK, Values
from bpd.report.table2 import MOST_BITS_LOST, MOST_PSNR_LOST

# The k = 1 model on the same data, whose BLEU is what a setting keeps or loses.
_GREEDY = {"regular": "regular", "fine_tuning": "regular", "distillation": "distillation", "both": "distillation"}
# People voted on these columns of Table 2 by these criteria; all others are judged by PSNR alone.
_VOTED = {"fine_tuning": "exact", "both": "approximate"}
LEAST_PERCENT, MOST_PERCENT = 40.0, 60.0
# Beside a baseline below this many BLEU nothing is kept or lost: it is no translation.
LEAST_BASELINE_BLEU = 10.0


@dataclass(frozen=True)
class KeptBlock:
    """A mean accepted block size whose quality was measured and found to be kept: which place it is of, and how so."""

    block: float
    place: str
    quality: str

    def told(self) -> str:
        """Return the place, the block size and the quality as evidence."""
        return f"{self.place}: {self.block:.2f} tokens an iteration, {self.quality}"


def lossless_blocks(values: Values, settings: ScorecardSettings) -> list[KeptBlock | None]:
    """Return the blocks of translation, by the exact criterion, that lose at most `same_bleu`, none for each other one.

    The loss is against the k = 1 model on the same data; where either BLEU is missing, or that model does not
    translate, a block is left out.
    """
    return list(_exact(values, settings.same_bleu))


def slight_loss_blocks(values: Values, settings: ScorecardSettings) -> list[KeptBlock | None]:
    """Return the blocks, of either task, that lose at most a little, and none for each that loses more.

    Translation may lose `slight_bleu` against the k = 1 model on the same data. Images may lose as many votes as a
    preference close to 50 % has below it, 1 dB of PSNR against the base model's and 0.3 of p₁'s bits per intensity, as
    far as these were measured. Where nothing tells of the quality, a block is left out.
    """
    return [
        *_exact(values, settings.slight_bleu),
        *_approximate(values, settings.slight_bleu),
        *_images(values),
    ]


def largest(found: Sequence[KeptBlock | None]) -> KeptBlock | None:
    """Return the largest of the blocks whose quality is kept, none where none is."""
    return max((one for one in found if one is not None), key=lambda one: one.block, default=None)


def _exact(values: Values, most_lost: float) -> Iterator[KeptBlock | None]:
    for k in values.block_sizes("table1"):
        for setting, greedy in _GREEDY.items():
            bleu, block = (values.get("table1", (k, setting), column) for column in ("bleu", BLOCK))
            yield from _text(f"{setting}, k = {k}", bleu, block, values.get("table1", (1, greedy), "bleu"), most_lost)


def _approximate(values: Values, most_lost: float) -> Iterator[KeptBlock | None]:
    greedy = values.get("table1", (1, "distillation"), "bleu")
    for k in values.block_sizes("approximate"):
        for criterion in ("top2", "top3", "minimum2", "minimum3"):
            bleu, block = (values.get("approximate", (k, criterion), column) for column in ("bleu", BLOCK))
            yield from _text(f"both, {criterion}, k = {k}", bleu, block, greedy, most_lost)


def _text(
    place: str, bleu: float | None, block: float | None, greedy: float | None, most_lost: float
) -> Iterator[KeptBlock | None]:
    if bleu is None or block is None or greedy is None or greedy < LEAST_BASELINE_BLEU:
        return
    kept = round(greedy - bleu, 9) <= most_lost
    yield KeptBlock(block, f"translation, {place}", f"BLEU {bleu:.2f} against {greedy:.2f}") if kept else None


def _images(values: Values) -> Iterator[KeptBlock | None]:
    greedy = values.get("table2", (1, "base"), "psnr")
    for k in values.block_sizes("table2"):
        for column in ("regular", "approximate", "fine_tuning", "both"):
            key = (k, column)
            block = values.get("table2", key, BLOCK)
            votes = values.get("table3", (k, _VOTED[column]), "preference_percent") if column in _VOTED else None
            psnr, lost_bits = (values.get("table2", key, name) for name in ("psnr", "p1_lost_bits"))
            measures = []
            if votes is not None:
                measures.append((votes >= LEAST_PERCENT, f"{votes:.1f} % of votes"))
            if psnr is not None and greedy is not None:
                measures.append((round(greedy - psnr, 9) <= MOST_PSNR_LOST, f"PSNR {psnr:.2f} against {greedy:.2f} dB"))
            if measures and lost_bits is not None:
                measures.append((round(lost_bits, 9) <= MOST_BITS_LOST, f"p₁ loses {lost_bits:.2f} bits"))
            if block is None or not measures:
                continue
            kept = all(holds for holds, _ in measures)
            quality = ", ".join(told for _, told in measures)
            yield KeptBlock(block, f"super-resolution, {column}, k = {k}", quality) if kept else None
