"""The proposal heads of section 6, figure 3: one multi-output feed-forward layer after the decoder."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from bpd.models.dropout import Dropout
from bpd.models.layers import layer_norm, linear


class ProposalHeads(nn.Module):
    """Turn the decoder's output into k outputs, whose projections are p₁ … p_k.

    A hidden layer of size k·d_ff with a ReLU, an output layer of size k·d_model, and a residual connection from the
    decoder's output to each of the k outputs; the *original* vocabulary projection then serves them all. p₁ passes
    through the transformation too (footnote 1), unless `identity_first_head` leaves it the base model's own.
    With `normalised`, a layer norm shared by the transformed outputs follows the residual: the image kind.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        block_size: int,
        *,
        relu_dropout: float,
        residual_dropout: float,
        identity_first_head: bool,
        normalised: bool = False,
    ) -> None:
        super().__init__()
        self.d_model = d_model
        self.block_size = block_size
        self.identity_first_head = identity_first_head
        self.hidden = linear(d_model, block_size * d_ff, bias=True, parts=block_size)
        self.relu_dropout = Dropout(relu_dropout)
        self.output = linear(block_size * d_ff, block_size * d_model, bias=True, parts=block_size)
        self.residual_dropout = Dropout(residual_dropout)
        self.norm = layer_norm(d_model) if normalised else None

    def transform(self, states: Tensor) -> Tensor:
        """Return the hidden layer [*, k·d_ff] for `states` [*, d_model]; what follows reads slices of it."""
        return self.relu_dropout(functional.relu(self.hidden(states)))

    def head(self, head: int, states: Tensor, transformed: Tensor) -> Tensor:
        """Return the output [*, d_model] of one head, counted from 1 as in the paper."""
        if head == 1 and self.identity_first_head:
            return states
        first = (head - 1) * self.d_model
        rows = slice(first, first + self.d_model)
        output = functional.linear(transformed, self.output.weight[rows], self.output.bias[rows])
        output = states + self.residual_dropout(output)
        return output if self.norm is None else self.norm(output)

    def first_head(self, states: Tensor, transformed: Tensor) -> Tensor:
        """Return p₁'s output [*, d_model]."""
        return self.head(1, states, transformed)

    def other_heads(self, states: Tensor, transformed: Tensor) -> Tensor:
        """Return the outputs [*, k − 1, d_model] of p₂ … p_k."""
        return self.all_heads(states, transformed)[..., 1:, :]

    def all_heads(self, states: Tensor, transformed: Tensor) -> Tensor:
        """Return the outputs [*, k, d_model] of all heads."""
        output = self.output(transformed).unflatten(-1, (self.block_size, self.d_model))
        output = states.unsqueeze(-2) + self.residual_dropout(output)
        if self.norm is not None:
            output = self.norm(output)
        if self.identity_first_head:
            output = torch.cat([states.unsqueeze(-2), output[..., 1:, :]], dim=-2)
        return output
