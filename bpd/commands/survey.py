"""`bpd survey`: build the page of the preference study, score its votes, and write Table 3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from bpd.atomic import write_json, write_text
from bpd.config import SurveySettings
from bpd.data.raster import to_image
from bpd.errors import BpdError
from bpd.evaluation.meta import read_decoding
from bpd.evaluation.preference import consistency, preferences, require_preference
from bpd.evaluation.records import DecodeRecord
from bpd.evaluation.survey import BASELINE, Study, design_study, methods_of, read_study
from bpd.evaluation.votes import read_votes
from bpd.fingerprints import file_sha256, value_sha256
from bpd.image_grid import DEV_SET
from bpd.provenance import commit
from bpd.report.survey_page import survey_page
from bpd.report.table3 import table3
from bpd.stored_json import read_json

PAGE, STUDY = "survey.html", "survey.json"
_NAMED_FAULTS = 30


def build_survey(settings: SurveySettings, results: Path, output: Path) -> Study:
    """Write `survey.html`, to be shown to people, and `survey.json`, its key, into `output`; return the study."""
    paths = {
        place: Path(results) / "super_resolution" / place[0] / "decode" / DEV_SET / f"{place[1]}.jsonl"
        for place in [BASELINE, *((method.model, method.criterion) for method in methods_of(settings))]
    }
    decoded = {place: read_decoding(path) for place, path in paths.items()}
    # Of what people see: how long the images took may differ in another run, and votes still count.
    images_sha256 = {
        " ".join(place): value_sha256([[record.text, record.token_ids] for record in records])
        for place, records in decoded.items()
    }
    study = design_study(settings, decoded, images_sha256)
    images = {}
    for pair in study.pairs:
        method = study.methods[pair.method]
        for key, place in ((str(pair.method), (method.model, method.criterion)), ("baseline", BASELINE)):
            images[key, pair.image] = _image(decoded[place][pair.image], paths[place])
    output = Path(output)
    (output / STUDY).unlink(missing_ok=True)
    write_text(output / PAGE, survey_page(study, images))
    write_json(output / STUDY, study.as_json() | commit())
    return study


def score_votes(survey: Path, votes: Sequence[Path], output: Path | None, skip_faulty: bool = False) -> dict[str, Any]:
    """Merge files of votes, and return and store how often each method was preferred.

    Raises `BpdError`, with every faulty line, unless `skip_faulty` leaves such lines out and stores what they were.
    """
    study = read_study(Path(survey))
    if not votes:
        raise BpdError("no files of votes were given")
    merged = read_votes(votes, study)
    if merged.faults and not skip_faulty:
        more = len(merged.faults) - _NAMED_FAULTS
        told = merged.faults[:_NAMED_FAULTS] + ([f"… and {more} more"] if more > 0 else [])
        raise BpdError(
            f"{len(merged.faults)} faulty lines of votes; correct or remove them, or leave them out with "
            "--skip-faulty:\n" + "\n".join(told)
        )
    result = {
        "survey_id": study.survey_id,
        "methods": [
            {**asdict(study.methods[found.method]), **asdict(found), "identical_images": study.identical[found.method]}
            for found in preferences(study, merged.votes)
        ],
        "raters": consistency(study, merged.votes),
        "repeated_lines": merged.repeated_lines,
        "faults": merged.faults,
        "files": {str(path): file_sha256(Path(path)) for path in votes},
        **commit(),
    }
    if output is not None:
        write_json(Path(output), result)
    return result


def write_table3(survey: Path, preference: Path | None, output: Path) -> list[Path]:
    """Write Table 3 into `output`, with our numbers where `preference` holds scored votes; return the paths."""
    study = read_study(Path(survey))
    scored = None
    if preference is not None:
        try:
            scored = read_json(Path(preference))
            same = scored["survey_id"] == study.survey_id
            if same:
                require_preference(scored, len(study.methods))
        except (OSError, ValueError, KeyError, TypeError):
            raise BpdError(f"{preference}: missing or damaged; run `bpd survey score` again") from None
        if not same:
            found = str(scored["survey_id"])[:100]
            raise BpdError(f"{preference}: votes of survey {found}, but {survey} is {study.survey_id}")
    return table3(study, scored).write(Path(output))


def _image(record: DecodeRecord, path: Path) -> np.ndarray:
    size = round((len(record.token_ids) / 3) ** 0.5)
    try:
        return to_image(record.token_ids, size)
    except BpdError as problem:
        raise BpdError(f"{path}: record {record.index}: {problem}; decode again") from None
