"""A finished run of the whole workflow on a tiny config, shared by the tests of one process."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.commands.conftest import CONFIG, TRAINING
from tests.workflow.driver import snakemake


@dataclass(frozen=True)
class FinishedRun:
    """The folder that a run worked in, and its config file."""

    folder: Path
    config: Path


def tiny_config() -> dict:
    values = deepcopy(CONFIG)
    values["translation"]["heads"]["block_sizes"] = [3]
    values["translation"]["base"]["training"] = TRAINING | {"steps": 80, "evaluate_every": 80}
    return values


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    folder = tmp_path_factory.mktemp("workflow")
    config = folder / "tiny.yaml"
    config.write_text(yaml.safe_dump(tiny_config()))
    result = snakemake("--configfile", config, folder=folder)
    assert result.returncode == 0, result.stdout + result.stderr
    return FinishedRun(folder, config)
