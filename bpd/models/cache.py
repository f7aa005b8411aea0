"""The key/value cache of a decoder: a length per row, so that a rewind moves a number, not memory."""

from __future__ import annotations

import torch
from torch import Tensor


class KeyValueCache:
    """Keys and values of every decoder layer, written in place.

    `lengths` holds the number of valid entries of each row, on the host. What lies beyond a row's length is stale
    (rejected proposals) and is hidden by `mask` until it is overwritten.
    """

    def __init__(self, layers: int, batch: int, heads: int, width: int, like: Tensor, capacity: int = 64) -> None:
        self.lengths = [0] * batch
        shape = (layers, 2, batch, heads, capacity, width)
        self._store = torch.zeros(shape, dtype=like.dtype, device=like.device)
        self._columns: int | Tensor = 0
        self._visible = 0

    @property
    def batch(self) -> int:
        """The number of rows."""
        return len(self.lengths)

    def reserve(self, block: int) -> tuple[Tensor, Tensor | None]:
        """Make room for `block` new entries a row; return their positions and the mask of the coming attention.

        Positions are [block] where all rows have one length, else [batch, block]. The mask is none where a single
        new entry sees all there is, else true where new entry i of a row may look: broadcastable to
        [batch, 1, block, keys].
        """
        longest = max(self.lengths)
        self._visible = longest + block
        if self._visible > self._store.shape[-2]:
            self._grow(max(self._visible, 2 * self._store.shape[-2]))
        device = self._store.device
        if min(self.lengths) == longest:
            self._columns = longest
            positions = torch.arange(longest, self._visible, device=device)
            mask = None if block == 1 else torch.arange(self._visible, device=device) <= positions[:, None]
            return positions, mask
        starts = torch.tensor(self.lengths, device=device)
        positions = starts[:, None] + torch.arange(block, device=device)
        self._columns = positions
        mask = torch.arange(self._visible, device=device) <= positions[:, :, None]
        return positions, mask[:, None]

    def write(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Store `key` and `value` [batch, heads, block, width] in the reserved places; return all visible ones."""
        keys, values = self._store[layer]
        key, value = key.to(keys.dtype), value.to(keys.dtype)
        if isinstance(self._columns, int):
            keys[:, :, self._columns : self._visible] = key
            values[:, :, self._columns : self._visible] = value
        else:
            rows = torch.arange(self.batch, device=key.device)[:, None]
            keys[rows, :, self._columns] = key.transpose(1, 2)
            values[rows, :, self._columns] = value.transpose(1, 2)
        return keys[:, :, : self._visible], values[:, :, : self._visible]

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
        longest = max(self.lengths)
        index = torch.tensor(rows, device=self._store.device)
        if longest * 2 < self._store.shape[-2] or len(rows) > self.batch:
            layers, two, _, heads, capacity, width = self._store.shape
            store = self._store.new_zeros((layers, two, len(rows), heads, capacity, width))
            store[..., :longest, :] = self._store[..., :longest, :].index_select(2, index)
            self._store = store
        else:
            self._store = self._store.index_select(2, index)
        self.lengths = [self.lengths[row] for row in rows]

    def _grow(self, capacity: int) -> None:
        *outer, held, width = self._store.shape
        store = self._store.new_zeros((*outer, capacity, width))
        store[..., :held, :] = self._store
        self._store = store
