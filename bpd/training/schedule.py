"""Learning-rate schedules: Tensor2Tensor's, and a linear decay for short runs."""

from __future__ import annotations

from bpd.config import InverseSquareRootSchedule, LinearSchedule


def learning_rate(
    schedule: InverseSquareRootSchedule | LinearSchedule, step: int, *, steps: int, d_model: int
) -> float:
    """Return the learning rate of `step`, counted from 1, in a run of `steps`.

    Inverse square root: scale · d_model^−0.5 · min(1, step/warmup) · max(step, warmup)^−0.5.
    Linear: up to `peak` at the end of the warm-up, then straight down to zero just after the last step.
    """
    warmup = schedule.warmup_steps
    if isinstance(schedule, InverseSquareRootSchedule):
        return schedule.scale * d_model**-0.5 * min(1.0, step / warmup) * max(step, warmup) ** -0.5
    if step <= warmup:
        return schedule.peak * step / warmup
    return schedule.peak * (steps + 1 - step) / (steps + 1 - warmup)
