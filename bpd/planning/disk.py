"""Disk that a run fills: what stays, and what is there only while it is worked on."""

from __future__ import annotations

from bpd import grid, image_grid
from bpd.planning.data_size import download_bytes
from bpd.planning.jobs import Job
from bpd.planning.work import Workload

# Text has about this many bytes for each subword; ids are stored as two bytes, where a sentence begins as eight.
_TEXT_BYTES_PER_SUBWORD, _ID_BYTES, _OFFSET_BYTES = 5, 2, 8
# In JSON: a token id or an accepted block size, and what stands beside them in a record.
_TOKEN_BYTES, _BLOCK_BYTES, _RECORD_BYTES = 6, 3, 120
_PARAMETER_BYTES = 4
# While a checkpoint is written, the two before it are still there. Adam keeps two numbers for each trained parameter.
_CHECKPOINTS, _ADAM_NUMBERS = 3, 2
# A step of `training.jsonl` and its TensorBoard events.
_JOURNAL_BYTES = 700
_REPORT_BYTES = 2_000_000


def kept_bytes(job: Job, load: Workload) -> float:
    """Return the bytes that a job leaves, rounded to what its records, weights and arrays hold."""
    config, text, images = load.config, load.text, load.images
    if job.rule == "prepare_text":
        downloads = download_bytes(config.translation.data.source)
        sentences = text.pairs + sum(text.sentences.values())
        subwords = sentences * (text.source_subwords + text.target_subwords)
        encoded = _encoded_bytes(load)
        return downloads + subwords * _TEXT_BYTES_PER_SUBWORD + encoded
    if job.rule == "prepare_images":
        pixels = (images.train + images.dev) * (images.input_tokens + images.output_tokens)
        return download_bytes(config.super_resolution.data.source) + pixels
    if job.trains:
        entries = load.steps(job) / load.settings(job).training.log_every
        return load.size(job).parameters * _PARAMETER_BYTES + entries * _JOURNAL_BYTES
    if job.stage == "distillation":
        if not job.on_card:
            return _encoded_bytes(load)
        return text.pairs * _sentence_record_bytes(load) / config.translation.distillation.shards
    if job.stage == "decode":
        return _decode_bytes(job, load)
    return _REPORT_BYTES if job.stage == "report" else 0.0


def checkpoint_bytes(job: Job, load: Workload) -> float:
    """Return the bytes of a running training's checkpoints, at most."""
    size = load.size(job)
    numbers = size.parameters + _ADAM_NUMBERS * size.trained_parameters
    return _CHECKPOINTS * numbers * _PARAMETER_BYTES


def scratch_bytes(job: Job, load: Workload) -> float:
    """Return the bytes that only preparation needs: unpacked corpora, and the pairs that have text on both sides."""
    if job.rule != "prepare_text":
        return 0.0
    text = load.text
    copies = 2 if load.config.translation.data.source == "wmt14" else 1
    return copies * text.pairs * (text.source_subwords + text.target_subwords) * _TEXT_BYTES_PER_SUBWORD


def _encoded_bytes(load: Workload) -> float:
    text = load.text
    return text.pairs * ((text.source_subwords + text.target_subwords) * _ID_BYTES + 2 * _OFFSET_BYTES)


def _sentence_record_bytes(load: Workload, *, blocks: bool = False) -> float:
    tokens = load.target_tokens
    per_token = _TOKEN_BYTES + _TEXT_BYTES_PER_SUBWORD + (_BLOCK_BYTES if blocks else 0)
    return _RECORD_BYTES + tokens * per_token


def _decode_bytes(job: Job, load: Workload) -> float:
    if job.task == "super_resolution":
        criteria = len(image_grid.criteria(load.config.super_resolution, job.model))
        record = _RECORD_BYTES + load.images.output_tokens * (_TOKEN_BYTES - 1 + _BLOCK_BYTES)
        return criteria * load.decoded_images * record
    sets = (
        sentences * len(grid.criteria(load.config.translation, job.model, role))
        for role, sentences in load.text.sentences.items()
    )
    return sum(sets) * _sentence_record_bytes(load, blocks=True)
