"""`bpd scorecard`: every number and claim of the paper held against the finished tables."""

from __future__ import annotations

from pathlib import Path

from bpd.config import ScorecardSettings
from bpd.report.scorecard import scorecard, write_scorecard_files


def write_scorecard(settings: ScorecardSettings, tables: Path, trace: Path) -> list[Path]:
    """Write the scorecard of the tables in `tables` beside them; return the paths."""
    return write_scorecard_files(scorecard(Path(tables), Path(trace), settings), settings, Path(tables))
