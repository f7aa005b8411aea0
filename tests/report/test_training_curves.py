import json
import math

import pytest

from bpd.errors import BpdError
from bpd.report.training_curves import read_journal, training_curves
from tests.report.example_images import write_image_journal
from tests.report.example_results import write_journal
from tests.report.visible import texts_out_of_sight


def test_a_curve_has_a_point_for_each_record(tmp_path):
    journal = write_journal(tmp_path / "training.jsonl", [5.0, 4.0, 3.0], {20: 11.5, 30: 12.5})
    loss, bleu, *_ = training_curves({"base": journal}, "mini").axes
    (curve,) = loss.get_lines()
    assert curve.get_xydata().tolist() == [[10, 5.0], [20, 4.5], [30, 4.0]], "means of all losses up to nine"
    (dots,) = bleu.get_lines()
    assert dots.get_xydata().tolist() == [[20, 11.5], [30, 12.5]]


def test_losses_are_smoothed_over_nine_records(tmp_path):
    journal = write_journal(tmp_path / "training.jsonl", [float(n) for n in range(1, 13)], {})
    loss, *_ = training_curves({"base": journal}, "mini").axes
    assert loss.get_lines()[0].get_ydata()[-1] == pytest.approx(sum(range(4, 13)) / 9)


def test_each_kind_of_model_has_a_panel_and_each_model_a_line(tmp_path):
    models = ("base", "teacher", "regular_k2", "regular_k4", "fine_tuning_k2")
    journals = {name: write_journal(tmp_path / name / "training.jsonl", [3.0, 2.0], {10: 9.0}) for name in models}
    figure = training_curves(journals, "mini")
    above, below = figure.axes[:3], figure.axes[3:]
    assert [axes.get_title() for axes in above] == ["Base and teacher", "Regular", "Fine Tuning"]
    assert [[line.get_label() for line in axes.get_lines()] for axes in above] == [
        ["base", "teacher"],
        ["regular_k2", "regular_k4"],
        ["fine_tuning_k2"],
    ]
    assert [len(axes.get_lines()) for axes in below] == [2, 2, 1]
    lines = above[1].get_lines()
    assert lines[0].get_color() != lines[1].get_color()
    assert above[0].get_ylabel() == "Training loss (nats per token)"
    assert below[0].get_ylabel() == "Dev BLEU (first sentences)"
    assert {axes.get_xlabel() for axes in below} == {"Step"}
    assert not texts_out_of_sight(figure)


def test_a_loss_that_is_not_a_number_is_a_gap(tmp_path):
    journal = write_journal(tmp_path / "training.jsonl", [5.0, math.nan], {20: math.nan})
    loss, bleu, *_ = training_curves({"base": journal}, "mini").axes
    assert math.isnan(loss.get_lines()[0].get_ydata()[1])
    assert math.isnan(bleu.get_lines()[0].get_ydata()[0])


def test_evaluations_without_bleu_are_passed_over(tmp_path):
    journal = write_journal(tmp_path / "training.jsonl", [5.0], {})
    with open(journal, "a", encoding="utf-8") as stream:
        stream.write('{"event": "evaluation", "step": 10, "dev_loss": 3.0}\n')
    _, bleu, *_ = training_curves({"base": journal}, "mini").axes
    assert [len(line.get_xdata()) for line in bleu.get_lines()] == [0]


def test_image_models_show_bits_instead_of_bleu(tmp_path):
    journals = {name: write_image_journal(tmp_path / name / "training.jsonl") for name in ("base", "regular_k2")}
    figure = training_curves(
        journals, "mini", score="dev_bits_per_dimension", score_title="Dev bits per intensity", token="intensity"
    )
    assert [axes.get_title() for axes in figure.axes[:2]] == ["Base", "Regular"]
    assert [axes.get_ylabel() for axes in figure.axes[::2]] == [
        "Training loss (nats per intensity)",
        "Dev bits per intensity",
    ]
    (dots,) = figure.axes[2].get_lines()
    assert dots.get_xydata().tolist() == [[100, 6], [200, 5.5], [300, 5 + 1 / 3]]
    assert not texts_out_of_sight(figure)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"3",
        b"[]",
        b'{"step": 20}',
        b'{"event": "step", "loss": 3.0}',
        b'{"event": "step", "step": 20}',
        b'{"event": "step", "step": 20, "loss": "3"}',
        b'{"event": "step", "step": null, "loss": 3.0}',
        b'{"event": "evaluation", "step": 20, "dev_bleu": null}',
        b'{"event": "evaluation", "step": 20, "dev_bits_per_dimension": "5"}',
        b'{"event": "evaluation", "step": 20, "dev_psnr": null}',
        b'{"event": "step", "step": 20, "note": "f\xfcr"}',
        b'{"event": ["step"], "step": 20, "loss": 3.0}',
    ],
)
def test_a_faulty_line_of_a_journal_is_refused_by_number(tmp_path, line):
    path = write_journal(tmp_path / "training.jsonl", [5.0], {})
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(BpdError, match=r"training\.jsonl, line 2: not a journal record; train the model again"):
        read_journal(path)


def test_a_truncated_journal_is_refused_by_number(tmp_path):
    path = write_journal(tmp_path / "training.jsonl", [5.0, 4.0], {})
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(BpdError, match=r"training\.jsonl, line 2"):
        read_journal(path)


def test_a_missing_journal_is_refused_by_name(tmp_path):
    with pytest.raises(BpdError, match=r"both_k4/training\.jsonl: missing or damaged training journal"):
        training_curves({"both_k4": tmp_path / "both_k4" / "training.jsonl"}, "mini")


def test_a_sound_journal_is_read_whole(tmp_path):
    path = write_journal(tmp_path / "training.jsonl", [5.0], {10: 3.0})
    assert read_journal(path) == [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_an_evaluation_at_the_last_step_is_not_cut_off(tmp_path):
    journal = write_journal(tmp_path / "training.jsonl", [3.0] * 40, {380: 9.0, 400: 10.0})
    above, *_, below = training_curves({"base": journal}, "mini").axes
    assert above.get_xlim() == below.get_xlim()
    assert below.get_xlim()[0] == 0 and below.get_xlim()[1] >= 1.02 * 400
