"""Table 4: BLEU on the test set and wall-clock speedup, ours beside the published and the quoted numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bpd.grid import head_model_name
from bpd.report.published import PAPER, published
from bpd.report.row_table import RowTable
from bpd.report.scores import Scores
from bpd.report.tables import with_spread
from bpd.report.timings import Timings

OURS = "this replication"
BASE_SYSTEM = "Base model, greedy"
COLUMNS = (
    "system", "source", "k", "bleu", "bleu_sd", "speedup", "speedup_low", "speedup_high", "speedup_cached",
    "speedup_cached_low", "speedup_cached_high", "published_bleu", "published_speedup",
)  # fmt: skip


def table4(
    scores: Scores, timings: Timings, block_sizes: Sequence[int], settings: Sequence[str], scale: str
) -> RowTable:
    """Return Table 4; `speedup` is by the original protocol, without a cache, as the published ones are.

    The first row is the base model, decoded greedily: its speedup is 1 by definition, for it is what the others are
    timed against. The second is the paper's first, k = 1: its BLEU is that of the k = 1 model on the same training
    data, and blank where there is none; it stands for greedy decoding too, at a speedup of 1.
    """
    setting = "both" if "both" in settings else settings[-1]
    theirs = published()["table4"]["ours"] if setting == "both" else {}
    by_definition = {"speedup": 1.0, "speedup_cached": 1.0}
    rows = [
        dict.fromkeys(COLUMNS)
        | {"system": BASE_SYSTEM, "source": OURS}
        | _bleu(scores.get("base", "exact", "test"))
        | by_definition
    ]
    for block_size in sorted({1, *block_sizes}):
        name = f"Blockwise, k = {block_size}" if block_size > 1 else "Greedy, k = 1"
        row: dict[str, Any] = dict.fromkeys(COLUMNS) | {"system": name, "source": OURS, "k": block_size}
        score = scores.get(head_model_name(setting, block_size), "exact", "test") if block_size > 1 else None
        timed = timings.get(head_model_name(setting, block_size))
        if block_size == 1:
            score = scores.get(_greedy_model(setting), "exact", "test")
            row |= by_definition
        row |= _bleu(score)
        for suffix, protocol in (("", "recompute"), ("_cached", "cached")):
            if timed and (found := timed.speedup(protocol)):
                row |= {
                    f"speedup{suffix}": found.speedup,
                    f"speedup{suffix}_low": found.low,
                    f"speedup{suffix}_high": found.high,
                }
        if block_size in theirs:
            row |= dict(zip(("published_bleu", "published_speedup"), theirs[block_size]))
        rows.append(row)
    for system, (bleu, speedup) in published()["table4"]["quoted"].items():
        name, _, source = system.removesuffix(")").rpartition(" (")
        quoted = {"system": name, "source": source, "published_bleu": bleu, "published_speedup": speedup}
        rows.append(dict.fromkeys(COLUMNS) | quoted)
    return RowTable(
        name="table4",
        columns=COLUMNS,
        rows=tuple(tuple(row[name] for name in COLUMNS) for row in rows),
        shown=(
            ("System", tuple(f"{row['system']} ({row['source']})" for row in rows)),
            ("BLEU", tuple("" if row["bleu"] is None else with_spread(row["bleu"], row["bleu_sd"]) for row in rows)),
            ("Speedup", tuple(printed_speedup(row, "speedup") for row in rows)),
            ("Speedup, both arms cached", tuple(printed_speedup(row, "speedup_cached") for row in rows)),
            ("BLEU, published", tuple(_number(row["published_bleu"], "{:.2f}") for row in rows)),
            ("Speedup, published", tuple(_number(row["published_speedup"], "{:.2f}×") for row in rows)),
        ),
        caption=f"Table 4. BLEU and wall-clock speedup on {scores.set_name('test')} (test), scale {scale}",
        notes=tuple(_notes(scores, timings, setting, scale)),
    )


def _greedy_model(setting: str) -> str:
    """Return the k = 1 model on the data of a setting, whose decoding is greedy."""
    return head_model_name("distillation" if setting in ("both", "distillation") else "regular", 1)


def _bleu(score: dict[str, Any] | None) -> dict[str, float | None]:
    return {} if score is None else {"bleu": score["bleu"], "bleu_sd": score.get("sd", {}).get("bleu")}


def printed_speedup(row: dict[str, Any], name: str) -> str:
    """Return a speedup with the least and the largest of its repeats, blank where there is none."""
    if row[name] is None:
        return ""
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    return f"{row[name]:.2f}×" + ("" if low is None else f" ({low:.2f}–{high:.2f})")


def _number(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)


def _notes(scores: Scores, timings: Timings, setting: str, scale: str) -> list[str]:
    trained = {"both": "distillation and fine tuning", "fine_tuning": "fine tuning"}.get(setting, setting)
    notes = [
        f"Ours: models with {trained}, exact criterion. Every speedup is over greedy decoding of the base model, which "
        "emits as many tokens for each sentence as blockwise decoding does; that model's own BLEU stands in its row.",
        f"The row k = 1 is the paper's: its BLEU is that of {_greedy_model(setting)}, which was not timed; its speedup "
        "is the base model's, 1 by definition.",
        "Speedup: total greedy time ÷ total blockwise time, one sentence at a time, the whole prefix run again at "
        "every step as in the original code; in brackets the least and the largest of the repeats.",
        *scores.spread_note(),
        f"Published: {PAPER}, newstest2014. The rows of other papers are as that one quotes them.",
    ]
    if scale != "paper":
        notes[-1] += " They are of other data and larger models: compare the pattern, not the numbers."
    if timings.models:
        notes += [
            f"Timed on {timings.set_name}: {timings.extent('recompute')}; cached: {timings.extent('cached')}.",
            f"{timings.provenance()}.",
        ]
    return [*notes, f"sacreBLEU signature: {scores.signature()}. {scores.provenance()}; all hashes: scores.csv."]
