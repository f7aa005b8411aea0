"""The encoder–decoder Transformer of the paper's translation experiments (`transformer_base` at the paper scale)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from bpd.config import TransformerConfig
from bpd.models.dropout import Dropout
from bpd.models.layers import Attention, FeedForward, layer_norm, sinusoidal_positions


class EncoderLayer(nn.Module):
    """Self-attention and feed-forward, layer norm before each (pre-norm)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention_norm = layer_norm(config.d_model)
        self.attention = Attention(
            config.d_model, config.attention_heads, config.attention_dropout, self_attention=True
        )
        self.feed_forward_norm = layer_norm(config.d_model)
        self.feed_forward = FeedForward(config.d_model, config.d_ff, config.relu_dropout)
        self.dropout = Dropout(config.residual_dropout)

    def forward(self, states: Tensor, mask: Tensor | None) -> Tensor:
        """Return the layer's output for `states` [batch, source, d_model]."""
        states = states + self.dropout(self.attention(self.attention_norm(states), None, mask))
        return states + self.dropout(self.feed_forward(self.feed_forward_norm(states)))


class DecoderLayer(nn.Module):
    """Causal self-attention, attention to the encoder, and feed-forward, layer norm before each (pre-norm)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention_norm = layer_norm(config.d_model)
        self.attention = Attention(
            config.d_model, config.attention_heads, config.attention_dropout, self_attention=True
        )
        self.cross_attention_norm = layer_norm(config.d_model)
        self.cross_attention = Attention(
            config.d_model, config.attention_heads, config.attention_dropout, self_attention=False
        )
        self.feed_forward_norm = layer_norm(config.d_model)
        self.feed_forward = FeedForward(config.d_model, config.d_ff, config.relu_dropout)
        self.dropout = Dropout(config.residual_dropout)

    def forward(self, states: Tensor, memory: Tensor, memory_mask: Tensor | None) -> Tensor:
        """Return the layer's output for `states` [batch, target, d_model] and `memory` [batch, source, d_model]."""
        states = states + self.dropout(self.attention(self.attention_norm(states), None, None, causal=True))
        states = states + self.dropout(self.cross_attention(self.cross_attention_norm(states), memory, memory_mask))
        return states + self.dropout(self.feed_forward(self.feed_forward_norm(states)))


class Transformer(nn.Module):
    """Encoder and decoder up to the decoder's output; the vocabulary projection is the shared embedding.

    Source, target and output embeddings are one matrix, scaled by √d_model on the way in.
    """

    def __init__(self, config: TransformerConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(vocabulary_size, config.d_model)
        nn.init.normal_(self.embedding.weight, std=config.d_model**-0.5)
        self.encoder_layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.encoder_norm = layer_norm(config.d_model)
        self.decoder_layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.decoder_norm = layer_norm(config.d_model)
        self.dropout = Dropout(config.residual_dropout)
        self.register_buffer("_positions", sinusoidal_positions(256, config.d_model), persistent=False)

    def positions(self, length: int) -> Tensor:
        """Return the position signal [at least length, d_model], growing the table where it is too short."""
        if length > len(self._positions):
            table = sinusoidal_positions(2 * length, self.config.d_model)
            self._positions = table.to(device=self._positions.device, dtype=self._positions.dtype)
        return self._positions

    def embed(self, tokens: Tensor) -> Tensor:
        """Return scaled embeddings with positions, [batch, length, d_model], of `tokens` [batch, length]."""
        embedded = functional.embedding(tokens, self.embedding.weight) * math.sqrt(self.config.d_model)
        length = tokens.shape[1]
        return self.dropout(embedded + self.positions(length)[:length])

    def encode(self, source: Tensor, mask: Tensor | None) -> Tensor:
        """Return the encoder's output [batch, source, d_model].

        `mask` [batch, 1, 1, source] is true at real tokens; none means that nothing is padding.
        """
        states = self.embed(source)
        for layer in self.encoder_layers:
            states = layer(states, mask)
        return self.encoder_norm(states)

    def decode(self, target: Tensor, memory: Tensor, memory_mask: Tensor | None) -> Tensor:
        """Return the decoder's output [batch, target, d_model] for the decoder input `target` [batch, target]."""
        states = self.embed(target)
        for layer in self.decoder_layers:
            states = layer(states, memory, memory_mask)
        return self.decoder_norm(states)

    def logits(self, states: Tensor) -> Tensor:
        """Return the vocabulary projection [*, vocabulary] of `states` [*, d_model]."""
        return functional.linear(states, self.embedding.weight)


def padding_mask(tokens: Tensor, pad_id: int) -> Tensor | None:
    """Return [batch, 1, 1, length], true at real tokens, or none where `tokens` hold no padding."""
    real = tokens != pad_id
    return None if bool(real.all()) else real[:, None, None, :]


def source_tensor(inputs: list[list[int]], pad_id: int, device: torch.device) -> Tensor:
    """Return ragged `inputs` as one tensor [batch, longest], padded on the right."""
    longest = max(len(row) for row in inputs)
    rows = [list(row) + [pad_id] * (longest - len(row)) for row in inputs]
    return torch.tensor(rows, dtype=torch.int64, device=device)
