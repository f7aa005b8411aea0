"""Table 2: mean accepted block sizes of the image models, ours beside the published numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bpd.config import ImageSetting
from bpd.image_grid import head_model_name
from bpd.report.image_scores import ImageScores
from bpd.report.published import PAPER, missing_note, published
from bpd.report.tables import GAP, Table, with_spread

COLUMNS = {"regular": "Regular", "approximate": "Approximate", "fine_tuning": "Fine Tuning", "both": "Both"}
# What p₁ may lose against the base model before its block sizes are marked.
MOST_BITS_LOST, MOST_PSNR_LOST = 0.3, 1.0
_MARK = "†"


@dataclass(frozen=True)
class BlockCell:
    """Mean accepted block size of `images`, ours and published, and what became of p₁; none where there is none."""

    mean_accepted_block_size: float | None
    published_mean_accepted_block_size: float | None
    bits_per_dimension: float | None = None
    psnr: float | None = None
    ssim: float | None = None
    p1_lost_bits: float | None = None
    p1_lost_psnr: float | None = None
    p1_damaged: bool | None = None
    images: int | None = None
    mean_accepted_block_size_sd: float | None = None

    def ours(self) -> str:
        """Return our block size, marked where p₁ is damaged, or a gap."""
        if self.mean_accepted_block_size is None:
            return GAP
        printed = with_spread(self.mean_accepted_block_size, self.mean_accepted_block_size_sd)
        return printed + _MARK * bool(self.p1_damaged)

    def theirs(self) -> str:
        """Return the published block size, or a gap."""
        number = self.published_mean_accepted_block_size
        return GAP if number is None else f"{number:.2f}"


def is_damaged(lost_bits: float, lost_psnr: float) -> bool:
    """Return whether p₁ lost more than 0.3 bits per intensity or 1 dB of its greedy image against the base model."""
    # A difference of two floats may lie above the limit by its rounding alone.
    return round(lost_bits, 9) > MOST_BITS_LOST or round(lost_psnr, 9) > MOST_PSNR_LOST


def columns_of(settings: Sequence[str]) -> dict[str, str]:
    """Return the columns of Table 2, and their titles, that models of these settings fill."""
    return {column: title for column, title in COLUMNS.items() if _setting_of(column) in settings}


def source_of(column: str, block_size: int, approximate: str) -> tuple[str, str]:
    """Return the model and the criterion behind a cell of Table 2."""
    criterion = "exact" if column in ("regular", "fine_tuning") else approximate
    return head_model_name(_setting_of(column), block_size), criterion


def _setting_of(column: str) -> ImageSetting:
    return "regular" if column in ("regular", "approximate") else "fine_tuning"


def table2(
    scores: ImageScores, block_sizes: Sequence[int], settings: Sequence[str], approximate: str, scale: str
) -> Table:
    """Return Table 2 on the dev set; `approximate` is the criterion of its columns Approximate and Both.

    Beside each block size the CSV has p₁'s bits per intensity and the quality of the images, since a block size means
    nothing when p₁ has been damaged; the base model, decoded greedily, stands there as k = 1. Raises `BpdError` where
    the scores are not all of the same images.
    """
    images = scores.images()
    base = scores.get("base", "exact")
    columns = columns_of(settings)
    cells = {(1, "base"): _cell(scores, base, "base", "exact", None)} if base else {}
    for block_size in block_sizes:
        for column in columns:
            model, criterion = source_of(column, block_size, approximate)
            cell = _cell(scores, base, model, criterion, published()["table2"]["rows"].get(block_size, {}).get(column))
            if cell:
                cells[block_size, column] = cell
    epsilon = approximate.removeprefix("distance")
    return Table(
        name="table2",
        column_key="setting",
        block_sizes=tuple(block_sizes),
        columns=columns,
        cells=cells,
        caption=f"Table 2. Mean accepted block size on {images} dev images, scale {scale}; approximate: ε = {epsilon}",
        notes=(*missing_note("table2", block_sizes), *_notes(scores, base, cells, scale)),
        origins=scores.origins(
            ("base", "exact") if column == "base" else source_of(column, size, approximate) for size, column in cells
        ),
        cell_kind=BlockCell,
    )


def _cell(scores: ImageScores, base: dict | None, model: str, criterion: str, theirs: float | None) -> BlockCell | None:
    ours, exact = scores.get(model, criterion), scores.get(model, "exact")
    if ours is None:
        return None if theirs is None else BlockCell(None, theirs)
    lost_bits = lost_psnr = damaged = None
    if base and exact:
        lost_bits = exact["bits_per_dimension"] - base["bits_per_dimension"]
        lost_psnr = base["psnr"] - exact["psnr"]
        damaged = is_damaged(lost_bits, lost_psnr)
    return BlockCell(
        ours["mean_accepted_block_size"],
        theirs,
        ours["bits_per_dimension"],
        ours["psnr"],
        ours["ssim"],
        lost_bits,
        lost_psnr,
        damaged,
        int(ours["images"]),
        ours.get("sd", {}).get("mean_accepted_block_size"),
    )


def _notes(scores: ImageScores, base: dict | None, cells: dict, scale: str) -> list[str]:
    notes = [*scores.spread_note(), *scores.unlike_greedy_note(), f"Published: {PAPER}, CelebA dev set, 8×8 to 32×32."]
    if scale != "paper":
        notes[-1] += " They are of other photographs and a larger model: compare the pattern, not the numbers."
    if any(cell.p1_damaged for cell in cells.values()):
        notes.append(
            f"{_MARK} p₁ lost more than {MOST_BITS_LOST} bits per intensity, or its greedy images more than "
            f"{MOST_PSNR_LOST:g} dB, against the base model: the block size is of worse images."
        )
    if base:
        spread = base.get("sd", {})
        bits, other, psnr, ssim = (
            with_spread(base[name], spread.get(name), digits)
            for name, digits in (
                ("bits_per_dimension", 2),
                ("bits_per_dimension_other_input", 2),
                ("psnr", 2),
                ("ssim", 3),
            )
        )
        notes += [
            f"Base model, greedy: {bits} bits per intensity (with another image's input {other}), PSNR {psnr} dB, "
            f"SSIM {ssim}.",
            f"Nearest neighbour: PSNR {base['psnr_nearest']:.2f} dB, SSIM {base['ssim_nearest']:.3f}.",
            f"Bicubic: PSNR {base['psnr_bicubic']:.2f} dB, SSIM {base['ssim_bicubic']:.3f}.",
        ]
    else:
        notes.append("The base model was not decoded, so nothing tells whether the p₁ of a model is damaged.")
    notes += [_quality_note(cells, column, title) for column, title in COLUMNS.items()]
    return [*filter(None, notes), f"{scores.provenance()}; all hashes: image_scores.csv."]


def _quality_note(cells: dict, column: str, title: str) -> str | None:
    told = [
        f"k = {size}: {cell.bits_per_dimension:.2f}, {cell.psnr:.2f}"
        for (size, name), cell in cells.items()
        if name == column and cell.psnr is not None
    ]
    return f"{title}, p₁'s bits per intensity and PSNR in dB: " + "; ".join(told) + "." if told else None
