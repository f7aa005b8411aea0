"""Local one-dimensional attention: a query sees its own block causally and all of the block before."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from bpd.models.layers import Attention


class LocalAttention(Attention):
    """Causal self-attention in blocks of `block` positions, so that its cost is linear in the length.

    Position i of block b = ⌊i / block⌋ sees positions (b − 1)·block … i; in block 0 it is plain causal attention.
    """

    def __init__(self, d_model: int, attention_heads: int, dropout: float, block: int) -> None:
        super().__init__(d_model, attention_heads, dropout, self_attention=True)
        self.block = block
        query = torch.arange(block)[:, None]
        key = torch.arange(-block, block)
        seen = (key <= query).expand(block, 2 * block)
        self.register_buffer("_seen", seen.clone(), persistent=False)
        self.register_buffer("_seen_first", seen & (key >= 0), persistent=False)

    def forward_blocks(self, states: Tensor) -> Tensor:
        """Return the attention [batch, length, d_model] of `states` [batch, length, d_model] among themselves."""
        length = states.shape[1]
        # What is padded on the right is later than every real query, which therefore does not see it.
        states = functional.pad(states, (0, 0, 0, -length % self.block))
        batch, padded, _ = states.shape
        blocks = padded // self.block
        query, key, value = self.split(self.query_key_value(states), 3)
        query = query.unflatten(2, (blocks, self.block)).transpose(1, 2).flatten(0, 1)
        key, value = (self._with_block_before(part, blocks) for part in (key, value))
        mask = torch.stack([self._seen_first] + [self._seen] * (blocks - 1)).repeat(batch, 1, 1)
        attended = self.attend(query, key, value, mask[:, None])
        return attended.reshape(batch, padded, -1)[:, :length]

    def _with_block_before(self, part: Tensor, blocks: int) -> Tensor:
        """Return keys or values [batch·blocks, heads, 2·block, width] of each block and the one before it."""
        own = part.unflatten(2, (blocks, self.block)).transpose(1, 2)
        before = torch.cat([torch.zeros_like(own[:, :1]), own[:, :-1]], dim=1)
        return torch.cat([before, own], dim=3).flatten(0, 1)
