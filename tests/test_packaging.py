"""Packaging: one set of versions everywhere, locks that are complete, and a Makefile that explains itself."""

import importlib.metadata
import importlib.resources
import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import bpd

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CUDA = ("nvidia-", "cuda-", "triton")


def pinned(requirements: list[str]) -> dict[str, str]:
    """Return versions by name of requirements that all pin one."""
    found = {}
    for text in requirements:
        requirement = Requirement(text)
        (specifier,) = requirement.specifier
        assert specifier.operator == "==", text
        found[canonicalize_name(requirement.name)] = specifier.version
    return found


def declared() -> dict[str, str]:
    """Return the declared versions by name, but for the benchmark suite's peers, which are installed apart."""
    project = PROJECT["project"]
    extras = [text for name, extra in project["optional-dependencies"].items() if name != "bench" for text in extra]
    return pinned([*project["dependencies"], *extras])


def lock_entries(name: str) -> list[tuple[Requirement, list[str]]]:
    """Return the requirements of a lock file, each with its hashes."""
    text = (ROOT / name).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [
        (Requirement(line.split("--hash")[0]), re.findall(r"--hash=sha256:([0-9a-f]{64})\b", line)) for line in lines
    ]


def locked(name: str) -> dict[str, str]:
    """Return the versions by name that a lock file installs here."""
    entries = [requirement for requirement, _ in lock_entries(name)]
    return pinned([str(one) for one in entries if one.marker is None or one.marker.evaluate()])


def test_the_lock_has_the_declared_versions_and_the_build_backend():
    wanted = declared() | pinned(PROJECT["build-system"]["requires"])
    lock = locked("requirements.lock")
    assert {name: lock.get(name) for name in wanted} == wanted


def test_the_conda_environment_has_the_declared_versions():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    (packages,) = [part["pip"] for part in environment["dependencies"] if isinstance(part, dict)]
    assert pinned(packages) == declared()
    (python,) = [part for part in environment["dependencies"] if str(part).startswith("python=")]
    lowest = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert tuple(map(int, python.removeprefix("python=").split("."))) >= tuple(map(int, lowest.split(".")))


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("requirements.lock", 100),
        ("requirements-cpu.lock", 1),
        ("requirements-cuda.lock", 10),
        ("requirements-bench.lock", 5),
    ],
)
def test_each_entry_of_a_lock_is_pinned_and_hashed_and_names_no_place(name, least):
    entries = lock_entries(name)
    assert len(entries) >= least
    for requirement, hashes in entries:
        assert hashes and requirement.url is None, requirement
        assert [one.operator for one in requirement.specifier] == ["=="], requirement
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "://" not in text and "--index" not in text and "--find-links" not in text


def test_the_lock_is_complete_though_it_is_installed_without_resolving():
    lock = locked("requirements.lock")
    waiting, seen = [*declared(), *pinned(PROJECT["build-system"]["requires"])], set()
    while waiting:
        name = waiting.pop()
        if name in seen or name.startswith(CUDA):
            continue
        seen.add(name)
        assert name in lock, f"{name} is needed, but requirements.lock lacks it: make lock"
        for text in importlib.metadata.requires(name) or []:
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(canonicalize_name(requirement.name))
                version = lock.get(waiting[-1])
                assert version is None or requirement.specifier.contains(version, prereleases=True), (name, text)
    assert len(seen) > 50


def test_the_build_without_cuda_is_the_same_pytorch_and_allowed_by_the_lock_too():
    ((requirement, hashes),) = lock_entries("requirements-cpu.lock")
    assert str(requirement) == f"torch=={declared()['torch']}+cpu"
    (allowed,) = [hashes for one, hashes in lock_entries("requirements.lock") if one.name == "torch"]
    assert set(hashes) < set(allowed)


def test_the_cuda_libraries_are_in_their_own_lock_alone():
    main = {canonicalize_name(requirement.name) for requirement, _ in lock_entries("requirements.lock")}
    cuda = {canonicalize_name(requirement.name) for requirement, _ in lock_entries("requirements-cuda.lock")}
    assert not any(name.startswith(CUDA) for name in main)
    assert all(name.startswith(CUDA) for name in cuda) and "triton" in cuda


def test_the_peers_of_the_benchmark_suite_are_locked_apart():
    peers = locked("requirements-bench.lock")
    wanted = pinned(PROJECT["project"]["optional-dependencies"]["bench"])
    assert {name: peers.get(name) for name in wanted} == wanted
    assert not peers.keys() & locked("requirements.lock").keys()
    assert not any(name.startswith(CUDA) for name in peers)


@pytest.mark.parametrize(
    ("needs", "wanted"),
    [(["filelock", "nvidia-cublas==13.1.1.3; platform_system == 'Linux'"], True), (["filelock"], False)],
)
def test_cuda_libraries_are_wanted_only_where_the_installed_torch_asks_for_them(needs, wanted, tmp_path):
    folder = tmp_path / "torch-2.13.0.dist-info"
    folder.mkdir()
    lines = ["Metadata-Version: 2.1", "Name: torch", "Version: 2.13.0", *(f"Requires-Dist: {need}" for need in needs)]
    (folder / "METADATA").write_text("\n".join(lines) + "\n")
    script = ROOT / "workflow" / "scripts" / "cuda_libraries_wanted.py"
    status = subprocess.run([sys.executable, script], env=os.environ | {"PYTHONPATH": str(tmp_path)}).returncode
    assert status == (0 if wanted and platform.system() == "Linux" else 1)


def test_versions_of_package_and_citation_agree():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == bpd.__version__
    assert citation["license"] == PROJECT["project"]["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_data_files_travel_with_the_package():
    assert importlib.resources.files("bpd").joinpath("report/published.yaml").is_file()
    assert importlib.resources.files("bpd").joinpath("report/survey_page.html").is_file()
    assert importlib.resources.files("bpd").joinpath("planning/assumed_rates.yaml").is_file()
    patterns = ["planning/*.yaml", "report/*.yaml", "report/*.html"]
    assert PROJECT["tool"]["setuptools"]["package-data"]["bpd"] == patterns
    others = [path for path in (ROOT / "bpd").rglob("*") if path.suffix not in (".py", ".pyc") and path.is_file()]
    assert {path.parent.name for path in others} == {"planning", "report"}


@pytest.fixture
def bare_folder(tmp_path: Path) -> Path:
    """A folder with the Makefile and what its first target depends on."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    for path in (ROOT / "Makefile", ROOT / "pyproject.toml", *ROOT.glob("requirements*.lock")):
        shutil.copyfile(path, tmp_path / path.name)
    return tmp_path


def make(*words: str, folder: Path) -> subprocess.CompletedProcess:
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "PYTHON"))}
    return subprocess.run(["make", *words], cwd=folder, capture_output=True, text=True, env=plain)


def test_make_alone_explains_its_targets(bare_folder):
    said = make(folder=bare_folder)
    assert said.returncode == 0
    for target in ("smoke", "mini", "test", "test-cluster", "bench", "lint", "install"):
        assert re.search(rf"^ *make {target} +\S", said.stdout, flags=re.MULTILINE), said.stdout
    assert not (bare_folder / ".venv").exists()


def test_make_refuses_an_old_python_with_the_remedy(bare_folder):
    old = bare_folder / "old_python"
    pretend = "import sys; code = sys.argv[2]; sys.version_info = (3, 9, 1); sys.version = '3.9.1 (old)'; exec(code)"
    old.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{pretend}" "$@"\n')
    old.chmod(0o755)
    said = make("install", f"PYTHON={old}", folder=bare_folder)
    assert said.returncode != 0
    assert "Python 3.11 or newer is needed" in said.stderr and "3.9.1" in said.stderr and "make PYTHON=" in said.stderr
    assert not (bare_folder / ".venv").exists()


def test_continuous_integration_runs_the_tests():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    text = script.read_text(encoding="utf-8")
    assert "set -euo pipefail" in text and {"make test", "make test-cluster"} <= set(map(str.strip, text.splitlines()))
