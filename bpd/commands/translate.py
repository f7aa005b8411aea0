"""`bpd translate`: a trained model on one's own sentences, showing the blocks as they are accepted."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from bpd.errors import BpdError
from bpd.trained_model import TrainedModel, Translation

_SHADES = ("\x1b[7m", "\x1b[4m")


def translate(
    folder: Path,
    lines: Iterable[str],
    *,
    criterion: str,
    block_size: int | None,
    show_blocks: bool,
    as_json: bool,
    batch_rows: int,
) -> None:
    """Print a translation for each line of `lines`, in order; a blank line gives a blank line.

    With `show_blocks`, a line with the accepted blocks, divided by bars, and the counts follows each translation.
    """
    model = TrainedModel(folder)
    if criterion == "greedy" and block_size is not None:
        raise BpdError("--block-size has no meaning with --criterion greedy")
    for batch in _batches(lines, batch_rows):
        start = time.perf_counter()
        if criterion == "greedy":
            translations = model.greedy(batch, batch_rows=batch_rows)
        else:
            translations = model.blockwise(batch, criterion=criterion, block_size=block_size, batch_rows=batch_rows)
        seconds = time.perf_counter() - start
        for translation in translations:
            if as_json:
                print(json.dumps(_values(translation), ensure_ascii=False))
                continue
            print(translation.text)
            if show_blocks and translation.decoded is not None:
                print(_marked(translation, colour=sys.stdout.isatty()))
        sys.stdout.flush()
        if show_blocks:
            print(f"{len(batch)} line(s) in {seconds:.3f} s", file=sys.stderr)


def _batches(lines: Iterable[str], size: int) -> Iterator[list[str]]:
    batch: list[str] = []
    for line in lines:
        batch.append(line.rstrip("\n"))
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _values(translation: Translation) -> dict:
    decoded = translation.decoded
    if decoded is None:
        return {"text": "", "blocks": [], "block_sizes": [], "iterations": 0, "calls": 0, "stop": "empty"}
    return {
        "text": translation.text,
        "blocks": translation.blocks,
        "block_sizes": decoded.block_sizes,
        "iterations": decoded.iterations,
        "calls": decoded.calls,
        "stop": decoded.stop,
    }


def _marked(translation: Translation, *, colour: bool) -> str:
    decoded = translation.decoded
    blocks = [" ".join(block) for block in translation.blocks]
    if colour:
        blocks = [f"{_SHADES[index % 2]}{block}\x1b[0m" for index, block in enumerate(blocks)]
    accepted, iterations = len(decoded.token_ids), decoded.iterations
    return f"  {' | '.join(blocks)}\n  {accepted} tokens in {iterations} iterations, mean {accepted / iterations:.2f}"
