"""`bpd distill`: the teacher's beam-search translations of the training sources, in shards, then merged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tqdm import tqdm

from bpd.atomic import atomic_path
from bpd.commands.text_set import TextSet
from bpd.config import DistillSettings
from bpd.data.encoded import MANIFEST, EncodedPairsWriter
from bpd.data.folder import atomic_folder
from bpd.decoding.batched import decode_set
from bpd.decoding.beam import beam
from bpd.device import prepare_device
from bpd.errors import BpdError
from bpd.models.model_folder import load_translation_model
from bpd.processes import joined_processes


def shard_range(pairs: int, shard: int, shards: int) -> range:
    """Return the indices of the training pairs in one shard; shards are contiguous and differ by one pair at most."""
    if not 0 <= shard < shards:
        raise BpdError(f"shard {shard} does not exist: they are counted from 0 to {shards - 1}")
    return range(pairs * shard // shards, pairs * (shard + 1) // shards)


def distill_shard(
    settings: DistillSettings, teacher: Path, data: Path, shard: int, output: Path, batch_rows: int
) -> None:
    """Write the teacher's translations of one shard: a header line, then one record a pair, in order.

    Where `torchrun` started several processes, they share the batches, and one of them writes.
    """
    text = TextSet(data)
    pairs = text.training_pairs()
    device = prepare_device()
    stored = load_translation_model(teacher, device)
    text.require_vocabulary_of(stored)
    span = shard_range(len(pairs), shard, settings.shards)

    def decode(rows: list[list[int]], limits: list[int]):
        return beam(stored.model, rows, limits, beam_size=settings.beam_size, length_penalty=settings.length_penalty)

    with joined_processes(device) as processes:
        results = decode_set(
            decode,
            [pairs.source(index).tolist() for index in span],
            end_id=stored.model.end_id,
            max_extra_tokens=settings.max_extra_tokens,
            batch_rows=batch_rows,
            title=f"distillation, shard {shard} of {settings.shards}",
            processes=processes,
        )
    if not processes.writes:
        return
    header = {
        "teacher_sha256": stored.checkpoint_sha256,
        "data_sha256": pairs.sha256,
        "settings": settings.model_dump(mode="json"),
        "shard": shard,
        "first": span.start,
        "end": span.stop,
    }
    with atomic_path(output) as temporary, open(temporary, "w", encoding="utf-8") as stream:
        stream.write(json.dumps(header) + "\n")
        for index, timed in zip(span, results, strict=True):
            decoded = timed.decoded
            record = {
                "index": index,
                "token_ids": decoded.token_ids,
                "stop": decoded.stop,
                "score": decoded.score,
                "text": text.vocabulary.decode(decoded.token_ids),
            }
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")


def merge_shards(settings: DistillSettings, teacher: Path, data: Path, shards: list[Path], output: Path) -> None:
    """Join all shards to one encoded set with its manifest, after checking that they belong together.

    One shard at a time is in memory. Translations that are empty, or were cut at the length limit, would teach a wrong
    end: they are left out, and counted in the manifest.
    """
    text = TextSet(data)
    pairs = text.training_pairs()
    stored = load_translation_model(teacher)
    if len(shards) != settings.shards:
        raise BpdError(f"{len(shards)} shard files were given, but distillation has {settings.shards} shards")
    manifest: dict[str, Any] = {
        "corpus": "distilled",
        "vocabulary_sha256": text.vocabulary.sha256,
        "teacher_sha256": stored.checkpoint_sha256,
        "gold_sha256": pairs.sha256,
        "beam_size": settings.beam_size,
        "length_penalty": settings.length_penalty,
        "max_extra_tokens": settings.max_extra_tokens,
        "shards": settings.shards,
        "pairs_in": len(pairs),
        "pairs_out": 0,
        "dropped": {"empty": 0, "cut_at_length_limit": 0},
    }
    with atomic_folder(output, last=MANIFEST) as folder, EncodedPairsWriter(folder, manifest) as writer:
        for shard, path in enumerate(tqdm(shards, desc="merge", unit="shard")):
            expected = {
                "teacher_sha256": stored.checkpoint_sha256,
                "data_sha256": pairs.sha256,
                "settings": settings.model_dump(mode="json"),
                "shard": shard,
                "first": shard_range(len(pairs), shard, settings.shards).start,
                "end": shard_range(len(pairs), shard, settings.shards).stop,
            }
            kept = list(_complete(_read_shard(Path(path), expected), stored.model.end_id, manifest["dropped"]))
            writer.add([pairs.source(index) for index, _ in kept], [ids for _, ids in kept])
            manifest["pairs_out"] += len(kept)
        if not manifest["pairs_out"]:
            raise BpdError(f"{output}: the teacher ended none of {len(pairs)} translations; train it longer")
    print(f"distilled {manifest['pairs_out']} of {len(pairs)} pairs; left out: {manifest['dropped']}")


def _complete(records: list[dict[str, Any]], end_id: int, dropped: dict[str, int]) -> Iterator[tuple[int, list[int]]]:
    """Yield the index and the subwords of each whole translation; count the others in `dropped`."""
    for record in records:
        ids = [token for token in record["token_ids"] if token != end_id]
        if record["stop"] != "end":
            dropped["cut_at_length_limit"] += 1
        elif not ids:
            dropped["empty"] += 1
        else:
            yield record["index"], ids


def _read_shard(path: Path, expected: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the records of a shard whose header is `expected`, each index once and in order."""
    advice = "delete it and distil this shard again"
    try:
        header, *records = [json.loads(line) for line in path.read_bytes().decode("utf-8").rstrip("\n").split("\n")]
        indices = [record["index"] for record in records]
    except FileNotFoundError:
        raise BpdError(f"{path}: the shard is missing; distil it") from None
    except (ValueError, KeyError, TypeError):
        raise BpdError(f"{path}: not a distillation shard, or a damaged one; {advice}") from None
    for key, value in expected.items():
        if header.get(key) != value:
            raise BpdError(f"{path}: {key} is {header.get(key)!r}, expected {value!r}; {advice}")
    if indices != list(range(expected["first"], expected["end"])):
        raise BpdError(f"{path}: expected the pairs {expected['first']} to {expected['end'] - 1} in order; {advice}")
    return records
