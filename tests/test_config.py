"""The schema: what the shipped configs say, what is refused and how, and that every key is explained."""

import re
import types
from copy import deepcopy
from pathlib import Path
from typing import Annotated, Literal, Union, get_args, get_origin

import pytest
import yaml

from bpd.config import Config, RemoteFile, Section, load_config, validate_section
from bpd.errors import BpdError

ROOT = Path(__file__).resolve().parents[1]
CONFIGS = sorted((ROOT / "config").glob("*.yaml"))
PAPER = ROOT / "config" / "paper.yaml"
ELSEWHERE = {"url": "https://example.org/train.en.gz", "sha256": "0" * 64}


def values() -> dict:
    """Return the smoke config as plain values, free to be spoilt."""
    return deepcopy(yaml.safe_load((ROOT / "config" / "smoke.yaml").read_text(encoding="utf-8")))


def spoilt(path: str, value: object) -> dict:
    """Return the smoke config with `value` at the dotted `path`; `...` removes the key."""
    config = values()
    *parents, last = path.split(".")
    section = config
    for parent in parents:
        section = section[parent]
    if value is ...:
        del section[last]
    else:
        section[last] = value
    return config


def refusal(config: object) -> str:
    with pytest.raises(BpdError) as caught:
        validate_section(Config, config, "mine.yaml")
    return str(caught.value)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_the_shipped_configs_are_valid_and_named_as_their_files(path):
    assert load_config(path).scale == path.stem


def test_there_is_a_config_for_each_scale():
    assert {path.stem for path in CONFIGS} == {"smoke", "mini", "paper"}


def test_the_paper_scale_has_the_original_hyperparameters():
    config = load_config(PAPER).translation
    shape = config.transformer
    assert (shape.d_model, shape.d_ff, shape.attention_heads) == (512, 2048, 8)
    assert (shape.encoder_layers, shape.decoder_layers) == (6, 6)
    assert {shape.residual_dropout, shape.attention_dropout, shape.relu_dropout} == {0.1}
    for training in (config.base.training, config.heads.frozen.training, config.heads.fine_tuned.training):
        assert training.steps == 1_000_000
        assert training.micro_batch_tokens * training.micro_batches == 8 * 4096
        assert (training.adam.beta1, training.adam.beta2, training.adam.epsilon) == (0.9, 0.997, 1e-9)
        assert (training.label_smoothing, training.gradient_clip) == (0.1, None)
        schedule = training.schedule
        assert (schedule.kind, schedule.scale, schedule.warmup_steps) == ("inverse_square_root", 2.0, 8000)
    assert config.data.source == "wmt14" and config.data.vocabulary.size == 32_000
    assert config.data.max_subwords + 1 == 256, "the end symbol included"
    assert (config.distillation.beam_size, config.distillation.length_penalty) == (4, 0.6)
    assert config.decoding.max_extra_tokens == 50
    assert config.heads.block_sizes == (1, 2, 4, 6, 8, 10)
    assert config.heads.settings == ("regular", "distillation", "fine_tuning", "both")
    assert config.heads.first_head == "learned"
    assert {config.heads.frozen.head_loss, config.heads.fine_tuned.head_loss} == {"sampled"}
    assert config.trace.sentence.startswith("The James Webb Space Telescope")


def test_the_paper_scale_has_the_original_image_hyperparameters():
    config = load_config(PAPER).super_resolution
    shape = config.image_transformer
    assert (shape.d_model, shape.d_ff, shape.attention_heads, shape.local_block) == (512, 2048, 8, 128)
    assert (shape.encoder_layers, shape.decoder_layers, shape.residual_dropout) == (4, 8, 0.1)
    assert not (shape.ordinal_start or shape.covering_pixel or shape.shared_coordinates or shape.remaining_mean)
    assert shape.token_noise == shape.misread_areas == 0.0
    trainings = {1_000_000: [config.base.training]}
    trainings[250_000] = [config.heads.frozen.training, config.heads.fine_tuned.training]
    for steps, runs in trainings.items():
        for training in runs:
            assert training.steps == steps
            assert training.micro_batch_images * training.micro_batches == 8 * 2
            assert (training.adam.beta1, training.adam.beta2, training.adam.epsilon) == (0.9, 0.98, 1e-9)
            assert (training.label_smoothing, training.gradient_clip) == (0.0, None)
            schedule = training.schedule
            assert (schedule.kind, schedule.scale, schedule.warmup_steps) == ("inverse_square_root", 2.0, 12_000)
    assert (config.data.source, config.data.input_size, config.data.output_size) == ("celeba", 8, 32)
    assert config.heads.block_sizes == (1, 2, 4, 6, 8, 10) and config.heads.first_head == "learned"
    assert {config.heads.frozen.head_loss, config.heads.fine_tuned.head_loss} == {"sampled"}
    assert config.decoding.approximate_criteria == ("distance2",) and config.decoding.images is None


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("super_resolution.decoding.approximate_criteria", ["top2"], "no approximate criterion for images"),
        ("super_resolution.decoding.approximate_criteria", ["distance256"], "would accept every intensity"),
        ("super_resolution.decoding.approximate_criteria", ["distance2", "distance2"], "names a criterion twice"),
        ("super_resolution.decoding.approximate_criteria", [], "super_resolution.decoding.approximate_criteria"),
        ("super_resolution.decoding.images", 2, "gallery.images (4) is more than decoding.images (2)"),
        ("super_resolution.data.source", "lfw", "'drawn_faces' must be given exactly when"),
        ("super_resolution.data.output_size", 30, "must be a multiple of input_size (4)"),
        ("super_resolution.data.output_size", 4, "must be a multiple of input_size (4)"),
        ("super_resolution.image_transformer.d_model", 50, "must be a multiple of 4"),
        ("super_resolution.image_transformer.attention_heads", 5, "not a multiple of attention_heads"),
        ("super_resolution.image_transformer.ordinal_start", 1, "super_resolution.image_transformer.ordinal_start"),
        ("super_resolution.base.training.micro_batch_tokens", 9, "micro_batch_tokens: unknown key"),
        ("super_resolution.heads.block_sizes", [2, 4], "heads.block_sizes needs 1"),
        ("super_resolution.heads.settings", ["fine_tuning"], "heads.settings 'regular'"),
        ("super_resolution.heads.settings", ["regular", "both"], "super_resolution.heads.settings.1"),
        ("super_resolution.survey.bootstrap_samples", 10, "super_resolution.survey.bootstrap_samples"),
        ("super_resolution", ..., "super_resolution: missing"),
        ("translation.heads.sead", 3, "translation.heads.sead: unknown key"),
        ("translation.threads", 4, "translation.threads: unknown key"),
        ("translation.base.seed", ..., "translation.base.seed: missing"),
        ("translation.base.seed", 1.0, "translation.base.seed"),
        ("translation.base.seed", True, "translation.base.seed"),
        ("translation.base.seed", -1, "translation.base.seed"),
        ("translation.transformer.d_model", 0, "translation.transformer.d_model"),
        ("translation.transformer.d_model", 66, "not a multiple of attention_heads"),
        ("translation.transformer.relu_dropout", 1.0, "translation.transformer.relu_dropout"),
        ("translation.transformer.relu_dropout", float("nan"), "translation.transformer.relu_dropout"),
        ("translation.data.source", "wmt15", "translation.data.source"),
        ("translation.data.source", "multi30k", "'generated' must be given exactly when"),
        ("translation.data.generated", ..., "'generated' must be given exactly when"),
        ("translation.data.files", {"train.en.gz": ELSEWHERE | {"url": "ftp://x"}}, "files.train.en.gz.url"),
        ("translation.data.files", {"train.en.gz": ELSEWHERE | {"sha256": "0"}}, "files.train.en.gz.sha256"),
        ("translation.data.files", {"nowhere.gz": ELSEWHERE}, "nowhere.gz"),
        ("translation.data.max_subwords", 5000, "cannot hold one sentence"),
        ("translation.base.training.schedule.kind", "cosine", "translation.base.training.schedule"),
        ("translation.base.training.schedule.scale", 2.0, "schedule.scale: unknown key"),
        ("translation.base.training.schedule.warmup_steps", 10**6, "must be below steps"),
        ("translation.distillation.teacher_seed", 1, "the teacher must be another model"),
        ("translation.heads.block_sizes", [], "translation.heads.block_sizes"),
        ("translation.heads.block_sizes", [4, 4], "block_sizes names a value twice"),
        ("translation.heads.block_sizes", [2, 0], "translation.heads.block_sizes.1"),
        ("translation.heads.settings", ["regular", "best"], "translation.heads.settings.1"),
        ("translation.heads.frozen.head_loss", "sum", "translation.heads.frozen.head_loss"),
        ("translation.decoding.approximate_criteria", ["distance2"], "no approximate criterion for text"),
        ("translation.decoding.approximate_criteria", ["exact"], "no approximate criterion for text"),
        ("translation.decoding.approximate_criteria", ["minimum99"], "above the largest of heads.block_sizes"),
        ("translation.decoding.approximate_criteria", ["nearly"], "translation.decoding.approximate_criteria.0"),
        ("translation.trace.sentence", "A house.", "exactly one of dev_index and sentence"),
        ("translation.trace.dev_index", ..., "exactly one of dev_index and sentence"),
        ("scale", "My Scale", "scale"),
        ("seeds", 3, "seeds: a list is wanted, such as [3], found 3"),
        ("seeds", "abc", "seeds: a list is wanted, found 'abc'"),
        ("translation.timing.batches", {"sizes": [1, 200]}, "batches of 200, but data.generated.test_pairs is 100"),
        ("super_resolution.timing.batches", {"sizes": [9]}, "batches of 9, but data.drawn_faces.dev_images is 8"),
    ],
)
def test_a_fault_is_refused_by_file_and_key(path, value, message):
    said = refusal(spoilt(path, value))
    assert said.startswith("mine.yaml: 1 problem(s)") and message in said


def test_all_faults_are_named_at_once():
    config = spoilt("translation.heads.sead", 3)
    config["translation"]["base"]["seed"] = "one"
    said = refusal(config)
    assert "2 problem(s)" in said and "heads.sead" in said and "base.seed" in said and "'one'" in said


@pytest.mark.parametrize("number", ["4e-3", "1e6", "'0.004'"])
def test_a_number_that_yaml_reads_as_text_is_refused_with_the_remedy(number, tmp_path):
    path = tmp_path / "mine.yaml"
    text = yaml.safe_dump(spoilt("translation.base.training.schedule.peak", "HERE"))
    path.write_text(text.replace("HERE", number), encoding="utf-8")
    with pytest.raises(BpdError, match=r"mine\.yaml(.|\n)*schedule\.peak(.|\n)*powers of ten as 4\.0e-3"):
        load_config(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"scale: [", "not a YAML file"), (b"\xff\xfe", "not a YAML file"), (b"", "problem"), (b"- 1\n- 2\n", "problem")],
)
def test_what_is_no_config_is_refused_by_file(content, message, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_bytes(content)
    with pytest.raises(BpdError, match=f"mine.yaml.*{message}"):
        load_config(path)


def test_a_missing_file_is_refused_by_name(tmp_path):
    with pytest.raises(BpdError, match=r"nowhere\.yaml: cannot read"):
        load_config(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_config_survives_being_written_and_read_again(path):
    config = load_config(path)
    assert validate_section(Config, yaml.safe_load(yaml.safe_dump(config.model_dump(mode="json"))), "again") == config


def sections_of(annotation: object) -> list[type[Section]]:
    """Return the sections within a type such as `dict[str, RemoteFile] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return [annotation]
    if get_origin(annotation) in (Annotated, Union, types.UnionType, dict) or get_origin(annotation) not in (
        None,
        Literal,
    ):
        return [section for part in get_args(annotation) for section in sections_of(part)]
    return []


def schema_keys(kind: type[Section], path: str, found: dict[str, dict[str, bool]]) -> None:
    """Collect in `found` the keys of each section by its dotted path, and whether each is required."""
    for name, field in kind.model_fields.items():
        found.setdefault(path, {})[name] = field.is_required()
        for section in sections_of(field.annotation):
            deeper = f"{path}.{name}".removeprefix("(top).")
            schema_keys(section, f"{deeper}.NAME" if section is RemoteFile else deeper, found)


def explained_keys() -> dict[str, dict[str, bool]]:
    """Return what config/README.md explains: keys by section, and whether each is called required."""
    text = (ROOT / "config" / "README.md").read_text(encoding="utf-8")
    found = {}
    for heading, body in re.findall(r"^## (.+)\n((?:(?!## ).*\n)+)", text, flags=re.MULTILINE):
        rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", body, flags=re.MULTILINE)
        for section in heading.split(" and "):
            keys = {name: "*Optional*" not in meaning for name, meaning in rows}
            found["(top)" if section == "Top level" else section] = keys
    return found


def test_every_key_is_explained_and_nothing_else():
    schema: dict[str, dict[str, bool]] = {}
    schema_keys(Config, "(top)", schema)
    assert len(schema) > 15 and sum(map(len, schema.values())) > 60, "the walk over the schema has lost its way"
    explained = explained_keys()
    # One explanation serves all trainings, and where both halves have the same keys the first one's serves the second.
    by_section = {}
    for path, keys in schema.items():
        short = re.sub(r"^\w+\.((base|heads\.frozen|heads\.fine_tuned)\.(?=training)|(?=timing))", "", path)
        by_section[short] = by_section.get(short, {}) | keys
    for path in ("heads.frozen", "heads.fine_tuned", "data.files.NAME"):
        assert by_section.pop(f"super_resolution.{path}") == by_section[f"translation.{path}"]
        explained.pop(f"super_resolution.{path}", None)
    assert explained == by_section
