"""What TensorBoard shows of a training: its tags, their groups, and that the documentation tells what each means."""

import re
from pathlib import Path

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from bpd.training.journal import Journal

PAGE = Path(__file__).parents[2] / "docs" / "running.md"
STEP = {
    "loss": 3.0,
    "head_losses": {"1": 2.0, "2": 4.0},
    "learning_rate": 0.01,
    "gradient_norm": 0.5,
    "tokens_per_second": 100.0,
}
OF_STEPS = {
    "loss/head_1",
    "loss/head_2",
    "loss/mean",
    "optimizer/gradient_norm",
    "optimizer/learning_rate",
    "speed/tokens_per_second",
}
TEXT_SCORES = {"dev_bleu": 12.0, "dev_mean_accepted_block_size": 1.5}
IMAGE_SCORES = {"dev_bits_per_dimension": 5.0, "dev_psnr": 20.0, "dev_mean_accepted_block_size": 1.5}


def shown(folder: Path) -> EventAccumulator:
    events = EventAccumulator(str(folder / "tensorboard"))
    events.Reload()
    return events


def written(folder: Path, scores: dict[str, float], sample: str = "", picture=None) -> EventAccumulator:
    with Journal(folder, "both_k2", 0, 10) as journal:
        journal.step(1, STEP)
        journal.evaluation(1, scores, sample, picture)
    return shown(folder)


@pytest.mark.parametrize("scores", [TEXT_SCORES, IMAGE_SCORES])
def test_scalars_are_grouped_by_what_a_person_watches(tmp_path, scores):
    tags = set(written(tmp_path, scores).Tags()["scalars"])
    assert tags == OF_STEPS | {f"dev/{name.removeprefix('dev_')}" for name in scores}


def test_the_heads_losses_share_a_chart(tmp_path):
    from tensorboard.plugins.custom_scalar.layout_pb2 import Layout

    events = written(tmp_path, TEXT_SCORES)
    (event,) = events.Tensors("custom_scalars__config__")
    layout = Layout.FromString(event.tensor_proto.string_val[0])
    ((chart,),) = [category.chart for category in layout.category]
    (pattern,) = chart.multiline.tag
    assert [tag for tag in sorted(events.Tags()["scalars"]) if re.fullmatch(pattern, tag)] == [
        "loss/head_1",
        "loss/head_2",
    ]


def test_a_resumed_training_shows_no_step_twice(tmp_path):
    with Journal(tmp_path, "both_k2", 0, 10) as journal:
        for step in (1, 2, 3):
            journal.step(step, STEP)
    with Journal(tmp_path, "both_k2", 1, 10) as journal:
        journal.step(2, STEP | {"loss": 1.0})
    assert [(event.step, event.value) for event in shown(tmp_path).Scalars("loss/mean")] == [(1, 3.0), (2, 1.0)]


def test_the_readme_tells_what_every_tag_means_and_of_no_other(tmp_path):
    picture = np.zeros((4, 4, 3), dtype=np.uint8)
    tags = set()
    for name, scores in (("text", TEXT_SCORES), ("images", IMAGE_SCORES)):
        (tmp_path / name).mkdir()
        found = written(tmp_path / name, scores, "a sample", picture).Tags()
        tags |= {*found["scalars"], *found["images"]}
    told = re.findall(r"^\| `((?:dev|loss|optimizer|speed)/\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(told) == sorted({re.sub(r"head_\d+", "head_i", tag) for tag in tags})
