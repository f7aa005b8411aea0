"""The human-preference study of Table 3: which pairs of images people are shown, and on which sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bpd.config import SurveySettings
from bpd.errors import BpdError
from bpd.evaluation.records import DecodeRecord
from bpd.fingerprints import value_sha256
from bpd.stored_json import read_json

QUESTION = "Which image was more likely taken by a camera?"
BASELINE = ("regular_k1", "exact")
_MOST = 10_000_000
SIDES = ("left", "right")


@dataclass(frozen=True)
class Method:
    """A way of decoding that is compared with the baseline: a fine-tuned model and a criterion (a row of Table 3)."""

    model: str
    criterion: str
    block_size: int


@dataclass(frozen=True)
class Pair:
    """Two images made from one input: `method` is a place in the study's methods, `method_side` where its image stands.

    `repeat_of` names the pair that this one shows again, sides exchanged.
    """

    pair: str
    method: int
    image: int
    name: str
    method_side: str
    repeat_of: str | None


@dataclass(frozen=True)
class Study:
    """A whole study; `identical` counts for each method the images that equal the baseline's and are never shown."""

    scale: str
    seed: int
    bootstrap_samples: int
    methods: tuple[Method, ...]
    identical: tuple[int, ...]
    images_sha256: dict[str, str]
    pairs: tuple[Pair, ...]

    @property
    def survey_id(self) -> str:
        """The study's fingerprint, 16 hexadecimal digits: votes of another one are refused."""
        return value_sha256(asdict(self))[:16]

    def as_json(self) -> dict[str, Any]:
        """Return the study as `survey.json` holds it."""
        return {"survey_id": self.survey_id, "question": QUESTION, **asdict(self)}


def methods_of(settings: SurveySettings) -> tuple[Method, ...]:
    """Return the study's methods in Table 3's order: by criterion, then by block size."""
    return tuple(
        Method(f"fine_tuning_k{block_size}", criterion, block_size)
        for criterion in settings.criteria
        for block_size in settings.block_sizes
    )


def design_study(
    settings: SurveySettings,
    decoded: Mapping[tuple[str, str], Sequence[DecodeRecord]],
    images_sha256: dict[str, str],
) -> Study:
    """Draw the study's pairs from the records of the baseline and of every method.

    For each method `pairs_per_method` images are drawn (all that differ from the baseline's, if there are fewer), the
    pairs of all methods are shuffled and each gets its sides by lot; `repeated_pairs` of them come again at the end.
    All is a function of settings and records. Raises `BpdError` unless all records are of the same images.
    """
    methods = methods_of(settings)
    names = [record.text for record in decoded[BASELINE]]
    random = np.random.default_rng(settings.seed)
    drawn, identical = [], []
    for place, method in enumerate(methods):
        records = decoded[method.model, method.criterion]
        if [record.text for record in records] != names:
            raise BpdError(
                f"{method.model} {method.criterion} was decoded from other images than {' '.join(BASELINE)}; "
                "decode both again"
            )
        differing = [one.index for one, other in zip(records, decoded[BASELINE]) if one.token_ids != other.token_ids]
        identical.append(len(records) - len(differing))
        chosen = random.permutation(differing)[: settings.pairs_per_method]
        drawn += [(place, int(image)) for image in chosen]
    order = random.permutation(len(drawn))
    sides = random.integers(2, size=len(drawn))
    pairs = [
        Pair(f"p{number:04d}", *drawn[which], names[drawn[which][1]], SIDES[sides[which]], None)
        for number, which in enumerate(order, start=1)
    ]
    again = random.permutation(len(pairs))[: settings.repeated_pairs]
    for number, which in enumerate(again, start=len(pairs) + 1):
        first = pairs[which]
        other_side = SIDES[1 - SIDES.index(first.method_side)]
        pairs.append(Pair(f"p{number:04d}", first.method, first.image, first.name, other_side, first.pair))
    return Study(
        settings.scale,
        settings.seed,
        settings.bootstrap_samples,
        methods,
        tuple(identical),
        images_sha256,
        tuple(pairs),
    )


def _require_sound(study: Study) -> None:
    """Raise `ValueError` unless every part of a study is of its kind, and every pair of one of its methods."""
    counts = (study.seed, study.bootstrap_samples, *study.identical, *(method.block_size for method in study.methods))
    texts = [study.scale]
    for method in study.methods:
        texts += [method.model, method.criterion]
    for pair in study.pairs:
        texts += [pair.pair, pair.name, *([] if pair.repeat_of is None else [pair.repeat_of])]
        if type(pair.method) is not int or not 0 <= pair.method < len(study.methods) or pair.method_side not in SIDES:
            raise ValueError(f"{pair}")
    if not all(type(count) is int and 0 <= count < _MOST for count in counts) or study.bootstrap_samples < 1:
        raise ValueError(f"{counts}")
    if not all(isinstance(text, str) for text in texts) or len(study.identical) != len(study.methods):
        raise ValueError("texts")


def read_study(path: Path) -> Study:
    """Read the study in `survey.json`; raise `BpdError` where it is damaged or was changed by hand."""
    try:
        stored = read_json(path)
        study = Study(
            stored["scale"],
            stored["seed"],
            stored["bootstrap_samples"],
            tuple(Method(**values) for values in stored["methods"]),
            tuple(stored["identical"]),
            stored["images_sha256"],
            tuple(Pair(**values) for values in stored["pairs"]),
        )
        same = study.survey_id == stored["survey_id"]
        _require_sound(study)
    except OSError as error:
        raise BpdError(f"{path}: cannot read the study: {error.strerror}; run `bpd survey build`") from None
    except (ValueError, KeyError, TypeError):
        raise BpdError(f"{path}: not a study; run `bpd survey build` again") from None
    if not same:
        raise BpdError(f"{path}: changed since it was built; run `bpd survey build` again")
    return study
