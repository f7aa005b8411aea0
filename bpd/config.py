"""The configuration schema: frozen, typed, one class per stage, unknown keys refused by name.

A config holds science only: what is computed, never on how many threads, cards or gigabytes.
`config/README.md` explains every key to a person; the classes here are what the programs read.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bpd.errors import BpdError

Setting = Literal["regular", "distillation", "fine_tuning", "both"]
Corpus = Literal["gold", "distilled"]
PositiveInt = Annotated[int, Field(gt=0)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Probability = Annotated[float, Field(ge=0.0, lt=1.0)]
CriterionName = Annotated[str, Field(pattern=r"^(exact|top[1-9]\d*|distance\d+|minimum[1-9]\d*)$")]

SETTINGS: tuple[Setting, ...] = ("regular", "distillation", "fine_tuning", "both")
FROZEN_SETTINGS: tuple[Setting, ...] = ("regular", "distillation")
DISTILLED_SETTINGS: tuple[Setting, ...] = ("distillation", "both")


class Section(BaseModel):
    """A part of the configuration: immutable, strictly typed, closed to unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class RemoteFile(Section):
    """A replacement for a data file's built-in address, size and checksum."""

    url: Annotated[str, Field(pattern=r"^(https?|file)://")]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    bytes: PositiveInt | None = None


class GeneratedTextConfig(Section):
    """Sentence pairs drawn from the built-in English–German grammar."""

    train_pairs: PositiveInt
    dev_pairs: PositiveInt
    test_pairs: PositiveInt
    seed: Seed


class VocabularyConfig(Section):
    """The shared SentencePiece BPE vocabulary (about 32 k subwords at the paper scale)."""

    size: Annotated[int, Field(ge=16, le=65536)]
    byte_fallback: bool
    training_lines: PositiveInt | None = None


class TranslationDataConfig(Section):
    """Where sentence pairs come from and which of them are kept."""

    source: Literal["generated", "multi30k", "wmt14"]
    generated: GeneratedTextConfig | None = None
    vocabulary: VocabularyConfig
    max_subwords: PositiveInt
    max_length_ratio: Annotated[float, Field(gt=1.0)] | None = None
    files: dict[str, RemoteFile] = {}

    @model_validator(mode="after")
    def _generated_belongs_to_its_source(self) -> Self:
        if (self.source == "generated") != (self.generated is not None):
            raise ValueError("the section 'generated' must be given exactly when source is 'generated'")
        return self

    @model_validator(mode="after")
    def _files_are_known(self) -> Self:
        from bpd.data.fetch import require_known

        try:
            require_known(self.files)
        except BpdError as problem:
            raise ValueError(str(problem).removeprefix("translation.data.")) from None
        return self


class TransformerConfig(Section):
    """Shape and regularisation of the encoder–decoder Transformer."""

    d_model: PositiveInt
    d_ff: PositiveInt
    attention_heads: PositiveInt
    encoder_layers: PositiveInt
    decoder_layers: PositiveInt
    residual_dropout: Probability
    attention_dropout: Probability
    relu_dropout: Probability

    @model_validator(mode="after")
    def _heads_divide_the_model(self) -> Self:
        if self.d_model % self.attention_heads:
            raise ValueError(f"d_model ({self.d_model}) is not a multiple of attention_heads ({self.attention_heads})")
        if self.d_model % 2:
            raise ValueError(f"d_model ({self.d_model}) must be even: sinusoidal positions pair sines with cosines")
        return self


class InverseSquareRootSchedule(Section):
    """Tensor2Tensor's: scale · d_model^−0.5 · min(1, step/warmup) · max(step, warmup)^−0.5."""

    kind: Literal["inverse_square_root"]
    scale: Annotated[float, Field(gt=0)]
    warmup_steps: PositiveInt


class LinearSchedule(Section):
    """Linear warm-up to `peak`, then linear decay to zero at the last step."""

    kind: Literal["linear"]
    peak: Annotated[float, Field(gt=0)]
    warmup_steps: PositiveInt


class AdamConfig(Section):
    """Adam's moments and epsilon."""

    beta1: Probability
    beta2: Probability
    epsilon: Annotated[float, Field(gt=0)]


class TrainingConfig(Section):
    """One training run: how many steps, on which batches, at which learning rate."""

    steps: PositiveInt
    micro_batch_tokens: PositiveInt
    micro_batches: PositiveInt
    label_smoothing: Probability
    adam: AdamConfig
    schedule: Annotated[InverseSquareRootSchedule | LinearSchedule, Field(discriminator="kind")]
    gradient_clip: Annotated[float, Field(gt=0)] | None = None
    precision: Literal["fp32", "bf16"]
    log_every: PositiveInt
    checkpoint_every: PositiveInt
    evaluate_every: PositiveInt
    evaluate_sentences: PositiveInt

    @model_validator(mode="after")
    def _warmup_ends_before_training(self) -> Self:
        if isinstance(self.schedule, LinearSchedule) and self.schedule.warmup_steps >= self.steps:
            raise ValueError(f"schedule.warmup_steps ({self.schedule.warmup_steps}) must be below steps ({self.steps})")
        return self


class HeadTrainingConfig(Section):
    """Training of proposal heads on one kind of base: which loss (paper section 6), and the run itself."""

    head_loss: Literal["sampled", "mean"]
    base_dropout: bool
    training: TrainingConfig


class HeadsConfig(Section):
    """The grid of proposal-head models: block sizes × settings (Table 1)."""

    seed: Seed
    block_sizes: Annotated[tuple[PositiveInt, ...], Field(min_length=1)]
    settings: Annotated[tuple[Setting, ...], Field(min_length=1)]
    first_head: Literal["learned", "identity"]
    frozen: HeadTrainingConfig
    fine_tuned: HeadTrainingConfig

    @model_validator(mode="after")
    def _grid_has_no_twins(self) -> Self:
        for name in ("block_sizes", "settings"):
            values = getattr(self, name)
            if len(set(values)) != len(values):
                raise ValueError(f"{name} names a value twice: {list(values)}")
        return self


class BaseConfig(Section):
    """The base model's seed and training."""

    seed: Seed
    training: TrainingConfig


class DistillationConfig(Section):
    """Sequence-level distillation by beam search of a teacher that differs from the base in its seed only."""

    teacher_seed: Seed
    beam_size: PositiveInt
    length_penalty: Annotated[float, Field(ge=0)]
    shards: PositiveInt


class DecodingConfig(Section):
    """How trained models are decoded on the dev and test sets."""

    max_extra_tokens: PositiveInt
    approximate_criteria: tuple[CriterionName, ...]
    baseline_beam_size: PositiveInt
    baseline_length_penalty: Annotated[float, Field(ge=0)]
    precision: Literal["fp32", "bf16"]


class TraceConfig(Section):
    """The sentence whose decoding is shown step by step (paper section 7.4): of the dev set, or one's own."""

    dev_index: Annotated[int, Field(ge=0)] | None = None
    sentence: str | None = None

    @model_validator(mode="after")
    def _one_sentence(self) -> Self:
        if (self.dev_index is None) == (self.sentence is None):
            raise ValueError("give exactly one of dev_index and sentence")
        return self


class TranslationConfig(Section):
    """The translation half of the paper."""

    data: TranslationDataConfig
    transformer: TransformerConfig
    base: BaseConfig
    distillation: DistillationConfig
    heads: HeadsConfig
    decoding: DecodingConfig
    trace: TraceConfig

    @model_validator(mode="after")
    def _combinations_are_possible(self) -> Self:
        if max(self.heads.block_sizes) == 1 and not set(self.heads.settings) & set(FROZEN_SETTINGS):
            raise ValueError(
                "heads.block_sizes and heads.settings give no model: k = 1 is trained over a frozen base only"
            )
        if self.distillation.teacher_seed == self.base.seed:
            raise ValueError("distillation.teacher_seed equals base.seed: the teacher must be another model")
        if len(set(self.decoding.approximate_criteria)) < len(self.decoding.approximate_criteria):
            raise ValueError("decoding.approximate_criteria names a criterion twice")
        for name in self.decoding.approximate_criteria:
            if name.startswith("minimum") and int(name.removeprefix("minimum")) > max(self.heads.block_sizes):
                raise ValueError(
                    f"decoding.approximate_criteria: '{name}' is above the largest of heads.block_sizes, "
                    f"{max(self.heads.block_sizes)}"
                )
            if name == "exact" or name.startswith("distance"):
                raise ValueError(f"decoding.approximate_criteria: '{name}' is no approximate criterion for text")
        for training in (self.base.training, self.heads.frozen.training, self.heads.fine_tuned.training):
            if training.micro_batch_tokens < self.data.max_subwords + 1:
                raise ValueError(
                    f"micro_batch_tokens ({training.micro_batch_tokens}) cannot hold one sentence of "
                    f"data.max_subwords ({self.data.max_subwords}) and its end symbol"
                )
        return self


class Config(Section):
    """A whole scale: smoke, mini or paper."""

    scale: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    translation: TranslationConfig


class HeadSpec(Section):
    """What distinguishes one proposal-head model from another."""

    block_size: PositiveInt
    first_head: Literal["learned", "identity"]
    frozen: bool
    base_dropout: bool
    head_loss: Literal["sampled", "mean"]


class TrainSettings(Section):
    """All that `bpd train` needs to know; `heads` is absent for a base model or a teacher."""

    task: Literal["translation"]
    model: str
    seed: Seed
    corpus: Corpus
    transformer: TransformerConfig
    training: TrainingConfig
    heads: HeadSpec | None = None


class PrepareSettings(Section):
    """All that `bpd prepare text` needs to know."""

    data: TranslationDataConfig


class DistillSettings(Section):
    """All that `bpd distill` needs to know."""

    beam_size: PositiveInt
    length_penalty: Annotated[float, Field(ge=0)]
    shards: PositiveInt
    max_extra_tokens: PositiveInt


class DecodeSettings(Section):
    """All that `bpd decode` needs to know of one model: criteria by set role, and the baseline's beam."""

    dev_criteria: tuple[str, ...]
    test_criteria: tuple[str, ...]
    length_penalty: Annotated[float, Field(ge=0)]
    max_extra_tokens: PositiveInt
    precision: Literal["fp32", "bf16"]


class TraceSettings(Section):
    """All that `bpd trace` needs to know."""

    trace: TraceConfig
    max_extra_tokens: PositiveInt


class ReportSettings(Section):
    """All that `bpd tables` and `bpd figures` need to know: the grid, and which records exist by set role."""

    scale: str
    block_sizes: tuple[PositiveInt, ...]
    settings: tuple[Setting, ...]
    approximate_criteria: tuple[str, ...]
    trained_models: tuple[str, ...]
    set_names: dict[str, str]
    criteria: dict[str, dict[str, tuple[str, ...]]]


SectionType = TypeVar("SectionType", bound=Section)


def validate_section(kind: type[SectionType], values: Any, where: str) -> SectionType:
    """Build a section from plain values, or raise `BpdError` naming every faulty key and what was found there."""
    try:
        return kind.model_validate_json(json.dumps(values, default=str))
    except ValidationError as error:
        problems = [_describe(problem) for problem in error.errors()]
        raise BpdError(f"{where}: {len(problems)} problem(s) in the configuration:\n" + "\n".join(problems)) from None


def _describe(problem: Any) -> str:
    unions = {"inverse_square_root", "linear"}
    key = ".".join(str(part) for part in problem["loc"] if part not in unions) or "(top level)"
    found = problem["input"]
    kind = problem["type"]
    if kind == "extra_forbidden":
        return f"  {key}: unknown key"
    if kind == "missing":
        return f"  {key}: missing"
    message = problem["msg"].removeprefix("Value error, ")
    if kind == "value_error":
        return f"  {key}: {message}"
    hint = ""
    if isinstance(found, str) and re.fullmatch(r"[-+]?[\d_.]+([eE][-+]?\d+)?", found):
        hint = "; YAML read this number as text: write it without quotes, and powers of ten as 4.0e-3"
    return f"  {key}: {message}, found {found!r}{hint}"


class _LoaderOfUniqueKeys(yaml.SafeLoader):
    """YAML's own rule, which PyYAML lets pass: a key stands once in its mapping."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        for key, _ in node.value:
            if keys.count(key.value) > 1:
                place = f"line {key.start_mark.line + 1}"
                raise yaml.YAMLError(f"the key '{key.value}' stands twice in one section, the first time in {place}")
        return super().construct_mapping(node, deep)


def read_config_values(path: Path) -> Any:
    """Return the plain values of a YAML config; raise `BpdError` where it cannot be read or names a key twice."""
    try:
        return yaml.load(Path(path).read_text(encoding="utf-8"), _LoaderOfUniqueKeys)
    except OSError as error:
        raise BpdError(f"{path}: cannot read the configuration: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BpdError(f"{path}: not a YAML file: {error}") from None


def load_config(path: Path) -> Config:
    """Read and validate a YAML config file; raise `BpdError` that names the file and every faulty key."""
    return validate_section(Config, read_config_values(path), str(path))
