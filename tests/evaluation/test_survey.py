"""The study: seeded pairs, sides by lot, repeats with sides exchanged, and nothing that carries no information."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from bpd.errors import BpdError
from bpd.evaluation.survey import BASELINE, design_study, methods_of, read_study
from tests.evaluation.example_study import decoded, records, study, survey_settings


def test_each_method_has_its_pairs_each_image_at_most_once():
    made = study()
    first = [pair for pair in made.pairs if pair.repeat_of is None]
    assert [(method.model, method.criterion) for method in made.methods] == [
        ("fine_tuning_k2", "exact"),
        ("fine_tuning_k4", "exact"),
        ("fine_tuning_k2", "distance2"),
        ("fine_tuning_k4", "distance2"),
    ]
    assert Counter(pair.method for pair in first) == dict.fromkeys(range(4), 5)
    assert len({(pair.method, pair.image) for pair in first}) == 20
    assert all(pair.name == f"face{pair.image}" for pair in made.pairs)
    assert [pair.pair for pair in made.pairs] == [f"p{number:04d}" for number in range(1, 24)]


def test_the_study_is_a_function_of_its_seed_and_records():
    assert study() == study() and study().survey_id == study().survey_id
    assert study(seed=8).pairs != study().pairs
    settings = survey_settings()
    assert design_study(settings, decoded(settings), {"a": "1"}).survey_id != study().survey_id


def test_repeats_come_last_with_their_sides_exchanged():
    made = study()
    by_name = {pair.pair: pair for pair in made.pairs}
    repeats = made.pairs[20:]
    assert len(repeats) == 3 and len({pair.repeat_of for pair in repeats}) == 3
    for pair in repeats:
        first = by_name[pair.repeat_of]
        assert (pair.method, pair.image) == (first.method, first.image) and pair.method_side != first.method_side


def test_sides_are_permuted_evenly_and_methods_are_mixed():
    made = study(images=300, pairs_per_method=250, repeated_pairs=0)
    left = sum(pair.method_side == "left" for pair in made.pairs)
    assert 430 < left < 570, "of 1000"
    assert len({pair.method for pair in made.pairs[:20]}) > 1


def test_images_like_the_baselines_are_never_shown_and_are_counted():
    settings = survey_settings()
    all_records = decoded(settings)
    baseline = all_records[BASELINE]
    method = ("fine_tuning_k4", "exact")
    all_records[method] = [
        replace(record, token_ids=baseline[record.index].token_ids) if record.index < 6 else record
        for record in all_records[method]
    ]
    all_records["fine_tuning_k2", "exact"] = baseline
    made = design_study(settings, all_records, {})
    assert made.identical == (8, 6, 0, 0)
    shown = Counter(pair.method for pair in made.pairs if pair.repeat_of is None)
    assert shown == {1: 2, 2: 5, 3: 5}
    assert {pair.image for pair in made.pairs if pair.method == 1} == {6, 7}


def test_records_of_other_images_are_refused():
    settings = survey_settings()
    all_records = decoded(settings)
    all_records["fine_tuning_k2", "distance2"] = records(3, prefix="other")
    with pytest.raises(BpdError, match="fine_tuning_k2 distance2 was decoded from other images than regular_k1 exact"):
        design_study(settings, all_records, {})


def test_a_study_is_read_back_and_a_changed_one_refused(tmp_path):
    made, path = study(), tmp_path / "survey.json"
    path.write_text(json.dumps(made.as_json() | {"commit": None}))
    assert read_study(path) == made
    values = made.as_json()
    values["pairs"][0]["method_side"] = "left" if values["pairs"][0]["method_side"] == "right" else "right"
    for text, message in (
        (json.dumps(values, default=str), "changed since it was built"),
        ("{", "not a study"),
        ("[]", "not a study"),
        ("{}", "not a study"),
    ):
        path.write_text(text)
        with pytest.raises(BpdError, match=message):
            read_study(path)
    with pytest.raises(BpdError, match="cannot read the study"):
        read_study(tmp_path / "nowhere.json")


def test_without_fine_tuned_models_there_is_nothing_to_compare():
    assert methods_of(survey_settings(block_sizes=())) == ()
