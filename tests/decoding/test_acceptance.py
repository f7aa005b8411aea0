"""Acceptance criteria on hand-written tables, and the choice among equally good tokens."""

import pytest
import torch

from bpd.decoding.acceptance import EXACT, Acceptance, best_token
from bpd.errors import BpdError

# p₁'s logits over six tokens: 3 is best, then 1 and 4 (equally good), then 0, then 2 and 5.
LOGITS = [1.0, 2.0, 0.0, 3.0, 2.0, 0.0]


@pytest.mark.parametrize(
    ("criterion", "accepted"),
    [
        ("exact", {3}),
        ("top1", {3}),
        ("top2", {3, 1}),
        ("top3", {3, 1, 4}),
        ("top4", {3, 1, 4, 0}),
        ("top5", {3, 1, 4, 0, 2}),
        ("top6", {0, 1, 2, 3, 4, 5}),
        ("top99", {0, 1, 2, 3, 4, 5}),
        ("distance0", {3}),
        ("distance1", {2, 3, 4}),
        ("distance2", {1, 2, 3, 4, 5}),
        ("distance3", {0, 1, 2, 3, 4, 5}),
        ("minimum2", {3}),
    ],
)
def test_which_tokens_pass(criterion, accepted):
    logits = torch.tensor(LOGITS).expand(2, 3, 6)
    for token in range(6):
        passes = Acceptance.parse(criterion).accepted(logits, torch.full((2, 3), token))
        assert passes.dtype == torch.bool
        assert passes.tolist() == [[token in accepted] * 3] * 2, (criterion, token)


def test_every_row_and_position_is_judged_by_its_own_logits():
    logits = torch.eye(4).view(2, 2, 4)  # The best tokens are 0, 1 and 2, 3.
    proposals = torch.tensor([[0, 2], [3, 3]])
    assert EXACT.accepted(logits, proposals).tolist() == [[True, False], [False, True]]
    assert Acceptance("distance", 1).accepted(logits, proposals).tolist() == [[True, True], [True, True]]
    assert Acceptance("top", 2).accepted(logits, proposals).tolist() == [[True, False], [False, True]]


@pytest.mark.parametrize("criterion", ["exact", "top1", "distance0", "minimum1"])
def test_of_all_equal_logits_only_the_lowest_id_is_exact(criterion):
    passes = Acceptance.parse(criterion).accepted(torch.zeros(1, 5, 5), torch.arange(5).view(1, 5))
    assert passes.tolist() == [[True, False, False, False, False]]


def test_a_block_of_no_proposals_is_judged():
    for criterion in ("exact", "top2", "distance1"):
        passes = Acceptance.parse(criterion).accepted(torch.zeros(2, 0, 5), torch.zeros((2, 0), dtype=torch.int64))
        assert passes.shape == (2, 0)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_the_best_token_is_the_lowest_of_equals_whatever_the_place_and_width(dtype):
    chance = torch.Generator().manual_seed(3)
    for width in (1, 2, 3, 8, 17, 64, 257, 4000, 33333):
        logits = torch.zeros(40, width, dtype=dtype)
        places = torch.randint(width, (40, 5), generator=chance)
        logits.scatter_(1, places, 1.0)
        assert best_token(logits).tolist() == places.min(dim=1).values.tolist()
        assert best_token(torch.zeros(3, 2, width, dtype=dtype)).tolist() == [[0, 0]] * 3
        # Not contiguous, as when one position of a block is looked at.
        assert best_token(logits.unsqueeze(1).expand(-1, 3, -1)[:, 1]).tolist() == places.min(dim=1).values.tolist()


@pytest.mark.parametrize(
    ("name", "criterion"),
    [
        ("exact", Acceptance("exact", 0, 1)),
        ("top2", Acceptance("top", 2, 1)),
        ("top10", Acceptance("top", 10, 1)),
        ("distance0", Acceptance("distance", 0, 1)),
        ("distance12", Acceptance("distance", 12, 1)),
        ("minimum3", Acceptance("exact", 0, 3)),
    ],
)
def test_names_of_criteria(name, criterion):
    assert Acceptance.parse(name) == criterion


@pytest.mark.parametrize(
    "name",
    [
        *("", "top", "top0", "top-1", "top2.5", "top02", "top２", "exact1", "distance", "distance-1"),
        *("minimum", "minimum0", "Exact", " exact", "exact\n", "nearest2", "beam4"),
    ],
)
def test_other_names_are_refused(name):
    with pytest.raises(BpdError, match="unknown criterion"):
        Acceptance.parse(name)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("top", 0), "'top' is 0"),
        (("distance", -1), "'distance' is -1"),
        (("exact", 0, 0), "minimum block size 0"),
        (("exact", 0, -2), "minimum block size -2"),
        (("nearest", 1), "rule 'nearest'"),
    ],
)
def test_impossible_criteria_are_refused(arguments, message):
    with pytest.raises(BpdError, match=message):
        Acceptance(*arguments)
