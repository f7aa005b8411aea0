"""Greedy decoding: p₁'s argmax until the end symbol or the length limit."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpd.decoding.greedy import greedy
from bpd.errors import BpdError
from tests.decoding import reference
from tests.decoding.scripted_model import END, ScriptedModel, following, random_logits


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    levels=st.sampled_from([None, 2, 4]),
    limits=st.lists(st.integers(1, 12), min_size=1, max_size=5),
)
def test_greedy_follows_the_best_token_of_p1(seed, levels, limits):
    logits = random_logits(seed, levels=levels, end_bias=-1.0)
    inputs = [[3 + row, END] for row in range(len(limits))]
    model = ScriptedModel(logits, limits, block_size=3)
    for decoded, source, limit in zip(greedy(model, inputs, limits), inputs, limits, strict=True):
        assert decoded.token_ids == reference.greedy(logits, source, limit)
        assert decoded.block_sizes == [1] * len(decoded.token_ids)
        assert decoded.calls == decoded.iterations == len(decoded.token_ids)
        assert decoded.stop == ("end" if decoded.token_ids[-1] == END else "length")
        assert decoded.score is None
    assert all(width == 1 for _, width in model.calls)


def test_an_end_symbol_at_the_limit_is_an_end():
    script = [5, 6, END]
    (decoded,) = greedy(ScriptedModel(following(script), [3]), [[9, END]], [3])
    assert (decoded.token_ids, decoded.stop) == (script, "end")
    (decoded,) = greedy(ScriptedModel(following(script), [2]), [[9, END]], [2])
    assert (decoded.token_ids, decoded.stop) == ([5, 6], "length")


def test_rows_that_have_ended_leave_the_batch_at_once():
    model = ScriptedModel(following([5, 6, 7, 8, END]), [2, 9, 1, 4])
    results = greedy(model, [[9, END]] * 4, model.limits)
    assert [len(decoded.token_ids) for decoded in results] == [2, 5, 1, 4]
    assert [rows for rows, _ in model.calls] == [[0, 1, 2, 3], [0, 1, 3], [1, 3], [1, 3], [1]]


def test_equally_good_tokens_are_chosen_by_their_id():
    model = ScriptedModel(lambda source, prefix, head: [0.0, 0.0, 0.0, 0.0], [4])
    (decoded,) = greedy(model, [[3, END]], [4])
    assert decoded.token_ids == [0, 0, 0, 0]


def test_no_inputs_give_no_outputs():
    assert greedy(ScriptedModel(following([END]), []), [], []) == []


@pytest.mark.parametrize("limits", [[], [3], [3, 4, 5]])
def test_each_input_needs_a_limit(limits):
    with pytest.raises(BpdError, match=f"2 inputs were given, but {len(limits)} length limits"):
        greedy(ScriptedModel(following([END]), [3, 3]), [[3, END], [4, END]], limits)


def test_a_limit_without_room_for_a_token_is_refused():
    with pytest.raises(BpdError, match=r"max_lengths\[1\] is 0"):
        greedy(ScriptedModel(following([END]), [3, 3]), [[3, END], [4, END]], [3, 0])
