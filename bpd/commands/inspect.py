"""`bpd inspect`: what is in a model folder."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from bpd.models.model_folder import load_model


def inspect(folder: Path) -> dict[str, Any]:
    """Return settings, provenance, and shape, type and SHA-256 of each tensor of the model in `folder`."""
    stored = load_model(folder)
    tensors = {
        name: {
            "shape": list(value.shape),
            "type": str(value.dtype).removeprefix("torch."),
            "sha256": hashlib.sha256(value.detach().contiguous().numpy().tobytes()).hexdigest(),
        }
        for name, value in sorted(stored.model.state_dict().items())
    }
    return {
        "folder": str(folder),
        "settings": stored.settings.model_dump(mode="json"),
        "provenance": stored.provenance,
        "tensors": tensors,
    }


def format_inspection(inspection: dict[str, Any]) -> str:
    """Return an inspection as text for a terminal: a line a tensor, then settings and provenance as JSON."""
    lines = [inspection["folder"], ""]
    for name, tensor in inspection["tensors"].items():
        shape = "×".join(str(size) for size in tensor["shape"]) or "scalar"
        lines.append(f"{tensor['sha256'][:16]}  {tensor['type']:8} {shape:>12}  {name}")
    for part in ("settings", "provenance"):
        lines += ["", f"{part}:", json.dumps(inspection[part], indent=2, ensure_ascii=False)]
    return "\n".join(lines)
