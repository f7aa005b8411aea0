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
from bpd.errors import BpdError, Interrupted
from bpd.fingerprints import value_sha256
from bpd.models.combined_model import CombinedModel
from bpd.processes import ALONE, Processes
from bpd.stop_request import StopRequest, heeded_stop_request
from bpd.training.checkpoint import load_checkpoint, save_checkpoint, unfit_checkpoint
from bpd.training.head_loss import StepHeads, head_losses, plan_step, trained_heads
from bpd.training.journal import Journal
from bpd.training.owner_lock import Ownership
from bpd.training.schedule import learning_rate

# What Adam keeps of each parameter that has had a gradient.
_MOMENTS = {"step", "exp_avg", "exp_avg_sq"}


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
    `evaluate` is called with the model in evaluation mode, by the process that writes.

    Each of `processes` takes a share of a step's micro-batches, and gradients are summed: the global batch, its random
    numbers and the result, but for the order of sums, are the same on any number of them. `owner`, if given, is asked
    before each checkpoint whether the folder is still this run's.
    """

    def __init__(
        self,
        model: CombinedModel,
        batches_from: BatchesFrom,
        settings: TrainSettings | ImageTrainSettings,
        folder: Path,
        identity: str,
        evaluate: Evaluate,
        processes: Processes = ALONE,
        owner: Ownership | None = None,
    ) -> None:
        if processes.size > settings.training.micro_batches:
            raise BpdError(
                f"{settings.model}: a step has {settings.training.micro_batches} micro-batches, too few to share "
                f"between {processes.size} processes; start fewer, or raise micro_batches"
            )
        self.processes = processes
        self.owner = owner
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
        """Train from the newest checkpoint, or from the start, to the last step.

        Raises `Interrupted`, once the step at hand is taken and saved, when one of the processes is asked to stop.
        """
        with heeded_stop_request() as request:
            self._restore()
            if self.processes.writes:
                with Journal(self.folder, self.settings.model, self.step, self.steps) as journal:
                    self._take_steps(request, journal)
            else:
                self._take_steps(request, None)
        self.model.eval()

    def _take_steps(self, request: StopRequest, journal: Journal | None) -> None:
        training = self.settings.training
        batches = self.batches_from(self.position)
        # An evaluation that was due when the run was stopped.
        if self.processes.from_writer(journal is not None and self._due(self.step) and journal.evaluated < self.step):
            self._evaluate(journal)
        clock, tokens = time.perf_counter(), 0
        while self.step < self.steps:
            micro_batches = [batches.next() for _ in range(training.micro_batches)]
            values = self._take_step(micro_batches, request)
            self.position = batches.position
            tokens += values.pop("tokens")
            last = self.step == self.steps
            stopping = values.pop("stopping") and not last
            if journal is not None:
                journal.advance()
                if last or self.step % training.log_every == 0:
                    journal.step(self.step, values | self._throughput(tokens, time.perf_counter() - clock))
            if last or self.step % training.log_every == 0:
                clock, tokens = time.perf_counter(), 0
            pause = time.perf_counter()
            if self._due(self.step) and not stopping:
                self._evaluate(journal)
            if last or stopping or self.step % training.checkpoint_every == 0:
                self._save(journal)
            if stopping:
                raise Interrupted(
                    f"{self.settings.model}: stopped by {request} and saved at step {self.step} of {self.steps}; "
                    "the same command goes on from there"
                )
            clock += time.perf_counter() - pause

    def _take_step(self, micro_batches: list[Batch], request: StopRequest) -> dict[str, Any]:
        """Take one optimizer step over the global batch and return what there is to record of it.

        Beside it, `stopping` says whether any of the processes was asked to stop.
        """
        training, spec = self.settings.training, self.settings.heads
        self.step += 1
        rate = learning_rate(training.schedule, self.step, steps=training.steps, d_model=self.model.d_model)
        targets = [batch.target for batch in micro_batches]
        plan = plan_step(spec, self.settings.seed, self.step, targets, self.model.pad_id)
        self._training_mode()
        self.optimizer.zero_grad(set_to_none=True)
        sums = torch.zeros(len(plan.heads), device=self.device)
        for place, batch in self.processes.share(micro_batches):
            torch.manual_seed(micro_batch_seed(self.settings.seed, self.step, place))
            sums += self._accumulate(batch, plan, place)
        sums, requests = self._sum_over_processes(sums, bool(request))
        norm = self._clip(training.gradient_clip)
        means = [total / count if count else None for total, count in zip(sums, plan.counts)]
        present = [mean for mean in means if mean is not None]
        loss = sum(present) / len(present) if present else 0.0
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise self._not_finite(f"loss {loss} and gradient norm {norm} at step {self.step}")
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        return {
            "loss": loss,
            "head_losses": {str(head): mean for head, mean in zip(plan.heads, means) if mean is not None},
            "learning_rate": rate,
            "gradient_norm": norm,
            "stopping": requests > 0,
            "tokens": sum(int((target != self.model.pad_id).sum()) for target in targets),
        }

    def _not_finite(self, what: str) -> BpdError:
        return BpdError(
            f"{self.settings.model}: {what} are not finite; the last checkpoint in {self.folder} is kept. "
            "Lower the learning rate or clip gradients."
        )

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

    def _sum_over_processes(self, sums: Tensor, requested: bool) -> tuple[list[float], int]:
        """Sum gradients, head losses and requests to stop; return the losses, and how many processes are to stop."""
        summed = self.processes.sum(torch.cat([sums, sums.new_tensor([float(requested)])])).tolist()
        self.processes.sum_gradients(self.parameters)
        return summed[:-1], round(summed[-1])

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

    def _due(self, step: int) -> bool:
        """Whether the model is evaluated after `step`."""
        return step == self.steps or (step > 0 and step % self.settings.training.evaluate_every == 0)

    def _evaluate(self, journal: Journal | None) -> None:
        self.model.eval()
        if journal is not None:
            evaluation = self.evaluate(self.model)
            journal.evaluation(self.step, evaluation.scores, evaluation.sample, evaluation.picture)
        self.processes.wait()

    def _save(self, journal: Journal | None) -> None:
        # The losses told of the weights before the step, not of those after it.
        if not all(bool(torch.isfinite(parameter).all()) for parameter in self.parameters):
            raise self._not_finite(f"weights after step {self.step}")
        self._require_same_weights()
        if journal is not None:
            if self.owner is not None:
                self.owner.require()
            journal.flush()
            state = {
                "identity": self.identity,
                "step": self.step,
                "model": self.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "position": {"epoch": self.position.epoch, "index": self.position.index},
            }
            save_checkpoint(self.folder, state)

    def _restore(self) -> None:
        writes = self.processes.writes
        state = load_checkpoint(self.folder, self.identity, torch.device("cpu")) if writes else None
        state = self.processes.from_writer(state)
        if state is not None:
            try:
                self._take_up(state)
            except (RuntimeError, ValueError, KeyError, TypeError) as error:
                reason = " ".join(str(error).split()) or type(error).__name__
                raise unfit_checkpoint(self.folder, state["step"], reason) from None
            if writes:
                print(f"{self.settings.model}: resuming from step {self.step} of {self.steps}", flush=True)
        self._require_same_weights()

    def _take_up(self, state: dict[str, Any]) -> None:
        """Go on from a checkpoint's `state`; raise where it lacks anything, which PyTorch would partly let pass."""
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        identity = self.model.heads is not None and self.model.heads.identity_first_head
        for name, parameter in self.model.named_parameters():
            # Over an identity first head, the heads have no gradient until another one is drawn.
            learned = parameter.requires_grad and not (identity and name.startswith("heads."))
            if learned and not self.optimizer.state[parameter].keys() >= _MOMENTS:
                raise ValueError(f"no moments of {name}")
        self.position = BatchPosition(epoch=state["position"]["epoch"], index=state["position"]["index"])
        self.step = state["step"]

    def _require_same_weights(self) -> None:
        """Stop processes that have drifted apart; sums of the weights tell."""
        if self.processes.size > 1:
            sums = torch.stack([parameter.detach().double().sum() for parameter in self.model.parameters()])
            self.processes.require_same("weights", value_sha256(sums.tolist()))


def micro_batch_seed(seed: int, step: int, place: int) -> int:
    """Return the seed of a micro-batch's random numbers, for dropout and the like.

    It depends on the run's seed, the step and the place in the step alone: which process computes the micro-batch, and
    where the training was resumed, change nothing.
    """
    return int(np.random.SeedSequence([seed, step, place]).generate_state(1, np.uint64)[0] >> np.uint64(1))
