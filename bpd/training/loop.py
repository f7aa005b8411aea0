"""The training loop: global batches of micro-batches, exact resume, records and evaluations on the way."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from bpd.config import ImageTrainSettings, TrainSettings
from bpd.data.batch import Batch, BatchPosition
from bpd.errors import BpdError
from bpd.models.combined_model import CombinedModel
from bpd.training.checkpoint import load_checkpoint, random_state, restore_random_state, save_checkpoint
from bpd.training.head_loss import StepHeads, head_losses, plan_step, trained_heads
from bpd.training.journal import Journal
from bpd.training.schedule import learning_rate


@dataclass(frozen=True)
class Evaluation:
    """Scores on the dev set, and a sample to look at: Markdown, or a picture [height, width, 3] of bytes."""

    scores: dict[str, float]
    sample: str = ""
    picture: np.ndarray | None = None


Evaluate = Callable[[CombinedModel], Evaluation]


class Batches(Protocol):
    """An endless stream of batches, and the place of the next one."""

    position: BatchPosition

    def next(self) -> Batch:
        """Return the next batch and move `position` past it."""
        ...


BatchesFrom = Callable[[BatchPosition], Batches]


class Trainer:
    """One training run of `model`; `folder` holds its checkpoints and records until it is finished.

    `batches_from` returns the stream of its batches from a position on.

    `identity` stands for the settings and inputs of the run: a checkpoint of another identity is refused.
    `evaluate` is called with the model in evaluation mode and must draw no random numbers.
    """

    def __init__(
        self,
        model: CombinedModel,
        batches_from: BatchesFrom,
        settings: TrainSettings | ImageTrainSettings,
        folder: Path,
        identity: str,
        evaluate: Evaluate,
    ) -> None:
        self.model = model
        self.settings = settings
        self.folder = folder
        self.identity = identity
        self.evaluate = evaluate
        self.device = model.device
        self.frozen = settings.heads is not None and settings.heads.frozen
        if self.frozen:
            model.transformer.requires_grad_(False)
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        adam = settings.training.adam
        self.optimizer = torch.optim.Adam(
            self.parameters, lr=0.0, betas=(adam.beta1, adam.beta2), eps=adam.epsilon, fused=True
        )
        self.batches_from = batches_from
        self.position = BatchPosition()
        self.step = 0

    @property
    def steps(self) -> int:
        """The number of steps of the whole run; none where nothing can be learned."""
        return self.settings.training.steps if trained_heads(self.settings.heads) else 0

    def run(self) -> None:
        """Train from the newest checkpoint, or from the start, to the last step."""
        self._restore()
        training = self.settings.training
        batches = self.batches_from(self.position)
        journal = Journal(self.folder, self.settings.model, self.step, self.steps)
        try:
            clock, tokens = time.perf_counter(), 0
            while self.step < self.steps:
                micro_batches = [batches.next() for _ in range(training.micro_batches)]
                values = self._take_step(micro_batches)
                self.position = batches.position
                tokens += values.pop("tokens")
                journal.advance()
                last = self.step == self.steps
                if last or self.step % training.log_every == 0:
                    journal.step(self.step, values | self._throughput(tokens, time.perf_counter() - clock))
                    clock, tokens = time.perf_counter(), 0
                pause = time.perf_counter()
                if last or self.step % training.evaluate_every == 0:
                    self._evaluate(journal)
                if last or self.step % training.checkpoint_every == 0:
                    journal.flush()
                    self._save()
                clock += time.perf_counter() - pause
        finally:
            journal.close()
        self.model.eval()

    def _take_step(self, micro_batches: list[Batch]) -> dict[str, Any]:
        """Take one optimizer step over the global batch and return what there is to record of it."""
        training, spec = self.settings.training, self.settings.heads
        self.step += 1
        rate = learning_rate(training.schedule, self.step, steps=training.steps, d_model=self.model.d_model)
        targets = [batch.target for batch in micro_batches]
        plan = plan_step(spec, self.settings.seed, self.step, targets, self.model.pad_id)
        self._training_mode()
        self.optimizer.zero_grad(set_to_none=True)
        sums = torch.zeros(len(plan.heads), device=self.device)
        for place, batch in enumerate(micro_batches):
            sums += self._accumulate(batch, plan, place)
        norm = self._clip(training.gradient_clip)
        means = [total / count if count else None for total, count in zip(sums.tolist(), plan.counts)]
        present = [mean for mean in means if mean is not None]
        loss = sum(present) / len(present) if present else 0.0
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise BpdError(
                f"{self.settings.model}: loss {loss} and gradient norm {norm} at step {self.step} are not finite; "
                f"the last checkpoint in {self.folder} is kept. Lower the learning rate or clip gradients."
            )
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        return {
            "loss": loss,
            "head_losses": {str(head): mean for head, mean in zip(plan.heads, means) if mean is not None},
            "learning_rate": rate,
            "gradient_norm": norm,
            "tokens": sum(int((target != self.model.pad_id).sum()) for target in targets),
        }

    def _accumulate(self, batch: Batch, plan: StepHeads, place: int) -> Tensor:
        """Add one micro-batch's gradients and return its sum of token losses for each head."""
        source, target = (torch.from_numpy(part).to(self.device) for part in (batch.source, batch.target))
        smoothing = self.settings.training.label_smoothing
        with self._autocast():
            with torch.no_grad() if self.frozen else nullcontext():
                states = self.model.training_states(source, target)
            result = head_losses(self.model, states, target, plan, place, smoothing)
        result.loss.backward()
        return result.sums

    def _clip(self, largest: float | None) -> float:
        """Scale the gradients down to norm `largest`, if one is given, and return the norm they had."""
        return float(torch.nn.utils.clip_grad_norm_(self.parameters, math.inf if largest is None else largest))

    def _training_mode(self) -> None:
        self.model.train()
        if self.frozen and not self.settings.heads.base_dropout:
            self.model.transformer.eval()

    @property
    def autocast_used(self) -> bool:
        """Whether the run computes in bf16: where it is asked for and the device has it."""
        wanted = self.settings.training.precision == "bf16"
        return wanted and self.device.type == "cuda" and torch.cuda.is_bf16_supported()

    def _autocast(self) -> Any:
        return torch.autocast("cuda", dtype=torch.bfloat16) if self.autocast_used else nullcontext()

    @staticmethod
    def _throughput(tokens: int, seconds: float) -> dict[str, float]:
        return {"tokens_per_second": round(tokens / max(seconds, 1e-9), 1)}

    def _evaluate(self, journal: Journal) -> None:
        self.model.eval()
        evaluation = self.evaluate(self.model)
        journal.evaluation(self.step, evaluation.scores, evaluation.sample, evaluation.picture)

    def _save(self) -> None:
        state = {
            "identity": self.identity,
            "step": self.step,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "position": {"epoch": self.position.epoch, "index": self.position.index},
            "random_state": random_state(),
        }
        save_checkpoint(self.folder, state)

    def _restore(self) -> None:
        torch.manual_seed(self.settings.seed)
        state = load_checkpoint(self.folder, self.identity, torch.device("cpu"))
        if state is None:
            return
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.position = BatchPosition(**state["position"])
        self.step = state["step"]
        restore_random_state(state["random_state"])
        print(f"{self.settings.model}: resuming from step {self.step} of {self.steps}", flush=True)
