"""What a run ends with, as far as a second run must end with the same."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

# What holds times, or is made of them, is never twice the same.
TIMED = ("cost", "figure4", "scorecard", "speed_by_batch", "table4", "time_shares")


def fingerprints(results: Path) -> dict[str, str]:
    """Return the hash of everything in a folder of results that a second run must make again, by its path."""
    made = {}
    for path in sorted(results.rglob("*")):
        place = path.relative_to(results)
        table = place.parts[0] == "tables" and path.suffix in (".csv", ".md") and path.stem not in TIMED
        if table or path.name in ("model.safetensors", "survey.html", "trace.json"):
            made[str(place)] = path.read_bytes()
        elif path.suffix == ".jsonl" and "decode" in place.parts:
            records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            made[str(place)] = json.dumps([record | {"seconds": None} for record in records]).encode()
    return {place: hashlib.sha256(content).hexdigest() for place, content in made.items()}


def differences(expected: dict[str, str], results: Path) -> list[str]:
    """Return the paths in which a run's `results` are not as `expected`, missing and added ones too."""
    found = fingerprints(results)
    return sorted(place for place in expected | found if expected.get(place) != found.get(place))
