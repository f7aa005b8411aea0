"""Learning rates against values computed by hand."""

import pytest

from bpd.config import InverseSquareRootSchedule, LinearSchedule
from bpd.training.schedule import learning_rate


@pytest.mark.parametrize(
    ("step", "expected"),
    [(1, 2.0 * 512**-0.5 / 8000 / 8000**0.5), (8000, 2.0 * 512**-0.5 / 8000**0.5), (32000, 512**-0.5 / 8000**0.5)],
)
def test_inverse_square_root_is_tensor2tensors(step, expected):
    schedule = InverseSquareRootSchedule(kind="inverse_square_root", scale=2.0, warmup_steps=8000)
    assert learning_rate(schedule, step, steps=1_000_000, d_model=512) == pytest.approx(expected)


@pytest.mark.parametrize(("step", "expected"), [(1, 0.1), (10, 1.0), (11, 90 / 91), (55, 46 / 91), (100, 1 / 91)])
def test_linear_rises_to_the_peak_and_falls_to_zero_after_the_last_step(step, expected):
    schedule = LinearSchedule(kind="linear", peak=1.0, warmup_steps=10)
    assert learning_rate(schedule, step, steps=100, d_model=512) == pytest.approx(expected)
