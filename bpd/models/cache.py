"""The key/value cache of a decoder: a length per row, so that a rewind moves a number, not memory."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from bpd.models.layers import additive


class KeyValueCache:
    """Keys and values of every decoder layer, written in place.

    `lengths` holds the number of valid entries of each row, on the host. What lies beyond a row's length is stale
    (rejected proposals) and is hidden by `mask` until it is overwritten.
    """

    def __init__(self, layers: int, batch: int, heads: int, width: int, like: Tensor, capacity: int = 64) -> None:
        self.lengths = [0] * batch
        self._heads, self._width = heads, width
        # A layer's keys and values lie beside each other, as its projection gives them.
        self._store = [like.new_zeros((batch, capacity, 2 * heads * width)) for _ in range(layers)]
        self._columns: slice | Tensor = slice(0, 0)
        self._rows: Tensor | None = None
        self._visible = 0

    @property
    def batch(self) -> int:
        """The number of rows."""
        return len(self.lengths)

    def reserve(self, block: int) -> tuple[slice | Tensor, Tensor | None]:
        """Make room for `block` new entries a row; return their positions and the mask of the coming attention.

        Positions index a table of positions: a slice where all rows have one length, else [batch, block]. The mask is
        none where a single new entry sees all there is, else it is to be added to attention's scores, 0 where new entry
        i of a row may look and −∞ elsewhere: broadcastable to [batch, 1, block, keys].
        """
        longest = max(self.lengths)
        self._visible = longest + block
        capacity = self._store[0].shape[1]
        if self._visible > capacity:
            self._grow(max(self._visible, 2 * capacity))
        device = self._store[0].device
        if min(self.lengths) == longest:
            self._columns = slice(longest, self._visible)
            if block == 1:
                return self._columns, None
            hidden = self._store[0].new_full((block, self._visible), -math.inf)
            return self._columns, hidden.triu_(longest + 1)
        starts = torch.tensor(self.lengths, device=device)
        self._columns = starts[:, None] + torch.arange(block, device=device)
        self._rows = torch.arange(self.batch, device=device)[:, None]
        mask = torch.arange(self._visible, device=device) <= self._columns[:, :, None]
        return self._columns, additive(mask[:, None], self._store[0])

    def write(self, layer: int, key_value: Tensor) -> tuple[Tensor, Tensor]:
        """Store a layer's keys and values [batch, block, 2·d_model] in the reserved places; return all visible ones.

        Those are [batch, heads, keys, width] each.
        """
        store = self._store[layer]
        if isinstance(self._columns, slice):
            store[:, self._columns] = key_value
        else:
            store[self._rows, self._columns] = key_value.to(store.dtype)
        seen = store[:, : self._visible].view(self.batch, self._visible, 2, self._heads, self._width)
        keys, values = seen.permute(2, 0, 3, 1, 4).unbind(0)
        return keys, values

    def extend(self, block: int) -> None:
        """Count the reserved entries as valid."""
        self.lengths = [length + block for length in self.lengths]

    def rewind(self, lengths: list[int]) -> None:
        """Keep only the first `lengths` entries of each row."""
        if len(lengths) != self.batch or any(new > old for new, old in zip(lengths, self.lengths, strict=True)):
            raise ValueError(f"cannot rewind rows of lengths {self.lengths} to {lengths}")
        self.lengths = list(lengths)

    def select(self, rows: list[int]) -> None:
        """Keep, reorder or duplicate rows."""
        index = torch.tensor(rows, device=self._store[0].device)
        longest = max(self.lengths)
        for layer, store in enumerate(self._store):
            if longest * 2 < store.shape[1] or len(rows) > self.batch:
                kept = store.new_zeros((len(rows), *store.shape[1:]))
                kept[:, :longest] = store[:, :longest].index_select(0, index)
                self._store[layer] = kept
            else:
                self._store[layer] = store.index_select(0, index)
        self.lengths = [self.lengths[row] for row in rows]

    def _grow(self, capacity: int) -> None:
        for layer, store in enumerate(self._store):
            grown = store.new_zeros((store.shape[0], capacity, store.shape[2]))
            grown[:, : store.shape[1]] = store
            self._store[layer] = grown
