"""`bpd survey`: from records to page, from votes to Table 3."""

import json
import re
import shutil
import subprocess
import sys

import pandas
import pytest

from bpd import image_grid
from bpd.commands.survey import build_survey, score_votes, write_table3
from bpd.errors import BpdError
from bpd.evaluation.survey import read_study
from tests.commands.test_cli import ENVIRONMENT
from tests.evaluation.example_records import bind
from tests.evaluation.example_study import all_for, votes_text


@pytest.fixture
def built(image_world, tmp_path):
    settings = image_grid.survey_settings(image_world.config)
    study = build_survey(settings, image_world.root, tmp_path / "survey")
    return study, tmp_path / "survey" / "survey.json"


def test_page_and_key_are_written_and_the_key_is_the_study(built):
    study, key = built
    assert read_study(key) == study and len(study.methods) == 2
    assert all(len(sha256) == 64 for sha256 in study.images_sha256.values())
    page = (key.parent / "survey.html").read_text(encoding="utf-8")
    assert study.survey_id in page and page.count("data:image/png") >= 3


def test_the_same_images_are_the_same_study_however_long_they_took(built, image_world, tmp_path):
    study, _ = built
    settings = image_grid.survey_settings(image_world.config)
    shutil.copytree(image_world.root / "super_resolution", tmp_path / "results" / "super_resolution")
    for path in (tmp_path / "results").rglob("*.jsonl"):
        path.write_text(
            re.sub(r'"seconds": [^,]+', '"seconds": 9.5', path.read_text(encoding="utf-8")), encoding="utf-8"
        )
        if path.with_suffix(".meta.json").exists():
            bind(path)
    assert build_survey(settings, tmp_path / "results", tmp_path / "again") == study
    (records,) = (tmp_path / "results").rglob("fine_tuning_k3/decode/*/exact.jsonl")
    first, *others = records.read_text(encoding="utf-8").splitlines()
    changed = json.loads(first)
    changed["token_ids"][0] ^= 1
    records.write_text("\n".join([json.dumps(changed), *others]) + "\n", encoding="utf-8")
    with pytest.raises(BpdError, match=r"exact\.jsonl: .* changed since, or another model's; decode again"):
        build_survey(settings, tmp_path / "results", tmp_path / "other")
    bind(records)
    assert build_survey(settings, tmp_path / "results", tmp_path / "other").survey_id != study.survey_id


def test_votes_become_preferences_and_table_3(built, tmp_path):
    study, key = built
    votes = tmp_path / "ada.csv"
    votes.write_text(votes_text(all_for(study, "ada", True)))
    command = [
        sys.executable,
        "-m",
        "bpd.cli",
        "survey",
        "score",
        "--survey",
        key,
        "--output",
        tmp_path / "p.json",
        votes,
    ]
    said = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=ENVIRONMENT)
    assert said.returncode == 0, said.stderr
    assert "100.0 % (100.0, 100.0)" in said.stdout and "ada: " in said.stdout
    stored = json.loads((tmp_path / "p.json").read_text())
    assert stored["survey_id"] == study.survey_id and list(stored["files"]) == [str(votes)]
    write_table3(key, tmp_path / "p.json", tmp_path / "tables")
    frame = pandas.read_csv(tmp_path / "tables" / "table3.csv")
    voted = frame[frame["votes"] > 0]
    assert len(voted) > 0 and (voted["preference_percent"] == 100.0).all()


def test_faulty_votes_are_refused_together_or_left_out_and_told(built, tmp_path):
    study, key = built
    lines = all_for(study, "ada", True)
    lines[0][3], lines[1][2] = "neither", "p0999"
    votes = tmp_path / "ada.csv"
    votes.write_text(votes_text(lines))
    with pytest.raises(BpdError, match=r"2 faulty lines(.|\n)*line 2: (.|\n)*line 3: "):
        score_votes(key, [votes], tmp_path / "p.json")
    assert not (tmp_path / "p.json").exists()
    result = score_votes(key, [votes], tmp_path / "p.json", skip_faulty=True)
    assert len(result["faults"]) == 2 == len(json.loads((tmp_path / "p.json").read_text())["faults"])
    with pytest.raises(BpdError, match="no files of votes"):
        score_votes(key, [], None)


def test_preferences_of_another_study_are_refused(built, tmp_path):
    _, key = built
    for text, message in (('{"survey_id": "other"}', "votes of survey other"), ("{", "missing or damaged")):
        (tmp_path / "p.json").write_text(text)
        with pytest.raises(BpdError, match=message):
            write_table3(key, tmp_path / "p.json", tmp_path / "tables")
    assert not (tmp_path / "tables").exists()
