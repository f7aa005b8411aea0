"""Blockwise parallel decoding (sections 3 and 4): predict k tokens, verify them in parallel, accept a prefix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from bpd.decoding.acceptance import EXACT, Acceptance, best_token
from bpd.decoding.protocol import DecodableModel, HeadScores
from bpd.decoding.results import Decoded
from bpd.errors import BpdError


@dataclass(frozen=True)
class Step:
    """One iteration of one row: the block proposed, and how many of its tokens were accepted."""

    row: int
    proposed: list[int]
    accepted: int


@torch.inference_mode()
def blockwise(
    model: DecodableModel,
    inputs: Sequence[Sequence[int]],
    max_lengths: Sequence[int],
    *,
    acceptance: Acceptance = EXACT,
    block_size: int | None = None,
    cached: bool = True,
    on_step: Callable[[Step], None] | None = None,
) -> list[Decoded]:
    """Decode each of `inputs` in blocks, to at most `max_lengths` tokens (end symbol included).

    With ŷ₁ … ŷ_j accepted so far, each iteration does three things (section 3).

    - **Predict**: ŷ_{j+i} = argmax p_i(· | ŷ_{≤j}, x) for i = 1 … k.
    - **Verify**: find the largest k̂ such that p₁ accepts ŷ_{j+i} after ŷ_{≤j+i−1} for all i ≤ k̂; the first
      proposal is p₁'s own argmax, so k̂ ≥ 1.
    - **Accept**: extend the output by the first k̂ proposals.

    Scoring and proposal model are one (section 4): the call that verifies a block also predicts after each of its
    prefixes, so that only the first prediction costs a call of its own. A block that surely ends its row with
    nothing to verify (the end symbol proposed first, say) takes no call either: n iterations take n + 1 calls or n.

    With the exact criterion the outputs are those of greedy decoding. `block_size`, by default the model's k, may be
    smaller. `on_step` is told of each iteration of each row. Raises `BpdError` for a block size or a minimum block
    size that is larger than it can be.
    """
    k = model.block_size if block_size is None else block_size
    if not 1 <= k <= model.block_size:
        raise BpdError(f"block size {k} is not possible: the model has k = {model.block_size}")
    if acceptance.minimum_block_size > k:
        raise BpdError(f"minimum block size {acceptance.minimum_block_size} is larger than the block size {k}")

    outputs = [_Output(index, limit, model.end_id, on_step) for index, limit in enumerate(max_lengths)]
    decoder = model.start(inputs, cached=cached)
    scores = decoder.advance(torch.tensor([[model.begin_id]] * len(outputs), device=model.device))
    lengths = [1] * len(outputs)
    proposals = predict(scores, torch.zeros(len(outputs), dtype=torch.int64, device=model.device), k)
    for output, proposed in zip(outputs, proposals.tolist(), strict=True):
        output.proposed = proposed

    rows = outputs
    while True:
        for output in rows:
            output.accept_what_needs_no_verification(acceptance.minimum_block_size)
        live = [place for place, output in enumerate(rows) if not output.finished]
        if not live:
            return [output.decoded() for output in outputs]
        if len(live) < len(rows):
            rows, lengths = [rows[place] for place in live], [lengths[place] for place in live]
            decoder.select(live)
            proposals = proposals[live]

        scores = decoder.advance(proposals)
        verified = verify(scores, proposals, acceptance)
        proposals = predict(scores, verified - 1, k)
        # The one transfer to the host of each iteration.
        told = torch.cat([verified.unsqueeze(1), proposals], dim=1).tolist()
        for place, (output, (largest, *proposed)) in enumerate(zip(rows, told, strict=True)):
            output.calls += 1
            lengths[place] += output.accept(largest)
            output.proposed = proposed
        decoder.rewind(lengths)


def predict(scores: HeadScores, positions: Tensor, k: int) -> Tensor:
    """Return the proposals [batch, k]: the argmax of p₁ … p_k at one position a row."""
    return best_token(scores.proposing(positions))[:, :k]


def verify(scores: HeadScores, proposals: Tensor, acceptance: Acceptance) -> Tensor:
    """Return k̂ [batch]: how many of `proposals` [batch, k], from the first on, p₁ and the minimum let pass.

    `scores` are those of the call over the proposals: proposal i + 1 is judged by p₁ after proposal i.
    """
    passes = acceptance.accepted(scores.scoring()[:, :-1], proposals[:, 1:])
    passes[:, : acceptance.minimum_block_size - 1] = True
    return 1 + passes.to(torch.int64).cumprod(dim=1).sum(dim=1)


@dataclass
class _Output:
    """An output under way. It ends at the end symbol or its limit: what a block holds beyond is never accepted."""

    index: int
    limit: int
    end_id: int
    on_step: Callable[[Step], None] | None
    token_ids: list[int] = field(default_factory=list)
    block_sizes: list[int] = field(default_factory=list)
    proposed: list[int] = field(default_factory=list)
    calls: int = 1
    finished: bool = False

    def accept(self, largest: int) -> int:
        """Accept at most `largest` of the proposals and return how many were."""
        block = self._usable()[:largest]
        self.token_ids += block
        self.block_sizes.append(len(block))
        self.finished = block[-1] == self.end_id or len(self.token_ids) == self.limit
        if self.on_step is not None:
            self.on_step(Step(self.index, self.proposed, len(block)))
        return len(block)

    def accept_what_needs_no_verification(self, unverified: int) -> None:
        """End the output if the first `unverified` proposals, which pass in any case, end it."""
        if not self.finished and len(self._usable()) <= unverified and self._usable_ends():
            self.accept(unverified)

    def decoded(self) -> Decoded:
        """Return the finished output."""
        stop = "end" if self.token_ids[-1] == self.end_id else "length"
        return Decoded(self.token_ids, self.block_sizes, self.calls, stop)

    def _usable(self) -> list[int]:
        """The proposals up to the end symbol or the length limit, if either lies within the block."""
        usable = self.proposed[: self.limit - len(self.token_ids)]
        if self.end_id in usable:
            usable = usable[: usable.index(self.end_id) + 1]
        return usable

    def _usable_ends(self) -> bool:
        usable = self._usable()
        return usable[-1] == self.end_id or len(self.token_ids) + len(usable) == self.limit
