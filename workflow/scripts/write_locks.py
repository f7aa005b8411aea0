"""Write the lock files from pyproject.toml: exact versions with hashes.

PyTorch comes in two builds. `requirements-cpu.lock` names the one without CUDA, which its makers publish apart: it is
taken where pip is offered it and there is no card. PyTorch's CUDA libraries, several GB, go into
`requirements-cuda.lock`: they are installed only where the PyTorch that came in asks for them. All else is in
`requirements.lock`. Needs `uv`; run it with `make lock` after changing a version in pyproject.toml.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CUDA = re.compile(r"^(nvidia-|cuda-|triton==)")
# The build without CUDA for Python 3.11 on Linux x86_64.
TORCH, TORCH_CPU_HASH = "torch==2.13.0", "6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b"
HEADER = "# Written by workflow/scripts/write_locks.py; do not edit.\n"


def main() -> None:
    """Compile, split and write the locks."""
    command = ["uv", "pip", "compile", "pyproject.toml", "--extra", "dev", "--extra", "slurm", "--universal"]
    command += ["--generate-hashes", "--no-header", "--no-annotate", "--quiet", "-"]
    build = re.search(r'requires = \["(setuptools==[^"]+)"\]', (ROOT / "pyproject.toml").read_text()).group(1)
    compiled = subprocess.run(command, cwd=ROOT, input=build, capture_output=True, text=True)
    if compiled.returncode:
        sys.exit(compiled.stderr)
    entries = re.split(r"\n(?=[a-z0-9])", compiled.stdout.strip())
    if not any(entry.startswith(f"{TORCH} ") for entry in entries):
        sys.exit(f"pyproject.toml no longer has {TORCH}: name the new version and its build without CUDA in {__file__}")
    cpu_hash = f" \\\n    --hash=sha256:{TORCH_CPU_HASH}"
    locks = {
        "requirements.lock": [
            entry + cpu_hash * entry.startswith(f"{TORCH} ") for entry in entries if not CUDA.match(entry)
        ],
        "requirements-cpu.lock": [f"{TORCH}+cpu{cpu_hash}"],
        "requirements-cuda.lock": [entry for entry in entries if CUDA.match(entry)],
    }
    for name, kept in locks.items():
        (ROOT / name).write_text(HEADER + "\n".join(kept) + "\n")
        print(f"{name}: {len(kept)} packages")


if __name__ == "__main__":
    main()
