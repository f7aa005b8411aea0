"""`bpd train` for translation: base, teacher or proposal heads, from prepared data to a model folder."""

from __future__ import annotations

from pathlib import Path

import torch

from bpd.commands.dev_evaluation import DevEvaluation
from bpd.commands.text_set import TextSet
from bpd.commands.training_run import Inputs, run_training
from bpd.config import TrainSettings
from bpd.data.batches import TokenBatches
from bpd.errors import BpdError
from bpd.models.model_folder import VOCABULARY, build_model


def train(
    settings: TrainSettings, data: Path, output: Path, work: Path, base: Path | None, distilled: Path | None
) -> None:
    """Train one translation model, resuming from `work` what an earlier attempt at the very same run left there."""
    if (settings.heads is not None) != (base is not None):
        raise BpdError(f"{settings.model}: proposal heads need --base, and a base model or teacher has none")
    if (settings.corpus == "distilled") != (distilled is not None):
        raise BpdError(f"{settings.model}: the corpus is {settings.corpus}; give --distilled exactly for distilled")
    text = TextSet(data)
    pairs = text.training_pairs(distilled)
    if len(pairs) == 0:
        raise BpdError(f"{distilled or data}: no training pairs left after cleaning; see report.json there")
    torch.manual_seed(settings.seed)
    vocabulary = text.vocabulary
    source, target = text.lines(text.sets["dev"])
    run_training(
        build_model(settings, vocabulary.size),
        settings,
        Inputs(
            {"data": pairs.sha256, "vocabulary": vocabulary.sha256},
            {VOCABULARY: (text.folder / VOCABULARY).read_bytes()},
            vocabulary.size,
        ),
        lambda position: TokenBatches(pairs, settings.training.micro_batch_tokens, settings.seed, position),
        DevEvaluation(vocabulary, source, target, settings.training.evaluate_sentences),
        base=base,
        output=output,
        work=work,
    )
