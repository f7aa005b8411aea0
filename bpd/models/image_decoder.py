"""The cached decoder over an Image Transformer."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from bpd.models.decoding_weights import DecodingWeights
from bpd.models.head_scores import HeadScores
from bpd.models.image_transformer import ImageTransformer
from bpd.models.local_cache import LocalCache


class CachedImageDecoder:
    """Incremental decoding: each token's keys and values are computed once and kept while a local window needs them."""

    def __init__(
        self,
        transformer: ImageTransformer,
        weights: DecodingWeights,
        largest_block: int,
        memory: Tensor,
        source: Tensor,
    ) -> None:
        self._transformer = transformer
        self._weights = weights
        self._memory = memory
        self._source = source
        config = transformer.config
        width = config.d_model // config.attention_heads
        # The tokens so far, where they stand in the image, with room for a block beyond its end.
        self._written = source.new_zeros((len(memory), transformer.output_length + 1))
        # A window needs its own block of positions and the one before; beyond them lies the block being verified.
        self._cache = LocalCache(
            config.decoder_layers,
            len(memory),
            config.attention_heads,
            width,
            config.local_block,
            largest_block,
            memory,
        )
        self._memory_keys_values = [
            tuple(part.contiguous() for part in cross.split(cross.key_value(memory), 2))
            for cross in (layer.cross_attention for layer in transformer.decoder_layers)
        ]

    @property
    def lengths(self) -> list[int]:
        """The number of decoder-input tokens that each row holds, the begin symbol's zero vector included."""
        return self._cache.lengths

    def advance(self, tokens: Tensor) -> HeadScores:
        """Append `tokens` [batch, block] after each row's length and return what the heads say about them."""
        transformer, cache = self._transformer, self._cache
        indices, mask = cache.reserve(tokens.shape[1])
        states = transformer.embed(tokens, indices, self._memory, self._remaining_means(tokens, indices))
        width = states.shape[-1]
        for index, (layer, weights) in enumerate(zip(transformer.decoder_layers, self._weights.layers)):
            attention, cross = layer.attention, layer.cross_attention
            projected = weights.query_key_value(states)
            keys, values = cache.write(index, projected[..., width:])
            (query,) = attention.split(projected[..., :width], 1)
            attended = attention.attended(query, keys, values, mask)
            states = layer.attention_norm(weights.attention_output.added(states, attended))
            (query,) = cross.split(weights.cross_query(states), 1)
            attended = cross.attended(query, *self._memory_keys_values[index], None)
            states = layer.cross_attention_norm(weights.cross_output.added(states, attended))
            states = layer.feed_forward_norm(weights.outer.added(states, weights.inner.relu(states)))
        cache.extend(tokens.shape[1])
        return HeadScores(self._weights.logits, self._weights.heads, states)

    def _remaining_means(self, tokens: Tensor, indices: Tensor) -> Tensor | None:
        if not self._transformer.config.remaining_mean:
            return None
        # The token read at index i is token i − 1 of the image; what is beyond the image goes to one spare place.
        spare = self._transformer.output_length
        places = torch.where(indices > 0, indices - 1, spare).clamp(max=spare).expand(tokens.shape)
        self._written.scatter_(1, places, tokens)
        return self._transformer.remaining_means(self._written, indices, self._source)

    def rewind(self, lengths: Sequence[int]) -> None:
        """Keep the first `lengths` [batch] decoder-input tokens of each row."""
        self._cache.rewind(list(lengths))

    def select(self, rows: Sequence[int]) -> None:
        """Keep, reorder or duplicate rows."""
        rows = list(rows)
        self._cache.select(rows)
        if rows == list(range(len(self._memory))):
            return
        index = torch.tensor(rows, device=self._memory.device)
        self._memory = self._memory.index_select(0, index)
        self._source = self._source.index_select(0, index)
        self._written = self._written.index_select(0, index)
        self._memory_keys_values = [
            tuple(part.index_select(0, index) for part in pair) for pair in self._memory_keys_values
        ]
