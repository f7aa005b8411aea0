"""A small study made from hand-written records, and votes on it."""

import csv
import io

import numpy as np

from bpd.config import SurveySettings
from bpd.evaluation.records import DecodeRecord
from bpd.evaluation.survey import BASELINE, SIDES, Pair, Study, design_study, methods_of
from bpd.evaluation.votes import HEADER

TIME = "2026-01-02T03:04:05.678Z"


def survey_settings(**changes) -> SurveySettings:
    values = {
        "scale": "tiny",
        "block_sizes": (2, 4),
        "criteria": ("exact", "distance2"),
        "seed": 7,
        "pairs_per_method": 5,
        "repeated_pairs": 3,
        "bootstrap_samples": 500,
    }
    return SurveySettings(**(values | changes))


def records(seed: int, images: int = 8, prefix: str = "face") -> list[DecodeRecord]:
    random = np.random.default_rng(seed)
    return [
        DecodeRecord(index, random.integers(0, 256, 12).tolist(), [1] * 12, 12, 12, "length", 0.1, f"{prefix}{index}")
        for index in range(images)
    ]


def decoded(settings: SurveySettings, images: int = 8) -> dict:
    places = [BASELINE, *((method.model, method.criterion) for method in methods_of(settings))]
    return {place: records(seed, images) for seed, place in enumerate(places)}


def study(images: int = 8, **changes) -> Study:
    settings = survey_settings(**changes)
    return design_study(settings, decoded(settings, images), {})


def line(study: Study, pair: Pair, rater: str, choice: str) -> list[str]:
    return [study.survey_id, rater, pair.pair, choice, "812", TIME]


def votes_text(lines: list[list[str]]) -> str:
    stream = io.StringIO()
    csv.writer(stream).writerows([HEADER, *lines])
    return stream.getvalue()


def all_for(study: Study, rater: str, method: bool) -> list[list[str]]:
    """Return a rater's votes who always prefers the method, or always the baseline."""
    return [
        line(study, pair, rater, pair.method_side if method else SIDES[1 - SIDES.index(pair.method_side)])
        for pair in study.pairs
    ]
