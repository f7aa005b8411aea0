"""Layers that every model of the house shares: positions, embedding, attention and feed-forward sub-layers."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from bpd.models.dropout import Dropout

LAYER_NORM_EPSILON = 1e-6


def sinusoidal_positions(length: int, width: int, first: int = 0) -> Tensor:
    """Return Tensor2Tensor's position signal [length, width]; row 0 is position `first`."""
    return sinusoidal_signal(torch.arange(first, first + length, dtype=torch.float64), width)


def sinusoidal_signal(positions: Tensor, width: int) -> Tensor:
    """Return Tensor2Tensor's signal [positions, width] of `positions` [positions]: a block of sines, one of cosines.

    The wavelengths grow geometrically from 2π to 2π·10⁴. Positions may lie between whole numbers.
    """
    scales = width // 2
    step = math.log(1e4) / max(scales - 1, 1)
    rates = torch.exp(torch.arange(scales, dtype=torch.float64) * -step)
    angles = positions.to(torch.float64)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1).to(torch.float32)


def linear(inputs: int, outputs: int, *, bias: bool, parts: int = 1) -> nn.Linear:
    """Return a dense layer with Xavier-uniform weights; `parts` output slices are initialised each on its own."""
    layer = nn.Linear(inputs, outputs, bias=bias)
    for part in layer.weight.chunk(parts):
        nn.init.xavier_uniform_(part)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


class Attention(nn.Module):
    """Multi-head scaled dot-product attention without biases in its projections (Tensor2Tensor's)."""

    def __init__(self, d_model: int, attention_heads: int, dropout: float, *, self_attention: bool) -> None:
        super().__init__()
        self.attention_heads = attention_heads
        self.dropout = dropout
        self.self_attention = self_attention
        if self_attention:
            self.query_key_value = linear(d_model, 3 * d_model, bias=False, parts=3)
        else:
            self.query = linear(d_model, d_model, bias=False)
            self.key_value = linear(d_model, 2 * d_model, bias=False, parts=2)
        self.output = linear(d_model, d_model, bias=False)

    def split(self, projected: Tensor, parts: int) -> tuple[Tensor, ...]:
        """Return `projected` [batch, length, parts·d_model] as parts of [batch, heads, length, d_head]."""
        batch, length, width = projected.shape
        heads = self.attention_heads
        return projected.view(batch, length, parts, heads, width // (parts * heads)).permute(2, 0, 3, 1, 4).unbind(0)

    def attended(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool = False) -> Tensor:
        """Return the attended values [batch, length, d_model] of queries [batch, heads, length, d_head].

        `mask`, if given, is true where a query may look, or what `additive` makes of such a mask: broadcastable to
        [batch, heads, length, keys].
        """
        dropout = self.dropout if self.training else 0.0
        attended = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, dropout_p=dropout, is_causal=causal
        )
        batch, heads, length, width = attended.shape
        return attended.transpose(1, 2).reshape(batch, length, heads * width)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool = False) -> Tensor:
        """Return the output projection [batch, length, d_model] of the attended values."""
        return self.output(self.attended(query, key, value, mask, causal))

    def forward(self, states: Tensor, memory: Tensor | None, mask: Tensor | None, causal: bool = False) -> Tensor:
        """Return attention from `states` [batch, length, d_model] to themselves or to `memory` [batch, keys, …]."""
        if self.self_attention:
            query, key, value = self.split(self.query_key_value(states), 3)
        else:
            (query,) = self.split(self.query(states), 1)
            key, value = self.split(self.key_value(memory), 2)
        return self.attend(query, key, value, mask, causal)


class FeedForward(nn.Module):
    """Two dense layers with a ReLU, and dropout after it."""

    def __init__(self, d_model: int, d_ff: int, dropout: float) -> None:
        super().__init__()
        self.inner = linear(d_model, d_ff, bias=True)
        self.dropout = Dropout(dropout)
        self.outer = linear(d_ff, d_model, bias=True)

    def forward(self, states: Tensor) -> Tensor:
        """Return the transformed `states` [*, d_model]."""
        return self.outer(self.dropout(functional.relu(self.inner(states))))


def additive(mask: Tensor, like: Tensor) -> Tensor:
    """Return `mask` as numbers to add to attention's scores, 0 where true and −∞ where not, in the type of `like`.

    Attention makes them of a mask of truths anew in each layer; decoders make them once a step.
    """
    return torch.zeros(mask.shape, dtype=like.dtype, device=mask.device).masked_fill_(~mask, -math.inf)


def layer_norm(d_model: int) -> nn.LayerNorm:
    """Return a layer norm with Tensor2Tensor's epsilon."""
    return nn.LayerNorm(d_model, eps=LAYER_NORM_EPSILON)
