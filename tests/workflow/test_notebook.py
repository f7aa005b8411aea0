"""The notebook: stored without outputs, and run from its first cell to its last on a finished run."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.workflow.driver import ROOT

pytestmark = pytest.mark.xdist_group("finished_run")

PATH = ROOT / "docs" / "notebooks" / "accepted_blocks.ipynb"
SMOKE = {
    "translation": "results/smoke/translation/both_k4",
    "super_resolution": "results/smoke/super_resolution/fine_tuning_k4",
}


def notebook(models: dict[str, Path | str]) -> nbformat.NotebookNode:
    """Return the notebook with the folders of other models."""
    found = nbformat.read(PATH, as_version=4)
    first = next(cell for cell in found.cells if cell.cell_type == "code")
    for task, folder in models.items():
        assert first.source.count(f'"{SMOKE[task]}"') == 1
        first.source = first.source.replace(SMOKE[task], str(folder))
    return found


def test_it_is_stored_without_outputs_and_reads_a_smoke_run():
    cells = notebook(SMOKE).cells
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells if cell.cell_type == "code")
    assert all(cell.metadata == {} for cell in cells)


def test_it_draws_the_accepted_blocks_of_a_finished_run(finished_run, tmp_path, monkeypatch):
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    results = finished_run.folder / "results" / "tiny"
    models = {
        "translation": results / "translation/both_k3",
        "super_resolution": results / "super_resolution/fine_tuning_k3",
    }
    ran = notebook(models)
    NotebookClient(
        ran, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(PATH.parent)}}
    ).execute()
    outputs = [output for cell in ran.cells if cell.cell_type == "code" for output in cell.outputs]
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 4
    said = " ".join(output.text for output in outputs if output.output_type == "stream" and output.name == "stdout")
    assert "both_k3, scale tiny: k = 3" in said
    (criteria,) = [output.data["text/plain"] for output in outputs if "unlike greedy" in str(output.get("data", {}))]
    exact = next(line for line in criteria.splitlines() if line.startswith("exact"))
    assert exact.split()[-1] == "0" and 1 <= float(exact.split()[-2]) <= 3
