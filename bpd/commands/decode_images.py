"""`bpd decode` for super-resolution: one model's records on the dev set by each criterion, and p₁'s likelihoods."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import torch

from bpd.atomic import write_json
from bpd.commands.image_evaluation import dev_bits
from bpd.commands.prepared_images import PreparedImages, input_tokens, require_sizes_of
from bpd.config import ImageDecodeSettings
from bpd.data.image_set import ImageSet
from bpd.data.raster import to_tokens
from bpd.decoding.acceptance import Acceptance
from bpd.decoding.batched import DecodeBatch, Timed, decode_rows
from bpd.decoding.blockwise import blockwise
from bpd.decoding.greedy import greedy
from bpd.device import prepare_device
from bpd.errors import BpdError
from bpd.evaluation.head_accuracy import head_accuracy
from bpd.evaluation.likelihood import LikelihoodRecord, write_likelihoods
from bpd.evaluation.measured_heads import heads_path
from bpd.evaluation.meta import fingerprint
from bpd.evaluation.records import DecodeRecord, write_records
from bpd.image_grid import DEV_SET
from bpd.models.model_folder import StoredModel, load_image_model
from bpd.processes import Processes, joined_processes
from bpd.provenance import commit, machine

_ACCURACY_ROWS = 4


def decode_images(settings: ImageDecodeSettings, model: Path, data: Path, output: Path, batch_rows: int) -> None:
    """Decode the dev set by all of the model's criteria, each into `output`/dev/criterion.jsonl.

    Where `torchrun` started several processes, they share the batches, and one of them writes.

    Exact blockwise decoding is compared with greedy decoding of the same model, and the number of images that differ
    is stored: none in fp32. `output`/dev/likelihood.jsonl holds p₁'s bits per intensity, and
    `heads.json` beside it the accuracy of the heads.
    """
    images = PreparedImages(data).images(DEV_SET)
    device = prepare_device()
    with joined_processes(device) as processes:
        _decode(settings, model, images, device, output, batch_rows, processes)


def _decode(
    settings: ImageDecodeSettings,
    model: Path,
    images: ImageSet,
    device: torch.device,
    output: Path,
    batch_rows: int,
    processes: Processes,
) -> None:
    stored = load_image_model(model, device)
    require_sizes_of(stored, images)
    count = len(images) if settings.images is None else settings.images
    if count > len(images):
        raise BpdError(f"decoding.images asks for {count}, but {images.folder} holds {len(images)}; lower it")
    half = settings.precision == "bf16" and device.type == "cuda" and torch.cuda.is_bf16_supported()
    about = {
        "task": "super_resolution",
        "model": stored.settings.model,
        "set": DEV_SET,
        "role": "dev",
        "block_size": stored.model.block_size,
        "images": count,
        "batch_rows": batch_rows,
        "checkpoint_sha256": stored.checkpoint_sha256,
        "config_sha256": stored.provenance["config_sha256"],
        "data_sha256": images.sha256,
        "seed": stored.settings.seed,
        **commit(),
        **machine(str(device), "bf16" if half else "fp32"),
    }
    folder = Path(output) / DEV_SET
    rows = input_tokens(images, count)
    limits = [stored.model.transformer.output_length] * count

    def run(decode: DecodeBatch, title: str) -> list[Timed]:
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=half):
            title = f"{stored.settings.model} {DEV_SET} {title}"
            return decode_rows(decode, rows, limits, batch_rows, title, processes)

    for criterion in settings.criteria:
        results = run(_decoder_of(stored, criterion), criterion)
        differing = None
        if criterion == "exact":
            plain = results
            if stored.model.block_size > 1:
                plain = run(partial(greedy, stored.model), "greedy, to compare")
            differing = sum(
                one.decoded.token_ids != other.decoded.token_ids for one, other in zip(results, plain, strict=True)
            )
        if not processes.writes:
            continue
        path = folder / f"{criterion}.jsonl"
        path.with_suffix(".meta.json").unlink(missing_ok=True)
        write_records(path, [_record(index, timed, images.names[index]) for index, timed in enumerate(results)])
        meta = about | {"criterion": criterion, "images_unlike_greedy": differing}
        write_json(path.with_suffix(".meta.json"), meta | fingerprint(path))
        if criterion == "exact" and stored.model.block_size > 1:
            own = [timed.decoded.token_ids for timed in results]
            human = to_tokens(np.asarray(images.targets[:count])).tolist()
            measured = {
                name: head_accuracy(stored.model, rows, outputs, _ACCURACY_ROWS)
                for name, outputs in (("own_output", own), ("reference", human))
            }
            write_json(heads_path(folder), about | measured)
    if processes.writes:
        write_likelihoods(folder / "likelihood.jsonl", _likelihoods(stored, images, count))


def _decoder_of(stored: StoredModel, criterion: str) -> DecodeBatch:
    model = stored.model
    if model.block_size == 1 and criterion == "exact":
        return lambda rows, limits: greedy(model, rows, limits)
    acceptance = Acceptance.parse(criterion)
    return lambda rows, limits: blockwise(model, rows, limits, acceptance=acceptance)


def _likelihoods(stored: StoredModel, images: ImageSet, count: int) -> list[LikelihoodRecord]:
    """Return p₁'s bits for each image, with its own input and with that of the next image."""
    sources = to_tokens(np.asarray(images.inputs[:count]))
    targets = to_tokens(np.asarray(images.targets[:count]))
    own = dev_bits(stored.model, sources, targets)
    others = dev_bits(stored.model, np.roll(sources, -1, axis=0), targets)
    return [
        LikelihoodRecord(index, images.names[index], float(own[index]), float(others[index])) for index in range(count)
    ]


def _record(index: int, timed: Timed, name: str) -> DecodeRecord:
    decoded = timed.decoded
    return DecodeRecord(
        index=index,
        token_ids=decoded.token_ids,
        block_sizes=decoded.block_sizes,
        iterations=decoded.iterations,
        calls=decoded.calls,
        stop=decoded.stop,
        seconds=round(timed.seconds, 6),
        text=name,
    )
