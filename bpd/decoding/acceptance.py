"""Acceptance criteria (sections 3 and 5): when does p₁ let a proposal pass?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from bpd.errors import BpdError

_NAME = re.compile(r"(exact|top|distance|minimum)(0|[1-9][0-9]*)?")


def best_token(logits: Tensor) -> Tensor:
    """Return the argmax [*] of `logits` [*, vocabulary]; of equally good tokens, the one with the lowest id.

    PyTorch documents this choice for `argmax`, on every device, as it does not for `topk`; tests hold it to that.
    """
    return logits.argmax(dim=-1)


@dataclass(frozen=True)
class Acceptance:
    """A criterion: a rule with its parameter, and a minimum block size ℓ.

    `exact`: the proposal is p₁'s argmax (section 3). `top`: it lies among p₁'s `parameter` best (section 5.1).
    `distance`: it differs from p₁'s argmax by `parameter` at most, tokens being intensities (section 5.2).
    The first ℓ proposals of a block pass without verification (section 5.3); the first one always does.
    Raises `BpdError` for a parameter or a minimum that the rule cannot have.
    """

    rule: Literal["exact", "top", "distance"] = "exact"
    parameter: int = 0
    minimum_block_size: int = 1

    def __post_init__(self) -> None:
        least = {"exact": 0, "top": 1, "distance": 0}.get(self.rule)
        if least is None:
            raise BpdError(f"unknown acceptance rule '{self.rule}': expected exact, top or distance")
        if self.parameter < least:
            raise BpdError(f"the parameter of the acceptance rule '{self.rule}' is {self.parameter}, below {least}")
        if self.minimum_block_size < 1:
            raise BpdError(f"minimum block size {self.minimum_block_size} is below 1: the first proposal always passes")

    @classmethod
    def parse(cls, name: str) -> Acceptance:
        """Return the criterion called `exact`, `top2`, `distance2`, `minimum3` …; raise `BpdError` for other names."""
        match = _NAME.fullmatch(name)
        kind, number = match.groups() if match else ("", "")
        if kind == "exact" and not number:
            return cls()
        if kind == "distance" and number:
            return cls("distance", int(number))
        if kind in ("top", "minimum") and number and int(number) > 0:
            return cls("top", int(number)) if kind == "top" else cls(minimum_block_size=int(number))
        raise BpdError(f"unknown criterion '{name}': expected exact, top<n>, distance<ε> or minimum<ℓ>, such as top2")

    def accepted(self, logits: Tensor, proposals: Tensor) -> Tensor:
        """Return whether the rule lets each of `proposals` [*] pass, given p₁'s `logits` [*, vocabulary] there.

        Top-n ranks a proposal behind every better token and every equally good one with a lower id, so that top-1
        is the exact criterion whatever the ties.
        """
        if self.rule == "exact":
            return best_token(logits) == proposals
        if self.rule == "distance":
            return (best_token(logits) - proposals).abs() <= self.parameter
        own = logits.gather(-1, proposals.unsqueeze(-1))
        lower = torch.arange(logits.shape[-1], device=logits.device) < proposals.unsqueeze(-1)
        rank = ((logits > own) | ((logits == own) & lower)).sum(dim=-1)
        return rank < self.parameter


EXACT = Acceptance()
