"""Blockwise parallel decoding (sections 3 and 4): predict k tokens, verify them in parallel, accept a prefix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from bpd.decoding.acceptance import EXACT, Acceptance, best_token
from bpd.decoding.protocol import DecodableModel, HeadScores, require_limits
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

    A block ends at the end symbol and at the length limit, and nothing proposed beyond is read, accepted or counted.
    Rows that have ended leave the batch at once, and no row's result depends on its neighbours.

    With the exact criterion the outputs are those of greedy decoding. `block_size`, by default the model's k, may be
    smaller. `cached` false runs the whole prefix through the model at every iteration. `on_step` is told of each
    iteration of each row. Raises `BpdError` for a block size or a minimum block size that is larger than it can be,
    and where a length limit is missing or leaves no room for a token.
    """
    require_limits(inputs, max_lengths)
    k = model.block_size if block_size is None else block_size
    if not 1 <= k <= model.block_size:
        raise BpdError(f"block size {k} is not possible: the model has k = {model.block_size}")
    if acceptance.minimum_block_size > k:
        raise BpdError(f"minimum block size {acceptance.minimum_block_size} is larger than the block size {k}")
    if not inputs:
        return []

    outputs = [_Output(index, limit, model.end_id, on_step) for index, limit in enumerate(max_lengths)]
    rows = outputs
    decoder = model.start(inputs, cached=cached)
    scores = decoder.advance(torch.full((len(rows), 1), model.begin_id, device=model.device))
    proposals = predict(scores, torch.zeros(len(rows), dtype=torch.int64, device=model.device), k)
    for output, proposed in zip(rows, proposals.tolist(), strict=True):
        output.propose(proposed)

    while True:
        for output in rows:
            output.accept_what_needs_no_verification(acceptance.minimum_block_size)
        live = [place for place, output in enumerate(rows) if not output.finished]
        if not live:
            return [output.decoded() for output in outputs]
        if len(live) < len(rows):
            rows = [rows[place] for place in live]
            decoder.select(live)
            proposals = proposals[live]
        decoder.rewind([1 + len(output.token_ids) for output in rows])

        width = max(output.width for output in rows)
        scores = decoder.advance(proposals[:, :width])
        verified = verify(scores, proposals[:, : width + 1], acceptance)
        # A row whose whole block is accepted, its unread last token too, has ended: its next proposals are not used.
        proposals = predict(scores, (verified - 1).clamp_(max=width - 1), k)
        # The one transfer to the host of each iteration.
        told = torch.cat([verified.unsqueeze(1), proposals], dim=1).tolist()
        for output, (largest, *proposed) in zip(rows, told, strict=True):
            output.calls += 1
            output.accept(largest)
            output.propose(proposed)


def predict(scores: HeadScores, positions: Tensor, k: int) -> Tensor:
    """Return the proposals [batch, k]: the argmax of p₁ … p_k at one position a row."""
    return best_token(scores.proposing(positions))[:, :k]


def verify(scores: HeadScores, proposals: Tensor, acceptance: Acceptance) -> Tensor:
    """Return k̂ [batch]: how many of `proposals` [batch, block], from the first on, p₁ and the minimum let pass.

    `scores` are those of the call over the proposals, or over all but the last, which no other follows: proposal
    i + 1 is judged by p₁ after proposal i.
    """
    judged = proposals[:, 1:]
    if judged.shape[1] < acceptance.minimum_block_size:
        return torch.full_like(proposals[:, 0], proposals.shape[1])
    passes = acceptance.accepted(scores.scoring()[:, : judged.shape[1]], judged)
    passes[:, : acceptance.minimum_block_size - 1] = True
    return passes.cumprod(dim=1).sum(dim=1) + 1


@dataclass
class _Output:
    """An output under way, and the block proposed for it, cut after the end symbol and at the length limit."""

    index: int
    limit: int
    end_id: int
    on_step: Callable[[Step], None] | None
    token_ids: list[int] = field(default_factory=list)
    block_sizes: list[int] = field(default_factory=list)
    proposed: list[int] = field(default_factory=list)
    block: list[int] = field(default_factory=list)
    block_ends: bool = False
    calls: int = 1
    finished: bool = False

    def propose(self, proposed: list[int]) -> None:
        """Take the next proposals, unless the output is finished."""
        if self.finished:
            return
        room = self.limit - len(self.token_ids)
        self.proposed = proposed
        self.block = proposed[:room]
        self.block_ends = len(self.block) == room
        if self.end_id in self.block:
            self.block = self.block[: self.block.index(self.end_id) + 1]
            self.block_ends = True

    @property
    def width(self) -> int:
        """How many tokens of the block p₁ must read: not the last one of a block with which the output ends."""
        return len(self.block) - self.block_ends

    def accept(self, largest: int) -> None:
        """Accept the first `largest` tokens of the block, or all of it if it is shorter."""
        accepted = self.block[:largest]
        self.token_ids += accepted
        self.block_sizes.append(len(accepted))
        self.finished = self.block_ends and len(accepted) == len(self.block)
        if self.on_step is not None:
            self.on_step(Step(self.index, self.proposed, len(accepted)))

    def accept_what_needs_no_verification(self, unverified: int) -> None:
        """End the output if the first `unverified` tokens of the block, which pass in any case, end it."""
        if not self.finished and self.block_ends and len(self.block) <= unverified:
            self.accept(unverified)

    def decoded(self) -> Decoded:
        """Return the finished output."""
        stop = "end" if self.token_ids[-1] == self.end_id else "length"
        return Decoded(self.token_ids, self.block_sizes, self.calls, stop)
