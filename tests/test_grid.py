"""The grid: which models a config asks for, and that each command hears of what concerns it, and of nothing else."""

from copy import deepcopy
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from bpd import grid
from bpd.config import SETTINGS, Config, TranslationConfig, load_config, validate_section
from bpd.errors import BpdError

ROOT = Path(__file__).resolve().parents[1]
PAPER = load_config(ROOT / "config" / "paper.yaml").translation
MODELS = ["base", "teacher", *grid.head_models(PAPER)]


def changed(path: str, value: object) -> TranslationConfig:
    """Return the paper scale with one value changed."""
    config = deepcopy(yaml.safe_load((ROOT / "config" / "paper.yaml").read_text(encoding="utf-8")))
    *parents, last = path.split(".")
    section = config["translation"]
    for parent in parents:
        section = section[parent]
    section[last] = value
    return validate_section(Config, config, "changed").translation


def test_the_paper_scale_has_the_22_models_of_table_1():
    expected = ["regular_k1", "distillation_k1"]
    expected += [f"{setting}_k{k}" for k in (2, 4, 6, 8, 10) for setting in SETTINGS]
    assert grid.head_models(PAPER) == expected and len(expected) == 22


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=4, unique=True),
    st.lists(st.sampled_from(SETTINGS), min_size=1, max_size=4, unique=True),
)
@settings(derandomize=True, max_examples=30, deadline=None)
def test_names_of_models_tell_setting_and_block_size(block_sizes, chosen):
    heads = PAPER.heads.model_copy(update={"block_sizes": tuple(block_sizes), "settings": tuple(chosen)})
    config = PAPER.model_copy(update={"heads": heads})
    models = grid.head_models(config)
    assert len(set(models)) == len(models)
    for model in models:
        setting, block_size = grid.parse_head_model_name(model)
        assert grid.head_model_name(setting, block_size) == model
        assert block_size in block_sizes and setting in chosen
        assert block_size > 1 or setting in ("regular", "distillation")
    trained = grid.trained_models(config)
    assert sorted(set(trained) - {"teacher"}) == sorted(grid.decoded_models(config))
    assert ("teacher" in trained) == bool({"distillation", "both"} & set(chosen))


@pytest.mark.parametrize("name", ["base", "both", "both_k0", "both_k04", "both_k4x", "bothk4", "best_k4", ""])
def test_other_names_are_refused(name):
    with pytest.raises(BpdError, match="names no proposal-head model"):
        grid.parse_head_model_name(name)


@pytest.mark.parametrize("model", ["both_k1", "both_k3", "fine_tuning_k1"])
def test_a_model_outside_the_grid_is_refused_with_the_grid(model):
    with pytest.raises(BpdError, match=f"'{model}' is not in this config's grid: regular_k1, "):
        grid.train_settings(PAPER, model)


@pytest.mark.parametrize(
    ("model", "corpus", "frozen"),
    [
        ("regular_k4", "gold", True),
        ("distillation_k4", "distilled", True),
        ("fine_tuning_k4", "gold", False),
        ("both_k4", "distilled", False),
    ],
)
def test_the_settings_differ_in_corpus_and_in_what_is_trained(model, corpus, frozen):
    asked = grid.train_settings(PAPER, model)
    assert (asked.corpus, asked.heads.frozen, asked.heads.block_size) == (corpus, frozen, 4)
    assert asked.seed == PAPER.heads.seed and asked.model == model


def test_base_and_teacher_differ_in_their_seed_only():
    base, teacher = (grid.train_settings(PAPER, model).model_dump() for model in ("base", "teacher"))
    assert {key for key in base if base[key] != teacher[key]} == {"model", "seed"}
    assert base["heads"] is None and base["corpus"] == "gold"


@pytest.mark.parametrize(
    ("model", "role", "criteria"),
    [
        ("base", "dev", ("exact", "beam4")),
        ("base", "test", ("exact", "beam4")),
        ("regular_k10", "dev", ("exact",)),
        ("both_k2", "dev", ("exact", "top2", "top3", "minimum2")),
        ("both_k4", "dev", ("exact", "top2", "top3", "minimum2", "minimum3")),
        ("both_k4", "test", ("exact",)),
    ],
)
def test_criteria_are_those_that_model_and_set_allow(model, role, criteria):
    assert grid.criteria(PAPER, model, role) == criteria


@pytest.mark.parametrize(
    ("path", "value", "retrained", "decoded_anew"),
    [
        ("decoding.approximate_criteria", ["top2"], set(), {"both"}),
        ("decoding.max_extra_tokens", 60, set(), {"base", *SETTINGS}),
        ("decoding.baseline_beam_size", 5, set(), {"base"}),
        ("heads.block_sizes", [1, 2, 4, 6, 8, 10, 12], set(), set()),
        ("base.seed", 7, {"base"}, set()),
        ("distillation.teacher_seed", 7, {"teacher"}, set()),
        ("heads.seed", 7, set(SETTINGS), set()),
        ("heads.frozen.head_loss", "mean", {"regular", "distillation"}, set()),
        ("heads.fine_tuned.head_loss", "mean", {"fine_tuning", "both"}, set()),
        ("trace.sentence", "A house.", set(), set()),
    ],
)
def test_a_changed_key_reaches_only_the_jobs_that_use_it(path, value, retrained, decoded_anew):
    def kind(model: str) -> str:
        return model.rpartition("_k")[0] or model

    config = changed(path, value)
    assert grid.prepare_settings(config) == grid.prepare_settings(PAPER)
    trained = {kind(name) for name in MODELS if grid.train_settings(config, name) != grid.train_settings(PAPER, name)}
    assert trained == retrained
    decoded = grid.decoded_models(PAPER)
    anew = {kind(name) for name in decoded if grid.decode_settings(config, name) != grid.decode_settings(PAPER, name)}
    assert anew == decoded_anew
    distils = path == "decoding.max_extra_tokens"
    assert (grid.distill_settings(config) != grid.distill_settings(PAPER)) == distils


def test_a_changed_vocabulary_reaches_the_preparation():
    assert grid.prepare_settings(changed("data.vocabulary.size", 16000)) != grid.prepare_settings(PAPER)


def test_the_traced_model_has_the_largest_block_of_the_last_setting():
    assert grid.trace_model(PAPER) == "both_k10"
    assert grid.trace_model(changed("heads.settings", ["both", "regular"])) == "regular_k10"
    only_one = PAPER.heads.model_copy(update={"block_sizes": (1,)})
    assert grid.trace_model(PAPER.model_copy(update={"heads": only_one})) == "distillation_k1"


@pytest.mark.parametrize(
    ("scale", "names"),
    [
        ("smoke", {"dev": "dev", "test": "test"}),
        ("mini", {"dev": "val", "test": "test_2016_flickr"}),
        ("paper", {"dev": "newstest2013", "test": "newstest2014"}),
    ],
)
def test_the_report_knows_sets_models_and_criteria(scale, names):
    config = load_config(ROOT / "config" / f"{scale}.yaml")
    report = grid.report_settings(config)
    assert grid.set_names(config.translation) == report.set_names == names
    assert list(report.criteria) == grid.decoded_models(config.translation)
    assert all(set(roles) == {"dev", "test"} and "exact" in roles["test"] for roles in report.criteria.values())
