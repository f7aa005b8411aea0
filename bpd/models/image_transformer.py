"""The Image Transformer of the paper's super-resolution experiments (`img2img_transformer_b3` at the paper scale).

An image is a sequence of intensities: raster scan, red, green and blue of each pixel. Index i of the decoder predicts
token i: its input is the token before, shifted right by one zero vector, with the position of the token predicted.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from bpd.config import ImageTransformerConfig
from bpd.models.dropout import Dropout
from bpd.models.layers import Attention, FeedForward, layer_norm, linear, sinusoidal_signal
from bpd.models.local_attention import LocalAttention

INTENSITIES, CHANNELS = 256, 3
# The decoder's first input, which stands before the first token: a zero vector.
BEGIN_ID = INTENSITIES


class ImageEncoderLayer(nn.Module):
    """Unmasked self-attention and feed-forward, layer norm after each residual sum (post-norm)."""

    def __init__(self, config: ImageTransformerConfig) -> None:
        super().__init__()
        self.attention = Attention(config.d_model, config.attention_heads, 0.0, self_attention=True)
        self.attention_norm = layer_norm(config.d_model)
        self.feed_forward = FeedForward(config.d_model, config.d_ff, 0.0)
        self.feed_forward_norm = layer_norm(config.d_model)
        self.dropout = Dropout(config.residual_dropout)

    def forward(self, states: Tensor) -> Tensor:
        """Return the layer's output for `states` [batch, input, d_model]."""
        states = self.attention_norm(states + self.dropout(self.attention(states, None, None)))
        return self.feed_forward_norm(states + self.dropout(self.feed_forward(states)))


class ImageDecoderLayer(nn.Module):
    """Local causal self-attention, attention to the encoder, and feed-forward, each followed by a layer norm."""

    def __init__(self, config: ImageTransformerConfig) -> None:
        super().__init__()
        self.attention = LocalAttention(config.d_model, config.attention_heads, 0.0, config.local_block)
        self.attention_norm = layer_norm(config.d_model)
        self.cross_attention = Attention(config.d_model, config.attention_heads, 0.0, self_attention=False)
        self.cross_attention_norm = layer_norm(config.d_model)
        self.feed_forward = FeedForward(config.d_model, config.d_ff, 0.0)
        self.feed_forward_norm = layer_norm(config.d_model)
        self.dropout = Dropout(config.residual_dropout)

    def forward(self, states: Tensor, memory: Tensor) -> Tensor:
        """Return the layer's output for `states` [batch, length, d_model] and `memory` [batch, input, d_model]."""
        states = self.attention_norm(states + self.dropout(self.attention.forward_blocks(states)))
        states = self.cross_attention_norm(states + self.dropout(self.cross_attention(states, memory, None)))
        return self.feed_forward_norm(states + self.dropout(self.feed_forward(states)))


class ImageTransformer(nn.Module):
    """Encoder over the small image, decoder over the large one, and a 256-way output with bias.

    Six options depart from the original, for small models and short trainings. `ordinal_start`: embeddings and
    output begin with similar vectors for neighbouring intensities. `covering_pixel`: the decoder's input at a
    position gains the encoding of the low-resolution intensity that covers it. `shared_coordinates`: the encoder's
    positions are given in the decoder's coordinates. `remaining_mean`: the decoder's input gains an embedding of the
    mean that the rest of the covering pixel must have, so that greedy decoding does not drift away from its input.
    `token_noise` and `misread_areas` are for `ImageModel`, in training.
    """

    def __init__(self, config: ImageTransformerConfig, input_size: int, output_size: int) -> None:
        super().__init__()
        self.config = config
        self.input_size, self.output_size = input_size, output_size
        d_model = config.d_model
        self.input_embedding = nn.Embedding(CHANNELS * INTENSITIES, d_model)
        self.target_embedding = nn.Embedding(CHANNELS * INTENSITIES, d_model)
        self.encoder_layers = nn.ModuleList(ImageEncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder_layers = nn.ModuleList(ImageDecoderLayer(config) for _ in range(config.decoder_layers))
        self.output = linear(d_model, INTENSITIES, bias=True)
        embeddings = [self.input_embedding, self.target_embedding]
        if config.remaining_mean:
            self.remaining_embedding = nn.Embedding(CHANNELS * INTENSITIES, d_model)
            embeddings.append(self.remaining_embedding)
        for embedding in embeddings:
            if config.ordinal_start:
                for channel in embedding.weight.data.chunk(CHANNELS):
                    channel.copy_(ordinal_vectors(d_model) * d_model**-0.5)
            else:
                nn.init.normal_(embedding.weight, std=d_model**-0.5)
        if config.ordinal_start:
            self.output.weight.data.copy_(ordinal_vectors(d_model) * d_model**-0.5)
        self.dropout = Dropout(config.residual_dropout)
        scale = output_size // input_size if config.shared_coordinates else 1
        self.register_buffer("_input_positions", image_positions(input_size, d_model, scale), persistent=False)
        self.register_buffer("_positions", image_positions(output_size, d_model), persistent=False)
        self.register_buffer("_covering", covering_tokens(input_size, output_size), persistent=False)
        if config.remaining_mean:
            before, counts = tokens_before(input_size, output_size)
            self.register_buffer("_before", before, persistent=False)
            self.register_buffer("_before_counts", counts, persistent=False)

    @property
    def covering(self) -> Tensor:
        """For each token of a large image, the small image's token that covers it [output]."""
        return self._covering

    @property
    def input_length(self) -> int:
        """The number of intensities of a small image."""
        return self.input_size**2 * CHANNELS

    @property
    def output_length(self) -> int:
        """The number of intensities of a large image."""
        return self.output_size**2 * CHANNELS

    def encode(self, source: Tensor) -> Tensor:
        """Return the encoder's output [batch, input, d_model] for `source` [batch, input] intensities."""
        channels = torch.arange(self.input_length, device=source.device) % CHANNELS
        states = functional.embedding(source + channels * INTENSITIES, self.input_embedding.weight)
        states = self.dropout(states * math.sqrt(self.config.d_model) + self._input_positions)
        for layer in self.encoder_layers:
            states = layer(states)
        return states

    def embed(self, before: Tensor, indices: Tensor, memory: Tensor, remaining: Tensor | None) -> Tensor:
        """Return the decoder's input [batch, length, d_model] at `indices` [length] or [batch, length].

        `before` [batch, length] are the tokens before those predicted there, `BEGIN_ID` at index 0; `remaining` are
        the `remaining_means` there, or none. Indices beyond the image read the last position: what is predicted there
        is never used.
        """
        indices = indices.clamp(max=self.output_length - 1)
        channels = (indices - 1) % CHANNELS
        scale = math.sqrt(self.config.d_model)
        rows = before.clamp(max=INTENSITIES - 1) + channels * INTENSITIES
        states = functional.embedding(rows, self.target_embedding.weight) * scale
        states = states * (before != BEGIN_ID).unsqueeze(-1) + functional.embedding(indices, self._positions)
        if self.config.covering_pixel:
            covering = self._covering[indices].expand(len(memory), -1)
            states = states + memory.gather(1, covering.unsqueeze(-1).expand(-1, -1, memory.shape[-1]))
        if remaining is not None:
            rows = remaining + indices % CHANNELS * INTENSITIES
            states = states + functional.embedding(rows, self.remaining_embedding.weight) * scale
        return states

    def remaining_means(self, written: Tensor, indices: Tensor, source: Tensor) -> Tensor | None:
        """Return what mean the rest of the covering pixel must have at `indices` [length] or [batch, length].

        `written` [batch, output] are the tokens so far, anything from the index itself on; `source` [batch, input]
        are the small images' intensities. The means [batch, length] are whole numbers 0…255, rounded down; none
        without the option.
        """
        if not self.config.remaining_mean:
            return None
        indices = indices.clamp(max=self.output_length - 1)
        places, counts = self._before[indices], self._before_counts[indices]
        batch, covered = len(written), places.shape[-1] + 1
        tokens = written.gather(1, places.expand(batch, -1, -1).flatten(1)).view(batch, -1, covered - 1)
        known = torch.arange(covered - 1, device=written.device) < counts.unsqueeze(-1)
        total = source.gather(1, self._covering[indices].expand(batch, -1)) * covered
        rest = (total - (tokens * known).sum(-1)) // (covered - counts)
        return rest.clamp(0, INTENSITIES - 1)

    def decode(self, before: Tensor, memory: Tensor, source: Tensor) -> Tensor:
        """Return the decoder's output [batch, length, d_model] for its inputs from index 0 on (see `embed`)."""
        length = before.shape[1]
        indices = torch.arange(length, device=before.device)
        written = functional.pad(before[:, 1:], (0, self.output_length - length + 1))
        states = self.dropout(self.embed(before, indices, memory, self.remaining_means(written, indices, source)))
        for layer in self.decoder_layers:
            states = layer(states, memory)
        return states

    def logits(self, states: Tensor) -> Tensor:
        """Return the logits [*, 256] of `states` [*, d_model]."""
        return self.output(states)


def image_positions(size: int, d_model: int, scale: int = 1) -> Tensor:
    """Return the signal [size·size·3, d_model] of every intensity of an image: half of it its row, half its column.

    The column counts intensities: column · 3 + channel. With `scale`, an intensity has the place of the middle of the
    `scale` × `scale` pixels that it covers in a larger image.
    """
    middles = torch.arange(size, dtype=torch.float64) * scale + (scale - 1) / 2
    columns = (middles[:, None] * CHANNELS + torch.arange(CHANNELS)).flatten()
    row_signal = sinusoidal_signal(middles, d_model // 2)
    column_signal = sinusoidal_signal(columns, d_model // 2)
    rows = row_signal[:, None].expand(-1, len(columns), -1)
    return torch.cat([rows, column_signal.expand(size, -1, -1)], dim=-1).flatten(0, 1)


def covering_tokens(input_size: int, output_size: int) -> Tensor:
    """Return for each token of a large image the index of the small image's token that covers it [output tokens]."""
    scale = output_size // input_size
    pixels = torch.arange(output_size) // scale
    tokens = (pixels[:, None] * input_size + pixels)[:, :, None] * CHANNELS + torch.arange(CHANNELS)
    return tokens.flatten()


def tokens_before(input_size: int, output_size: int) -> tuple[Tensor, Tensor]:
    """Return for each token of a large image which tokens under the same small one come before it, and how many.

    [output tokens, covered − 1], earliest first and then zeros, and [output tokens]; covered is the number of tokens
    that one intensity of the small image covers.
    """
    scale = output_size // input_size
    covering = covering_tokens(input_size, output_size)
    by_small_token = torch.argsort(covering, stable=True).view(-1, scale * scale)
    counts = torch.empty_like(covering)
    counts[by_small_token] = torch.arange(scale * scale).expand_as(by_small_token)
    places = by_small_token[covering][:, :-1]
    return places * (torch.arange(scale * scale - 1) < counts[:, None]), counts


def ordinal_vectors(width: int, waves: int = 32) -> Tensor:
    """Return random vectors [256, width] of unit variance that vary smoothly with the intensity.

    They are sums of cosine waves over the range of intensities whose strength falls with their frequency: the nearer
    two intensities, the more similar their vectors.
    """
    intensity = (torch.arange(INTENSITIES, dtype=torch.float32) + 0.5) / INTENSITIES
    frequency = torch.arange(1, waves + 1, dtype=torch.float32)
    basis = torch.cos(math.pi * intensity[:, None] * frequency) / frequency
    vectors = basis @ torch.randn(waves, width)
    return vectors / vectors.std()
