"""The translation half of a configuration."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from bpd.config.measuring import TimingConfig
from bpd.config.section import (
    CriterionName,
    LayerCount,
    PositiveInt,
    Precision,
    Probability,
    RemoteFile,
    Section,
    Seed,
    ShardCount,
    require_known_files,
)
from bpd.config.training import BaseConfig, HeadsConfig, TrainingConfig

Setting = Literal["regular", "distillation", "fine_tuning", "both"]
Corpus = Literal["gold", "distilled"]

SETTINGS: tuple[Setting, ...] = ("regular", "distillation", "fine_tuning", "both")
FROZEN_SETTINGS: tuple[Setting, ...] = ("regular", "distillation")
DISTILLED_SETTINGS: tuple[Setting, ...] = ("distillation", "both")


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
    files: Annotated[dict[str, RemoteFile], Field(default_factory=dict)]

    @model_validator(mode="after")
    def _generated_belongs_to_its_source(self) -> Self:
        if (self.source == "generated") != (self.generated is not None):
            raise ValueError("the section 'generated' must be given exactly when source is 'generated'")
        return self

    @model_validator(mode="after")
    def _files_are_known(self) -> Self:
        require_known_files(self.files)
        return self


class TransformerConfig(Section):
    """Shape and regularisation of the encoder–decoder Transformer."""

    d_model: PositiveInt
    d_ff: PositiveInt
    attention_heads: PositiveInt
    encoder_layers: LayerCount
    decoder_layers: LayerCount
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


class DistillationConfig(Section):
    """Sequence-level distillation by beam search of a teacher that differs from the base in its seed only."""

    teacher_seed: Seed
    beam_size: PositiveInt
    length_penalty: Annotated[float, Field(ge=0)]
    shards: ShardCount


class DecodingConfig(Section):
    """How trained models are decoded on the dev and test sets."""

    max_extra_tokens: PositiveInt
    approximate_criteria: tuple[CriterionName, ...]
    baseline_beam_size: PositiveInt
    baseline_length_penalty: Annotated[float, Field(ge=0)]
    precision: Precision


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
    base: BaseConfig[TrainingConfig]
    distillation: DistillationConfig
    heads: HeadsConfig[Setting, TrainingConfig]
    decoding: DecodingConfig
    trace: TraceConfig
    timing: TimingConfig

    @model_validator(mode="after")
    def _combinations_are_possible(self) -> Self:
        if max(self.heads.block_sizes) == 1 and not set(self.heads.settings) & set(FROZEN_SETTINGS):
            raise ValueError(
                "heads.block_sizes and heads.settings give no model: k = 1 is trained over a frozen base only"
            )
        if self.distillation.teacher_seed == self.base.seed:
            raise ValueError("distillation.teacher_seed equals base.seed: the teacher must be another model")
        if self.data.generated is not None:
            self.timing.require_batches_within(self.data.generated.test_pairs, "data.generated.test_pairs")
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
