"""Exit with status 0 where the installed PyTorch asks for CUDA libraries that are to be installed beside it."""

import importlib.metadata
import platform
import sys

needs = [name for name in importlib.metadata.requires("torch") or () if name.startswith(("nvidia-", "cuda-"))]
sys.exit(0 if needs and platform.system() == "Linux" else 1)
