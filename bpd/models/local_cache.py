"""The key/value cache of a local-attention decoder: a ring that holds what a window of two blocks needs."""

from __future__ import annotations

import torch
from torch import Tensor

from bpd.models.layers import additive


class LocalCache:
    """Keys and values of every decoder layer for the last 2·`window` + `largest_block` positions of each row.

    Position i lies in slot i modulo the capacity. `lengths` holds the number of valid entries of each row, on the
    host; a rewind moves that number, as far back as the ring still holds all that the next query can see.
    """

    def __init__(
        self, layers: int, batch: int, heads: int, width: int, window: int, largest_block: int, like: Tensor
    ) -> None:
        self.window = window
        self.capacity = 2 * window + largest_block
        self.lengths = [0] * batch
        self._furthest = [0] * batch
        self._heads, self._width = heads, width
        # A layer's keys and values lie beside each other, as its projection gives them.
        self._store = like.new_zeros((layers, batch, self.capacity, 2 * heads * width))
        self._slots: Tensor | None = None

    def reserve(self, block: int) -> tuple[Tensor, Tensor]:
        """Make room for `block` new entries a row; return their indices and the mask of the coming attention.

        Indices are [block] where all rows have one length, else [batch, block]. The mask is to be added to attention's
        scores, 0 where new entry i of a row may look and −∞ elsewhere: [batch or 1, 1, block, capacity].
        """
        if block > self.capacity - 2 * self.window:
            raise ValueError(f"a block of {block} is more than the {self.capacity - 2 * self.window} provided for")
        device = self._store.device
        step = torch.arange(block, device=device)
        same = min(self.lengths) == max(self.lengths)
        lengths = torch.tensor(self.lengths[:1] if same else self.lengths, device=device)
        indices = lengths[:, None] + step
        last = indices[:, -1:]
        # The newest position up to the last new one that each slot can hold: slots never written give negative ones.
        held = last - (last - torch.arange(self.capacity, device=device)) % self.capacity
        first_seen = ((indices // self.window - 1) * self.window).clamp(min=0)
        mask = (held[:, None] <= indices[..., None]) & (held[:, None] >= first_seen[..., None])
        self._slots = indices % self.capacity
        return indices[0] if same else indices, additive(mask[:, None], self._store)

    def write(self, layer: int, key_value: Tensor) -> tuple[Tensor, Tensor]:
        """Store a layer's keys and values [batch, block, 2·d_model] in the reserved places; return the whole ring's.

        Those are [batch, heads, capacity, width] each.
        """
        store, slots = self._store[layer], self._slots
        key_value = key_value.to(store.dtype)
        if len(slots) == 1:
            store.index_copy_(1, slots[0], key_value)
        else:
            rows = torch.arange(len(self.lengths), device=store.device)[:, None]
            store[rows, slots] = key_value
        ring = store.view(len(store), self.capacity, 2, self._heads, self._width)
        keys, values = ring.permute(2, 0, 3, 1, 4).unbind(0)
        return keys, values

    def extend(self, block: int) -> None:
        """Count the reserved entries as valid."""
        self.lengths = [length + block for length in self.lengths]
        self._furthest = [max(pair) for pair in zip(self._furthest, self.lengths)]

    def rewind(self, lengths: list[int]) -> None:
        """Keep only the first `lengths` entries of each row; raise `ValueError` where the ring has lost some needed."""
        if len(lengths) != len(self.lengths) or any(new > old for new, old in zip(lengths, self.lengths, strict=True)):
            raise ValueError(f"cannot rewind rows of lengths {self.lengths} to {lengths}")
        for new, furthest in zip(lengths, self._furthest):
            if max(0, (new // self.window - 1) * self.window) < furthest - self.capacity:
                raise ValueError(
                    f"cannot rewind a row to {new}: of its {furthest} entries only the last {self.capacity} are kept"
                )
        self.lengths = list(lengths)

    def select(self, rows: list[int]) -> None:
        """Keep, reorder or duplicate rows."""
        self._store = self._store.index_select(1, torch.tensor(rows, device=self._store.device))
        self.lengths = [self.lengths[row] for row in rows]
        self._furthest = [self._furthest[row] for row in rows]
