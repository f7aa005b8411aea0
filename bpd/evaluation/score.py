"""Scores: BLEU and accepted blocks of one set of decode records, beside what they were made from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bpd.atomic import write_json
from bpd.data.lines import read_lines
from bpd.errors import BpdError
from bpd.evaluation.accepted_blocks import block_size_counts, mean_accepted_block_size
from bpd.evaluation.bleu import all_bleu
from bpd.evaluation.meta import read_meta, require_fingerprint
from bpd.evaluation.records import read_records
from bpd.fingerprints import file_sha256
from bpd.stored_json import read_json


def score_path(records: Path) -> Path:
    """Return where the score of the records in `records` belongs: beside them."""
    return records.with_suffix(".score.json")


def score_records(records: Path, data: Path) -> dict[str, Any]:
    """Score one file of decode records against the raw references of its set in `data`, and store the score.

    The name of the set and all provenance come from the `.meta.json` that decoding left beside the records. Raises
    `BpdError`, and stores nothing, where they are missing, the numbers of sentences differ, or `data` was prepared
    with another vocabulary than the records are of.
    """
    records, data = Path(records), Path(data)
    meta = read_meta(records, ["sentences_unlike_greedy"])
    _require_same_preparation(records, meta, data)
    found = read_records(records)
    largest = max((size for record in found for size in record.block_sizes), default=0)
    if largest > meta["block_size"]:
        most = meta["block_size"]
        raise BpdError(f"{records}: a block of {largest} tokens, but the model proposes {most}; decode again")
    reference = data / f"{meta['set']}.de"
    references = read_lines(reference)
    if len(found) != len(references):
        raise BpdError(f"{records} holds {len(found)} outputs, but {reference} {len(references)} references")
    require_fingerprint(records, meta, "decode again")
    if largest == 0:
        raise BpdError(f"{records}: no iterations: every input was blank, so there is no mean accepted block size")
    bleu = all_bleu([record.text for record in found], references)
    accepted = sum(len(record.token_ids) for record in found)
    score = {
        "model": meta["model"],
        "set": meta["set"],
        "role": meta["role"],
        "criterion": meta["criterion"],
        "block_size": meta["block_size"],
        "bleu": bleu.bleu,
        "signature": bleu.signature,
        "brevity_penalty": bleu.brevity_penalty,
        "bleu_intl": bleu.bleu_intl,
        "signature_intl": bleu.signature_intl,
        "bleu_compound_split": bleu.bleu_compound_split,
        "signature_compound_split": "Moses-tokenised, compounds split at hyphens; not comparable with 13a",
        "mean_accepted_block_size": mean_accepted_block_size(found),
        "accepted_tokens": accepted,
        "iterations": sum(record.iterations for record in found),
        "calls": sum(record.calls for record in found),
        "block_size_counts": block_size_counts(found),
        "sentences": len(found),
        "cut_at_length_limit": sum(record.stop == "length" for record in found),
        "sentences_unlike_greedy": meta["sentences_unlike_greedy"],
        "records_sha256": file_sha256(records),
        "references_sha256": file_sha256(reference),
        "decoding": meta,
    }
    write_json(score_path(records), score)
    return score


def _require_same_preparation(records: Path, meta: dict[str, Any], data: Path) -> None:
    """Refuse a folder whose report names another vocabulary than the records' own.

    Another preparation may have sets of the same names and sizes, but with other lines.
    """
    try:
        report = read_json(data / "report.json")
    except (OSError, ValueError):
        return
    held = report.get("vocabulary_sha256") if isinstance(report, dict) else None
    found = meta.get("vocabulary_sha256")
    if None not in (held, found) and held != found:
        raise BpdError(
            f"{records}: decoded with vocabulary {found}, but {data} holds {held}; "
            "give the data that were decoded, or decode again"
        )
