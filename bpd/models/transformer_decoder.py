"""Decoders over a Transformer: they advance over a block of tokens, score it, and rewind to a length per row."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from bpd.models.cache import KeyValueCache
from bpd.models.decoding_weights import DecodingWeights
from bpd.models.head_scores import HeadScores
from bpd.models.layers import additive
from bpd.models.recomputing_decoder import on_host
from bpd.models.transformer import Transformer


class CachedDecoder:
    """Incremental decoding: each token's keys and values are computed once."""

    def __init__(
        self, transformer: Transformer, weights: DecodingWeights, memory: Tensor, memory_mask: Tensor | None
    ) -> None:
        self._transformer = transformer
        self._weights = weights
        config = transformer.config
        width = config.d_model // config.attention_heads
        self._cache = KeyValueCache(config.decoder_layers, len(memory), config.attention_heads, width, memory)
        self._memory_mask = None if memory_mask is None else additive(memory_mask, memory)
        self._sentences = list(range(len(memory)))
        self._memory_keys_values = [
            tuple(part.contiguous() for part in cross.split(cross.key_value(memory), 2))
            for cross in (layer.cross_attention for layer in transformer.decoder_layers)
        ]

    @property
    def lengths(self) -> list[int]:
        """The number of decoder-input tokens that each row holds."""
        return self._cache.lengths

    def advance(self, tokens: Tensor) -> HeadScores:
        """Append `tokens` [batch, block] after each row's length and return what the heads say about them."""
        transformer, cache = self._transformer, self._cache
        block = tokens.shape[1]
        positions, mask = cache.reserve(block)
        signal = transformer.positions(max(self.lengths) + block)[positions]
        embedded = functional.embedding(tokens, transformer.embedding.weight)
        states = torch.add(signal, embedded, alpha=math.sqrt(transformer.config.d_model))
        for index, (layer, weights) in enumerate(zip(transformer.decoder_layers, self._weights.layers)):
            attention, cross = layer.attention, layer.cross_attention
            projected = weights.query_key_value(layer.attention_norm(states))
            width = states.shape[-1]
            keys, values = cache.write(index, projected[..., width:])
            (query,) = attention.split(projected[..., :width], 1)
            states = weights.attention_output.added(states, attention.attended(query, keys, values, mask))
            (query,) = cross.split(weights.cross_query(layer.cross_attention_norm(states)), 1)
            attended = cross.attended(query, *self._memory_keys_values[index], self._memory_mask)
            states = weights.cross_output.added(states, attended)
            states = weights.outer.added(states, weights.inner.relu(layer.feed_forward_norm(states)))
        cache.extend(block)
        return HeadScores(self._weights.logits, self._weights.heads, transformer.decoder_norm(states))

    def rewind(self, lengths: Sequence[int] | Tensor) -> None:
        """Keep the first `lengths` [batch] decoder-input tokens of each row."""
        self._cache.rewind(on_host(lengths))

    def select(self, rows: Sequence[int] | Tensor) -> None:
        """Keep, reorder or duplicate rows; the source side moves only where its sentences change."""
        rows = on_host(rows)
        self._cache.select(rows)
        sentences = [self._sentences[row] for row in rows]
        if sentences == self._sentences:
            return
        self._sentences = sentences
        index = torch.tensor(rows, device=self._memory_keys_values[0][0].device)
        self._memory_keys_values = [
            tuple(part.index_select(0, index) for part in pair) for pair in self._memory_keys_values
        ]
        if self._memory_mask is not None:
            self._memory_mask = self._memory_mask.index_select(0, index)
