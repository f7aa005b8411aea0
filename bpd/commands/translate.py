"""`bpd translate`: a trained model on one's own sentences, showing the blocks as they are accepted."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from bpd.commands.block_display import BlockDisplay, console_for
from bpd.commands.sentence_time import SentenceTime, time_sentence
from bpd.errors import BpdError
from bpd.trained_model import TrainedModel, Translation


@dataclass(frozen=True)
class View:
    """What is printed of each translation.

    `blocks` and `time` none: where the output is a terminal. `proposals` shows rejected tokens too. `colour` none: on a
    terminal, unless NO_COLOR forbids it.
    """

    blocks: bool | None = None
    proposals: bool = False
    time: bool | None = None
    colour: bool | None = None
    as_json: bool = False


def translate(
    folder: Path,
    lines: Iterable[str],
    *,
    criterion: str,
    block_size: int | None,
    view: View,
    batch_rows: int,
) -> None:
    """Print a translation for each line of `lines`, in order, on a line of its own; a blank line gives an empty line.

    On a terminal, or where `view` says so, the accepted blocks and the speedup follow each translation.
    """
    if criterion == "greedy" and block_size is not None:
        raise BpdError("--block-size has no meaning with --criterion greedy")
    terminal = sys.stdout.isatty()
    blocks = view.proposals or (terminal if view.blocks is None else view.blocks)
    if view.time and not (blocks or view.as_json):
        raise BpdError("--time needs --blocks or --json, which tell the times")
    trained = TrainedModel(folder)
    timing = (terminal and blocks and not view.as_json) if view.time is None else view.time
    # Greedy decoding is no faster than itself.
    timing = timing and criterion != "greedy" and trained.block_size > 1 and block_size != 1
    if not terminal:
        sys.stdout.reconfigure(encoding="utf-8")
    display = BlockDisplay(console_for(sys.stdout, view.colour), greedy=criterion == "greedy", proposals=view.proposals)
    # A person wants each answer at once.
    rows = 1 if terminal or timing else batch_rows
    with tqdm(
        desc="translate", unit="line", delay=1.0, disable=terminal or not sys.stderr.isatty(), mininterval=1.0
    ) as bar:
        for batch in _batches(lines, rows):
            if criterion == "greedy":
                translations = trained.greedy(batch, batch_rows=rows)
            else:
                translations = trained.blockwise(
                    batch,
                    criterion=criterion,
                    block_size=block_size,
                    batch_rows=rows,
                    with_proposals=view.proposals,
                )
            for line, translation in zip(batch, translations, strict=True):
                timed = timing and translation.decoded is not None
                time = time_sentence(trained, line, criterion, block_size) if timed else None
                if view.as_json:
                    print(json.dumps(_values(line, translation, time), ensure_ascii=False))
                elif blocks:
                    display.show(translation, time)
                else:
                    # A model may spell a line end out in bytes.
                    print(translation.text.replace("\n", " "))
            sys.stdout.flush()
            bar.update(len(batch))
    display.close()


def _batches(lines: Iterable[str], size: int) -> Iterator[list[str]]:
    batch: list[str] = []
    for line in lines:
        batch.append(line)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _values(source: str, translation: Translation, time: SentenceTime | None) -> dict:
    decoded = translation.decoded
    values = {
        "source": source,
        "text": translation.text,
        "blocks": translation.blocks,
        "block_sizes": [] if decoded is None else decoded.block_sizes,
        "iterations": 0 if decoded is None else decoded.iterations,
        "calls": 0 if decoded is None else decoded.calls,
        "stop": "empty" if decoded is None else decoded.stop,
    }
    if translation.proposed is not None:
        values["proposed"] = translation.proposed
    if time is not None:
        values["greedy_seconds"] = round(time.greedy_seconds, 6)
        values["blockwise_seconds"] = round(time.blockwise_seconds, 6)
    return values
