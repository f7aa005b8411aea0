"""What the suite was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch


@dataclass(frozen=True)
class Options:
    """How much is measured where: `quick` for whether it works, `repeats` turns of each arm, on `device`.

    `results` is the folder of the run whose workflow times are read.
    """

    device: torch.device
    results: Path
    quick: bool = False
    repeats: int = 5

    def turns(self, seconds: float) -> int:
        """Return how many turns to take where one takes about `seconds`: never fewer than five but when quick."""
        if self.quick:
            return 3
        return max(self.repeats, min(15, int(10 / max(seconds, 0.01))))
