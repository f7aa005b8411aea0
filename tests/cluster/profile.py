"""The Slurm profile as a person edits it: lines brought to life, numbers changed."""

from __future__ import annotations

import re
from pathlib import Path

from tests.workflow.driver import ROOT

PROFILE = ROOT / "workflow" / "profiles" / "slurm"
# The job's fate is looked up soon, and files are on this machine's own disk.
QUICK = ("--slurm-init-seconds-before-status-checks", "2", "--latency-wait", "5")


def edited_profile(folder: Path, *alive: str, **numbers: int) -> Path:
    """Return a copy in `folder` of the profile, the lines of the keys `alive` uncommented and numbers replaced."""
    text = (PROFILE / "config.yaml").read_text(encoding="utf-8")
    for key in alive:
        text, found = re.subn(rf"^( *)# ((?:- )?{key}[=:])", r"\1\2", text, flags=re.MULTILINE)
        assert found == 1, f"the profile has no commented line for {key}"
    for key, number in numbers.items():
        text, found = re.subn(rf"^( *- {key}=)\d+$", rf"\g<1>{number}", text, flags=re.MULTILINE)
        assert found == 1, f"the profile has no line for {key}"
    made = folder / "profile"
    made.mkdir()
    (made / "config.yaml").write_text(text, encoding="utf-8")
    return made
