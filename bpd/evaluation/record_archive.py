"""What a run's numbers rest on, in one archive small enough for a repository."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

from bpd.atomic import atomic_path
from bpd.errors import BpdError
from bpd.evaluation.records import read_records

ARCHIVE = "records.tar.xz"

# Of a model's folder: no weights, no vocabulary, no events.
_OF_A_MODEL = ("config.yaml", "provenance.json", "training.jsonl", "decode/*/*.json", "time/*/*.json*")
_OF_A_TRANSLATION_MODEL = (*_OF_A_MODEL, "decode/*/*.jsonl")
# Decoded images are as good as photographs: of them only qualities and blocks are packed.
_OF_AN_IMAGE_MODEL = (*_OF_A_MODEL, "decode/*/*.quality.jsonl", "decode/*/likelihood.jsonl")
_OF_A_RUN = ("benchmarks/*.jsonl", "data/*/report.json", "translation/trace.json")


def pack_records(results: Path) -> Path:
    """Write `results`/records.tar.xz, the same bytes for the same files, and return its path.

    It holds records, scores and timings of all models, training curves, resolved configurations, provenance and the
    records of jobs, under the paths that they have in `results`: unpacked there, tables are made from them anew. It
    holds no weights, no data and no images; of an image's record it has the blocks, in <criterion>.blocks.jsonl.

    Raises `BpdError` where `results` hold no records.
    """
    results = Path(results)
    contents = dict(_contents(results))
    if not any("decode" in name for name in contents):
        raise BpdError(f"{results}: there are no decode records to pack; run the workflow first")
    final = results / ARCHIVE
    with atomic_path(final) as temporary, tarfile.open(temporary, "w:xz", preset=9) as archive:
        for name in sorted(contents):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(contents[name]), 0o644
            archive.addfile(entry, io.BytesIO(contents[name]))
    return final


def _contents(results: Path) -> Iterator[tuple[str, bytes]]:
    for root in (results, *sorted(results.glob("seed_*"))):
        patterns = [*_OF_A_RUN]
        patterns += [f"translation/*/{pattern}" for pattern in _OF_A_TRANSLATION_MODEL]
        patterns += [f"super_resolution/*/{pattern}" for pattern in _OF_AN_IMAGE_MODEL]
        for path in {path for pattern in patterns for path in root.glob(pattern)}:
            yield str(path.relative_to(results)), path.read_bytes()
        for path in root.glob("super_resolution/*/decode/*/*.meta.json"):
            name = path.name.removesuffix(".meta.json")
            blocks = path.with_name(f"{name}.blocks.jsonl")
            yield str(blocks.relative_to(results)), _blocks(path.with_name(f"{name}.jsonl"))


def _blocks(path: Path) -> bytes:
    """Return an image model's records without what they made, as JSON lines."""
    lines = []
    for record in read_records(path):
        values = {"index": record.index, "text": record.text, "block_sizes": record.block_sizes, "calls": record.calls}
        lines.append(json.dumps(values) + "\n")
    return "".join(lines).encode()
