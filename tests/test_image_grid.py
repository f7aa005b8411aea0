"""The grid of image models: which ones a config asks for, and what each command hears of them."""

from copy import deepcopy
from pathlib import Path

import pytest
import yaml

from bpd import image_grid
from bpd.config import Config, load_config, validate_section
from bpd.errors import BpdError

ROOT = Path(__file__).resolve().parents[1]
PAPER = load_config(ROOT / "config" / "paper.yaml")


def changed(**parts: dict) -> Config:
    """Return the paper scale with keys of sections of its super-resolution half changed."""
    values = deepcopy(yaml.safe_load((ROOT / "config" / "paper.yaml").read_text(encoding="utf-8")))
    for section, keys in parts.items():
        values["super_resolution"][section] |= keys
    return validate_section(Config, values, "changed")


def test_the_paper_scale_has_the_11_models_of_table_2():
    expected = ["regular_k1"]
    expected += [f"{setting}_k{k}" for k in (2, 4, 6, 8, 10) for setting in ("regular", "fine_tuning")]
    assert image_grid.head_models(PAPER.super_resolution) == expected and len(expected) == 11
    trained = image_grid.trained_models(PAPER.super_resolution)
    assert trained[:3] == ["base", "regular_k1", "regular_k2"] and trained[-1] == "fine_tuning_k10"
    assert sorted(trained) == sorted(["base", *expected])


def test_names_are_parsed_back_and_others_refused():
    for model in image_grid.head_models(PAPER.super_resolution):
        assert image_grid.head_model_name(*image_grid.parse_head_model_name(model)) == model
    for name in ("base", "both_k4", "regular_k0", "regular_k04", "fine_tuning"):
        with pytest.raises(BpdError, match="names no image proposal-head model"):
            image_grid.parse_head_model_name(name)
    with pytest.raises(BpdError, match="not in this config's grid"):
        image_grid.train_settings(PAPER.super_resolution, "regular_k3")


def test_settings_of_base_frozen_and_fine_tuned_models():
    part = changed(heads={"seed": 7}).super_resolution
    base = image_grid.train_settings(part, "base")
    assert (base.heads, base.seed, base.training.steps) == (None, 1, 1_000_000)
    frozen, tuned = (image_grid.train_settings(part, f"{setting}_k4") for setting in ("regular", "fine_tuning"))
    assert frozen.heads.frozen and not tuned.heads.frozen
    assert frozen.heads.block_size == tuned.heads.block_size == 4
    assert frozen.seed == tuned.seed == 7 and frozen.training.steps == 250_000


def test_training_hears_nothing_of_decoding_gallery_and_survey():
    other = changed(decoding={"images": 40, "approximate_criteria": ["distance1"]}, gallery={"images": 3})
    for model in image_grid.trained_models(PAPER.super_resolution):
        assert image_grid.train_settings(PAPER.super_resolution, model) == image_grid.train_settings(
            other.super_resolution, model
        )


def test_only_models_that_propose_are_decoded_approximately():
    part = PAPER.super_resolution
    assert image_grid.criteria(part, "base") == image_grid.criteria(part, "regular_k1") == ("exact",)
    assert image_grid.criteria(part, "regular_k2") == ("exact", "distance2")
    assert image_grid.decode_settings(part, "fine_tuning_k10").criteria == ("exact", "distance2")
    report = image_grid.report_settings(PAPER)
    assert set(report.criteria) == {"base", *image_grid.head_models(part)}
    assert report.approximate_criterion == "distance2"


def test_the_survey_compares_the_ten_methods_of_table_3():
    survey = image_grid.survey_settings(PAPER)
    assert survey.block_sizes == (2, 4, 6, 8, 10) and survey.criteria == ("exact", "distance2")
    frozen_only = image_grid.survey_settings(changed(heads={"settings": ["regular"]}))
    assert frozen_only.block_sizes == ()
