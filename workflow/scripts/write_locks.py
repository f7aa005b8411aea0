"""Write the lock files from pyproject.toml: exact versions with hashes.

PyTorch comes in two builds. `requirements-cpu.lock` names the one without CUDA, which its makers publish apart: it is
taken where pip is offered it and there is no card. PyTorch's CUDA libraries, several GB, go into
`requirements-cuda.lock`: they are installed only where the PyTorch that came in asks for them. All else is in
`requirements.lock`. What the benchmark suite compares with, and needs beyond that, is in `requirements-bench.lock`.
Needs `uv`; run it with `make lock` after changing a version in pyproject.toml.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CUDA = re.compile(r"^(nvidia-|cuda-|triton==)")
# The build without CUDA for Python 3.11 on Linux x86_64.
TORCH, TORCH_CPU_HASH = "torch==2.13.0", "6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b"
# transformers wants this for models of other kinds than the suite's, and imports without it.
UNUSED = "kernels ; sys_platform == 'never'"
HEADER = "# Written by workflow/scripts/write_locks.py; do not edit.\n"


def main() -> None:
    """Compile, split and write the locks."""
    build = re.search(r'requires = \["(setuptools==[^"]+)"\]', (ROOT / "pyproject.toml").read_text()).group(1)
    entries = compiled("--extra", "dev", "--extra", "docs", "--extra", "slurm", "-", more=build)
    if not any(entry.startswith(f"{TORCH} ") for entry in entries):
        sys.exit(f"pyproject.toml no longer has {TORCH}: name the new version and its build without CUDA in {__file__}")
    cpu_hash = f" \\\n    --hash=sha256:{TORCH_CPU_HASH}"
    write(
        "requirements.lock",
        [entry + cpu_hash * entry.startswith(f"{TORCH} ") for entry in entries if not CUDA.match(entry)],
    )
    write("requirements-cpu.lock", [f"{TORCH}+cpu{cpu_hash}"])
    write("requirements-cuda.lock", [entry for entry in entries if CUDA.match(entry)])
    write_peers({name_of(entry) for entry in entries})


def write_peers(others: set[str]) -> None:
    """Write the lock of the benchmark suite's peers, without the packages `others`, whose versions they must accept."""
    with tempfile.TemporaryDirectory() as place:
        override = Path(place) / "override.txt"
        override.write_text(UNUSED + "\n")
        constraint = ["--constraint", "requirements.lock", "--override", str(override)]
        entries = compiled("--extra", "bench", *constraint)
    wanted = [entry for entry in entries if "'never'" not in entry and not CUDA.match(entry)]
    write("requirements-bench.lock", [entry for entry in wanted if name_of(entry) not in others])


def compiled(*words: str, more: str = "") -> list[str]:
    """Return the entries, with hashes, that pyproject.toml and the requirements `more` resolve to."""
    command = ["uv", "pip", "compile", "pyproject.toml", "--universal", "--generate-hashes"]
    command += ["--no-header", "--no-annotate", "--quiet", *words]
    result = subprocess.run(command, cwd=ROOT, input=more, capture_output=True, text=True)
    if result.returncode:
        sys.exit(result.stderr)
    return re.split(r"\n(?=[a-z0-9])", result.stdout.strip())


def name_of(entry: str) -> str:
    """Return the package that an entry of a lock names."""
    return entry.split("==")[0]


def write(name: str, entries: list[str]) -> None:
    """Write one lock file."""
    (ROOT / name).write_text(HEADER + "\n".join(entries) + "\n")
    print(f"{name}: {len(entries)} packages")


if __name__ == "__main__":
    main()
