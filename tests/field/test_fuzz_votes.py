"""Foreign votes: what raters hand in, the key of a study, and votes that were scored."""

import contextlib
import json

import pytest
from hypothesis import example, given

from bpd.evaluation.survey import Study
from bpd.fingerprints import value_sha256
from tests.evaluation.example_study import all_for, study, votes_text
from tests.field.driver import bpd, refused
from tests.field.fuzzing import as_json, call, changed, foreign, foreign_json, fuzzed, scratch

STUDY = study()
KEY = STUDY.as_json()
VALID = votes_text(all_for(STUDY, "ada", True)).encode()


def _scored() -> dict:
    with scratch() as folder:
        (folder / "survey.json").write_bytes(as_json(KEY))
        (folder / "votes.csv").write_bytes(VALID)
        words = ["--survey", folder / "survey.json", "--output", folder / "preference.json"]
        assert call("survey", "score", folder / "votes.csv", *words).status == 0
        return json.loads((folder / "preference.json").read_text())


SCORED = _scored()


def resealed(values: object) -> bytes:
    """Return a key with the fingerprint of what it holds now, as somebody who means it would."""
    if isinstance(values, dict):
        names = [name for name in Study.__dataclass_fields__ if name in values]
        with contextlib.suppress(ValueError):
            values["survey_id"] = value_sha256({name: values[name] for name in names})[:16]
    return as_json(values)


@pytest.mark.parametrize("words", [[], ["--skip-faulty"]], ids=["strict", "skipping"])
@fuzzed(60)
@given(content=foreign(VALID))
@example(content=b"\xff")
@example(content=b"\xef\xbb\xbf" + VALID)
@example(content=VALID.replace(b"ada", b"<script>alert(1)</script>"))
@example(content=VALID.replace(b"ada", b"\x1b[2J"))
@example(content=VALID.replace(b"ada", b'"' + b"x" * 200_000 + b'"'))
@example(content=VALID.replace(b"2026-01-02", b"9999-99-99"))
def test_fuzz_votes_are_counted_or_refused_by_name_and_line(words, content):
    with scratch() as folder:
        key, path, output = folder / "survey.json", folder / "votes.csv", folder / "preference.json"
        key.write_bytes(as_json(KEY))
        path.write_bytes(content)
        outcome = call("survey", "score", path, "--survey", key, "--output", output, *words)
        if outcome.is_well(path, folder=folder):
            assert all(found["votes"] <= len(STUDY.pairs) for found in json.loads(output.read_text())["methods"])
            assert "\x1b" not in outcome.printed
        else:
            assert not output.exists()


@fuzzed(100)
@given(changed(KEY).map(resealed))
@example(as_json(KEY)[:-1])
@example(b"[" * 100_000)
def test_fuzz_a_study_is_read_or_refused_by_name(content):
    with scratch() as folder:
        key, path = folder / "survey.json", folder / "votes.csv"
        key.write_bytes(content)
        path.write_bytes(VALID)
        call("survey", "score", path, "--survey", key).is_well(key, path)
        call("survey", "table", "--survey", key, "--output", folder / "tables").is_well(key, folder=folder)


@fuzzed(60)
@given(foreign_json(SCORED))
@example(as_json({"survey_id": STUDY.survey_id}))
@example(as_json({"survey_id": STUDY.survey_id, "methods": [], "raters": {}, "faults": []}))
def test_fuzz_scored_votes_become_table_3_or_are_refused_by_name(content):
    with scratch() as folder:
        key, path = folder / "survey.json", folder / "preference.json"
        key.write_bytes(as_json(KEY))
        path.write_bytes(content)
        outcome = call("survey", "table", "--survey", key, "--preference", path, "--output", folder / "tables")
        if not outcome.is_well(path, folder=folder):
            assert not (folder / "tables").exists()


def test_fuzz_a_person_sees_no_traceback_of_votes_that_are_none(tmp_path):
    (tmp_path / "survey.json").write_bytes(as_json(KEY))
    (tmp_path / "votes.csv").write_bytes(b"\x00\xff")
    refused(bpd("survey", "score", tmp_path / "votes.csv", "--survey", tmp_path / "survey.json"), "votes.csv")
