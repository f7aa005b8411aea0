"""The journal of a training: `training.jsonl`, TensorBoard events and the progress bar.

TensorBoard shows tags in groups, by what a person watches: `dev`, `loss`, `optimizer` and `speed`. docs/running.md has
a table of all of them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

from bpd.atomic import write_text

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

_OPTIMIZER = ("learning_rate", "gradient_norm")

# Charts of several tags, which TensorBoard shows under “Custom Scalars”: the heads are to be seen side by side.
_LAYOUT = {"loss": {"by head": ["Multiline", [r"loss/head_\d+"]]}}


class Journal:
    """Records of a run in `folder`; a resumed run continues them from `step` as if it had never stopped.

    `evaluated` is the last step whose evaluation is recorded.
    """

    def __init__(self, folder: Path, name: str, step: int, steps: int) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.path = folder / "training.jsonl"
        self.evaluated = 0
        self._forget_after(step)
        self._stream = open(self.path, "a", encoding="utf-8")  # noqa: SIM115 (closed by `close`)
        self._board: SummaryWriter = SummaryWriter(
            str(folder / "tensorboard"), purge_step=step + 1 if step else None, flush_secs=10
        )
        self._board.add_custom_scalars(_LAYOUT)
        self._bar = tqdm(total=steps, initial=step, desc=name, unit="step", mininterval=5.0, dynamic_ncols=True)

    def _forget_after(self, step: int) -> None:
        """Drop what was recorded after the checkpoint of `step`: those steps will be taken again."""
        if not self.path.exists():
            return
        kept = []
        for line in self.path.read_text(encoding="utf-8").splitlines(keepends=True):
            try:
                record = json.loads(line)
                if not line.endswith("\n") or record["step"] > step:
                    continue
            except (ValueError, KeyError):
                continue
            kept.append(line)
            if record["event"] == "evaluation":
                self.evaluated = record["step"]
        write_text(self.path, "".join(kept))

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def advance(self) -> None:
        """Move the progress bar by one step."""
        self._bar.update(1)

    def step(self, step: int, values: dict[str, Any]) -> None:
        """Record a training step: `loss`, `head_losses` by head, `learning_rate`, `tokens_per_second` and so on."""
        self._record({"event": "step", "step": step, **values})
        self._bar.set_postfix_str(f"loss {values['loss']:.3f}, {values['tokens_per_second']:.0f} tokens/s")
        for head, loss in values["head_losses"].items():
            self._board.add_scalar(f"loss/head_{head}", loss, step)
        self._board.add_scalar("loss/mean", values["loss"], step)
        for name in _OPTIMIZER:
            self._board.add_scalar(f"optimizer/{name}", values[name], step)
        self._board.add_scalar("speed/tokens_per_second", values["tokens_per_second"], step)

    def evaluation(self, step: int, values: dict[str, float], sample: str, picture: np.ndarray | None = None) -> None:
        """Record dev scores, and a sample: Markdown, or a picture [height, width, 3] of bytes."""
        self._record({"event": "evaluation", "step": step, **values})
        self.evaluated = step
        for name, value in values.items():
            self._board.add_scalar(f"dev/{name.removeprefix('dev_')}", value, step)
        if sample:
            self._board.add_text("dev/sample", sample, step)
        if picture is not None:
            self._board.add_image("dev/sample", picture, step, dataformats="HWC")
        scores = ", ".join(f"{name} {value:.2f}" for name, value in values.items())
        tqdm.write(f"step {step}: {scores}", file=self._bar.fp)

    def flush(self) -> None:
        """Bring all records to disk."""
        self._stream.flush()
        self._board.flush()

    def close(self) -> None:
        """End the journal."""
        self._bar.close()
        self._stream.close()
        self._board.close()

    def _record(self, values: dict[str, Any]) -> None:
        self._stream.write(json.dumps(values) + "\n")
