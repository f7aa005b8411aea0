"""Local attention is masked full attention, at a cost that is linear in the length."""

import pytest
import torch
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from bpd.models.local_attention import LocalAttention


def full_attention(layer: LocalAttention, states: torch.Tensor) -> torch.Tensor:
    """Return the definition: query i of block b looks at positions (b − 1)·block … i."""
    length, block = states.shape[1], layer.block
    query, key, value = layer.split(layer.query_key_value(states), 3)
    seen = torch.zeros(length, length, dtype=torch.bool)
    for i in range(length):
        seen[i, max(0, (i // block - 1) * block) : i + 1] = True
    attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=seen)
    return layer.output(attended.transpose(1, 2).flatten(2))


@pytest.mark.parametrize("length", [1, 5, 6, 7, 11, 12, 13, 18, 31])
def test_it_equals_masked_full_attention(length):
    torch.manual_seed(length)
    layer = LocalAttention(12, 3, 0.0, block=6)
    states = torch.randn(2, length, 12)
    assert torch.allclose(layer.forward_blocks(states), full_attention(layer, states), atol=1e-6)


def test_its_cost_is_linear_in_the_length():
    layer = LocalAttention(16, 2, 0.0, block=8)

    def cost(length: int) -> int:
        with FlopCounterMode(display=False) as counter:
            layer.forward_blocks(torch.randn(1, length, 16))
        return counter.get_total_flops()

    assert cost(64) > 0
    assert cost(512) == 2 * cost(256) == 8 * cost(64)
