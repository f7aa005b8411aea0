"""Write requirements.lock and requirements-cuda.lock from pyproject.toml: exact versions with hashes.

PyTorch's CUDA libraries, several GB, go into a lock of their own: they are installed only where the PyTorch that the
first lock brought asks for them. Needs `uv`; run it with `make lock` after changing a version in pyproject.toml.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CUDA = re.compile(r"^(nvidia-|cuda-|triton==)")
# PyTorch's own CPU build for Python 3.11 on Linux x86_64, as its makers publish it beside the CUDA build.
FURTHER_HASHES = {"torch==2.13.0": ["6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b"]}
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
    for name, wanted in (("requirements.lock", False), ("requirements-cuda.lock", True)):
        kept = [with_further_hashes(entry) for entry in entries if bool(CUDA.match(entry)) == wanted]
        (ROOT / name).write_text(HEADER + "\n".join(kept) + "\n")
        print(f"{name}: {len(kept)} packages")


def with_further_hashes(entry: str) -> str:
    """Return a lock entry with the hashes of builds that the registry does not list."""
    for requirement, hashes in FURTHER_HASHES.items():
        if entry.startswith(requirement):
            entry += "".join(f" \\\n    --hash=sha256:{value}" for value in hashes)
    return entry


if __name__ == "__main__":
    main()
