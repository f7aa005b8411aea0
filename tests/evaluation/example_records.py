"""Decode records and score folders small enough to reckon by hand."""

import json
from dataclasses import asdict
from pathlib import Path

from bpd.data.lines import write_lines
from bpd.evaluation.meta import fingerprint
from bpd.evaluation.records import DecodeRecord, write_records

META = {
    "model": "both_k4",
    "set": "newstest2013",
    "role": "dev",
    "criterion": "exact",
    "block_size": 4,
    "sentences_unlike_greedy": 0,
    "checkpoint_sha256": "c" * 64,
    "seed": 3,
    "device": "cpu",
}


def record(index: int, text: str = "Ein Satz.", block_sizes: tuple[int, ...] = (1, 2), **changes) -> DecodeRecord:
    """Return a record whose tokens, iterations and calls follow from `block_sizes`; none of them means a blank."""
    values = {
        "index": index,
        "token_ids": list(range(5, 5 + sum(block_sizes))),
        "block_sizes": list(block_sizes),
        "iterations": len(block_sizes),
        "calls": len(block_sizes) + 1 if block_sizes else 0,
        "stop": "end" if block_sizes else "empty",
        "seconds": 0.25,
        "text": text if block_sizes else "",
    }
    return DecodeRecord(**values | changes)


def as_json(value: DecodeRecord, **changes) -> str:
    """Return one line of a records file, with some values changed."""
    return json.dumps(asdict(value) | changes)


def bind(path: Path) -> Path:
    """Let what is said about the records in `path` be said of them as they are now; return the path."""
    beside = path.with_suffix(".meta.json")
    meta = json.loads(beside.read_text(encoding="utf-8"))
    beside.write_text(json.dumps(meta | fingerprint(path)), encoding="utf-8")
    return path


def write_decoding(folder: Path, records: list[DecodeRecord], references: list[str], **meta) -> tuple[Path, Path]:
    """Write records, their meta file and the references; return the records' path and the data folder."""
    meta = META | meta
    path = folder / "decode" / meta["set"] / f"{meta['criterion']}.jsonl"
    write_records(path, records)
    path.with_suffix(".meta.json").write_text(json.dumps(meta), encoding="utf-8")
    bind(path)
    data = folder / "data"
    data.mkdir(exist_ok=True)
    write_lines(data / f"{meta['set']}.de", references)
    return path, data
