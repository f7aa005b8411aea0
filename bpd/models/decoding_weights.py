"""A model's weights as its cached decoder reads them, laid out once and again only when they have changed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from bpd.models.active_layout import ActiveLayout
from bpd.models.decoding_layout import DecodingLayout
from bpd.models.proposal_heads import ProposalHeads


@dataclass(frozen=True)
class LayerWeights:
    """The dense layers of one decoder layer; the keys and values of the encoder's output are computed without."""

    query_key_value: DecodingLayout
    attention_output: DecodingLayout
    cross_query: DecodingLayout
    cross_output: DecodingLayout
    inner: DecodingLayout
    outer: DecodingLayout

    @classmethod
    def of(cls, layer: Any) -> LayerWeights:
        """Lay out a decoder layer of either model."""
        attention, cross, feed_forward = layer.attention, layer.cross_attention, layer.feed_forward
        dense = (
            attention.query_key_value, attention.output, cross.query, cross.output,
            feed_forward.inner, feed_forward.outer,
        )  # fmt: skip
        return cls(*(DecodingLayout(part.weight, part.bias) for part in dense))


class HeadWeights:
    """The proposal heads, laid out: p₁'s outputs are wanted at every position of a block, the others' at one."""

    def __init__(self, heads: ProposalHeads) -> None:
        weight, bias, width = heads.output.weight, heads.output.bias, heads.d_model
        self._heads = heads
        self._hidden = DecodingLayout(heads.hidden.weight, heads.hidden.bias)
        self._first = None if heads.identity_first_head else DecodingLayout(weight[:width], bias[:width])
        self._other_parameters = weight[width:], bias[width:]

    def transform(self, states: Tensor) -> Tensor:
        """Return the hidden layer [*, k·d_ff] for `states` [*, d_model]."""
        return self._hidden.relu(states)

    def first_head(self, states: Tensor, transformed: Tensor) -> Tensor:
        """Return p₁'s output [*, d_model]."""
        if self._first is None:
            return states
        output = self._first.added(states, transformed)
        return output if self._heads.norm is None else self._heads.norm(output)

    def other_heads(self, states: Tensor, transformed: Tensor) -> Tensor:
        """Return the outputs [*, k − 1, d_model] of p₂ … p_k."""
        if self._heads.block_size == 1:
            return states.unsqueeze(-2)[..., :0, :]
        output = self._others_of(transformed).unflatten(-1, (-1, self._heads.d_model)) + states.unsqueeze(-2)
        return output if self._heads.norm is None else self._heads.norm(output)

    def _others_of(self, transformed: Tensor) -> Tensor:
        if len(transformed) == 1 and ActiveLayout.suits(self._other_parameters[0], transformed):
            output = self._active_others(transformed)
            if output is not None:
                return output
        return self._others(transformed)

    # Either is a copy of what may be the largest weights of all: made when it is first wanted.
    @cached_property
    def _others(self) -> DecodingLayout:
        return DecodingLayout(*self._other_parameters)

    @cached_property
    def _active_others(self) -> ActiveLayout:
        return ActiveLayout(*self._other_parameters)


class DecodingWeights:
    """What a cached decoder computes with: its layers, the vocabulary projection and the heads, laid out.

    It stands for the model's parameters as they were; `is_of` says whether they still are.
    """

    def __init__(self, model: nn.Module, weight: Tensor, bias: Tensor | None) -> None:
        self._state = _state(model)
        self.layers = [LayerWeights.of(layer) for layer in model.transformer.decoder_layers]
        self.logits = DecodingLayout(weight, bias)
        self.heads = None if model.heads is None else HeadWeights(model.heads)

    def is_of(self, model: nn.Module) -> bool:
        """Return whether the model's parameters are those that were laid out, unchanged."""
        return self._state == _state(model)

    def __reduce__(self) -> tuple[Any, ...]:
        """Nothing of this is copied or stored with a model: it is made again."""
        return (type(None), ())


def _state(model: nn.Module) -> list[tuple[int, int]]:
    # Every change in place moves a tensor's version, and every other change its address.
    return [(part.data_ptr(), -1 if part.is_inference() else part._version) for part in model.parameters()]


@torch.inference_mode()
def decoding_weights(model: nn.Module, weight: Tensor, bias: Tensor | None) -> DecodingWeights:
    """Lay out the weights of `model`, whose projection is `weight` [vocabulary, d_model] and perhaps `bias`."""
    return DecodingWeights(model, weight, bias)
