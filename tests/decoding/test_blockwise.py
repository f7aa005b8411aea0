"""Blockwise parallel decoding against the definition of section 3, and on sequences counted by hand."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpd.decoding.acceptance import EXACT, Acceptance
from bpd.decoding.blockwise import Step, blockwise
from bpd.decoding.greedy import greedy
from bpd.errors import BpdError
from tests.decoding import reference
from tests.decoding.scripted_model import END, ScriptedModel, following, random_logits

SOURCE = [9, END]
CRITERIA = {
    "exact": (reference.accepts_exact, 1),
    "top1": (reference.accepts_top(1), 1),
    "top2": (reference.accepts_top(2), 1),
    "top3": (reference.accepts_top(3), 1),
    "distance0": (reference.accepts_distance(0), 1),
    "distance2": (reference.accepts_distance(2), 1),
    "minimum2": (reference.accepts_exact, 2),
    "minimum3": (reference.accepts_exact, 3),
}

limits_of_a_batch = st.lists(st.integers(1, 13), min_size=1, max_size=5)
kinds_of_logits = st.builds(
    random_logits,
    st.integers(0, 10**6),
    levels=st.sampled_from([None, None, 2, 3]),
    agreement=st.sampled_from([0.0, 0.6, 0.9, 1.0]),
    end_bias=st.sampled_from([-9.0, -2.0, 0.0]),
)
thorough = settings(derandomize=True, deadline=None, max_examples=120)


def make_inputs(limits: list[int]) -> list[list[int]]:
    """Return one distinct input a row, of different lengths."""
    return [[3 + row, *[4] * (row % 3), END] for row in range(len(limits))]


@thorough
@given(logits=kinds_of_logits, limits=limits_of_a_batch, k=st.integers(1, 10))
def test_exact_blockwise_decoding_is_greedy_decoding(logits, limits, k):
    inputs = make_inputs(limits)
    slow = greedy(ScriptedModel(logits, limits, k), inputs, limits)
    fast = blockwise(ScriptedModel(logits, limits, k), inputs, limits)
    for one, other in zip(slow, fast, strict=True):
        assert one.token_ids == other.token_ids
        assert one.stop == other.stop


@thorough
@given(
    logits=kinds_of_logits, limits=limits_of_a_batch, k=st.integers(1, 10), criterion=st.sampled_from(sorted(CRITERIA))
)
def test_every_criterion_does_as_the_definition_says(logits, limits, k, criterion):
    accepts, minimum = CRITERIA[criterion]
    k = max(k, minimum)
    inputs = make_inputs(limits)
    model = ScriptedModel(logits, limits, k)
    results = blockwise(model, inputs, limits, acceptance=Acceptance.parse(criterion))
    for row, (decoded, source, limit) in enumerate(zip(results, inputs, limits, strict=True)):
        tokens, sizes, calls = reference.blockwise(logits, source, limit, k, accepts, minimum)
        assert (decoded.token_ids, decoded.block_sizes, decoded.calls) == (tokens, sizes, calls)
        assert decoded.stop == ("end" if tokens[-1] == END else "length")
        assert decoded.calls == sum(row in rows for rows, _ in model.calls)


@thorough
@given(
    logits=kinds_of_logits, limits=limits_of_a_batch, k=st.integers(1, 10), criterion=st.sampled_from(["exact", "top2"])
)
def test_what_is_counted(logits, limits, k, criterion):
    results = blockwise(
        ScriptedModel(logits, limits, k), make_inputs(limits), limits, acceptance=Acceptance.parse(criterion)
    )
    for decoded, limit in zip(results, limits, strict=True):
        assert sum(decoded.block_sizes) == len(decoded.token_ids) <= limit
        assert all(1 <= size <= k for size in decoded.block_sizes)
        assert END not in decoded.token_ids[:-1]
        assert decoded.stop == "end" or len(decoded.token_ids) == limit
        assert decoded.iterations == len(decoded.block_sizes)
        assert decoded.iterations <= decoded.calls <= decoded.iterations + 1


@thorough
@given(
    logits=kinds_of_logits,
    limits=limits_of_a_batch,
    k=st.integers(1, 6),
    criterion=st.sampled_from(["exact", "top2", "distance1", "minimum1"]),
    chance=st.randoms(use_true_random=False),
)
def test_no_row_depends_on_its_neighbours(logits, limits, k, criterion, chance):
    inputs = make_inputs(limits)
    acceptance = Acceptance.parse(criterion)
    together = blockwise(ScriptedModel(logits, limits, k), inputs, limits, acceptance=acceptance)
    for row, limit in enumerate(limits):
        alone = blockwise(ScriptedModel(logits, [limit], k), [inputs[row]], [limit], acceptance=acceptance)
        assert alone == [together[row]]
    order = chance.sample(range(len(limits)), len(limits))
    shuffled = [limits[row] for row in order]
    mixed = blockwise(
        ScriptedModel(logits, shuffled, k), [inputs[row] for row in order], shuffled, acceptance=acceptance
    )
    assert mixed == [together[row] for row in order]


@thorough
@given(
    logits=kinds_of_logits,
    limits=limits_of_a_batch,
    k=st.integers(1, 10),
    criterion=st.sampled_from(["top1", "distance0", "minimum1"]),
)
def test_relaxed_criteria_shrink_to_the_exact_one(logits, limits, k, criterion):
    inputs = make_inputs(limits)
    exact = blockwise(ScriptedModel(logits, limits, k), inputs, limits)
    other = blockwise(ScriptedModel(logits, limits, k), inputs, limits, acceptance=Acceptance.parse(criterion))
    assert other == exact


@thorough
@given(logits=kinds_of_logits, limits=limits_of_a_batch, criterion=st.sampled_from(["exact", "top3", "distance2"]))
def test_a_block_of_one_is_greedy_decoding_whatever_the_criterion(logits, limits, criterion):
    inputs = make_inputs(limits)
    acceptance = Acceptance.parse(criterion)
    slow = greedy(ScriptedModel(logits, limits, 4), inputs, limits)
    assert blockwise(ScriptedModel(logits, limits, 4), inputs, limits, block_size=1, acceptance=acceptance) == slow
    assert blockwise(ScriptedModel(logits, limits, 1), inputs, limits, acceptance=acceptance) == slow


@thorough
@given(logits=kinds_of_logits, limits=limits_of_a_batch, k=st.integers(1, 6))
def test_a_smaller_block_uses_the_first_heads_only(logits, limits, k):
    inputs = make_inputs(limits)
    of_many = blockwise(ScriptedModel(logits, limits, 9), inputs, limits, block_size=k)
    assert of_many == blockwise(ScriptedModel(logits, limits, k), inputs, limits)


@pytest.mark.parametrize("k", range(1, 11))
@pytest.mark.parametrize("m", range(1, 13))
def test_perfect_heads_need_one_iteration_for_k_tokens(m, k):
    script = [3 + place % 6 for place in range(m - 1)]
    last = m - (math.ceil(m / k) - 1) * k
    for limit, tokens, stop in ((20, [*script, END], "end"), (m, [*script, 4], "length")):
        model = ScriptedModel(following(tokens), [limit], k)
        (decoded,) = blockwise(model, [SOURCE], [limit])
        assert (decoded.token_ids, decoded.stop) == (tokens, stop)
        assert decoded.block_sizes == [k] * (math.ceil(m / k) - 1) + [last]
        # The last block takes no call of its own where its one token, p₁'s own, ends the output.
        assert decoded.calls == len(model.calls) == decoded.iterations + (last > 1)


# k = 4 and the script 3 4 5 6 7 8 3 4 END; the heads that err are given as (position, head).
@pytest.mark.parametrize(
    ("wrong", "criterion", "sizes", "calls"),
    [
        ([], "exact", [4, 4, 1], 3),
        ([(2, 2)], "exact", [1, 4, 4], 4),
        ([(4, 4)], "exact", [3, 4, 2], 4),
        ([(3, 3), (6, 4)], "exact", [2, 3, 4], 4),
        ([(2, 2), (3, 2), (4, 2), (5, 2), (6, 2), (7, 2), (8, 2), (9, 2)], "exact", [1] * 9, 9),
        ([(9, 3)], "exact", [4, 4, 1], 3),  # No block asks the third head for position 9.
        ([(2, 2)], "top2", [4, 4, 1], 3),  # The wrong token is p₁'s second best.
        ([(2, 2)], "distance1", [4, 4, 1], 3),
        ([(2, 2)], "minimum2", [4, 4, 1], 3),
        ([(2, 2), (3, 3)], "minimum2", [2, 4, 3], 4),
        ([(3, 3)], "minimum2", [2, 4, 3], 4),
        ([(2, 2), (3, 3)], "minimum3", [4, 4, 1], 3),
        ([(4, 4)], "minimum2", [3, 4, 2], 3),  # The last block, both of whose tokens pass in any case.
    ],
)
def test_blocks_counted_by_hand(wrong, criterion, sizes, calls):
    script = [3, 4, 5, 6, 7, 8, 3, 4, END]
    model = ScriptedModel(following(script, wrong), [30], 4)
    (decoded,) = blockwise(model, [SOURCE], [30], acceptance=Acceptance.parse(criterion))
    assert decoded.block_sizes == sizes
    assert decoded.calls == calls
    if criterion == "exact":
        assert decoded.token_ids == script


def test_an_accepted_wrong_token_is_emitted_and_the_next_is_judged_after_it():
    script = [3, 4, 5, 6, END]
    wrong = [(2, 2), (4, 4)]
    (decoded,) = blockwise(
        ScriptedModel(following(script, wrong), [9], 4), [SOURCE], [9], acceptance=Acceptance.parse("top2")
    )
    assert (decoded.token_ids, decoded.block_sizes) == ([3, 5, 5, 7, END], [4, 1])


def test_an_end_symbol_that_is_not_accepted_does_not_end_the_output():
    # The second head says END after 3, p₁ says 1 first and END second.
    script = [3, 1, 4, END]
    exact, top2 = (
        blockwise(
            ScriptedModel(following(script, [(2, 2)]), [9], 3), [SOURCE], [9], acceptance=Acceptance.parse(criterion)
        )[0]
        for criterion in ("exact", "top2")
    )
    assert (exact.token_ids, exact.block_sizes, exact.calls) == (script, [1, 3], 3)
    assert (top2.token_ids, top2.block_sizes, top2.calls) == ([3, END], [2], 2)


@pytest.mark.parametrize("limit", range(1, 9))
def test_a_block_ends_at_the_length_limit(limit):
    model = ScriptedModel(following([3, 4, 5, 6, 7, 8, 3, 4, 5]), [limit], 3)
    (decoded,) = blockwise(model, [SOURCE], [limit])
    assert len(decoded.token_ids) == limit
    assert decoded.block_sizes == [3] * (limit // 3) + ([limit % 3] if limit % 3 else [])
    assert decoded.stop == "length"


def test_calls_read_no_more_than_can_be_accepted():
    def widths(script, limit, k):
        model = ScriptedModel(following(script), [limit], k)
        blockwise(model, [SOURCE], [limit])
        return [width for _, width in model.calls]

    assert widths([3, 4, 5, 6, 7, 8, 3, 4, END], 30, 4) == [1, 4, 4]
    assert widths([3, 4, 5, 6, 7, 8, END], 30, 4) == [1, 4, 2]
    assert widths([3, 4, 5, 6, 7, 8, 3, 4], 6, 4) == [1, 4, 1]
    assert widths([END], 30, 4) == [1]
    assert widths([3, 4, 5], 1, 4) == [1]
    assert widths([3, 4, 5, END], 30, 1) == [1, 1, 1, 1]


def test_rows_that_have_ended_leave_the_batch_at_once():
    model = ScriptedModel(following([3, 4, 5, 6, 7, END]), [1, 9, 4, 2], 2)
    results = blockwise(model, [[3, END], [4, END], [5, END], [6, END]], model.limits)
    assert [decoded.block_sizes for decoded in results] == [[1], [2, 2, 2], [2, 2], [2]]
    assert model.calls == [([0, 1, 2, 3], 1), ([1, 2, 3], 2), ([1, 2], 2), ([1], 1)]
    assert [decoded.calls for decoded in results] == [1, 4, 3, 2]


@pytest.mark.parametrize("criterion", ["exact", "top1", "top3", "distance2", "minimum3"])
@pytest.mark.parametrize("vocabulary", [2, 7])
def test_all_equal_logits_give_the_lowest_id(vocabulary, criterion):
    model = ScriptedModel(lambda source, prefix, head: [0.5] * vocabulary, [7], 3)
    (decoded,) = blockwise(model, [SOURCE], [7], acceptance=Acceptance.parse(criterion))
    assert (decoded.token_ids, decoded.block_sizes) == ([0] * 7, [3, 3, 1])
    assert greedy(model, [SOURCE], [7])[0].token_ids == [0] * 7


def test_each_step_is_told():
    steps: list[Step] = []
    script = [3, 4, 5, 6, END]
    model = ScriptedModel(following(script, [(3, 3)]), [9], 3)
    (decoded,) = blockwise(model, [SOURCE], [9], on_step=steps.append)
    assert steps == [Step(0, [3, 4, 6], 2), Step(0, [5, 6, END], 3)]
    assert [step.accepted for step in steps] == decoded.block_sizes
    steps.clear()
    blockwise(ScriptedModel(following(script), [9, 2], 3), [[3, END], [4, END]], [9, 2], on_step=steps.append)
    assert [(step.row, step.accepted) for step in steps] == [(0, 3), (1, 2), (0, 2)]


def test_no_inputs_give_no_outputs():
    assert blockwise(ScriptedModel(following([END]), [], 2), [], []) == []


def test_the_exact_criterion_is_the_default():
    script = [3, 4, 5, END]
    model = ScriptedModel(following(script, [(2, 2)]), [9], 2)
    assert blockwise(model, [SOURCE], [9]) == blockwise(model, [SOURCE], [9], acceptance=EXACT)
    assert blockwise(model, [SOURCE], [9])[0].token_ids == script


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"block_size": 4}, "block size 4 is not possible: the model has k = 3"),
        ({"block_size": 0}, "block size 0 is not possible"),
        ({"acceptance": Acceptance.parse("minimum4")}, "minimum block size 4 is larger than the block size 3"),
        ({"acceptance": Acceptance.parse("minimum2"), "block_size": 1}, "minimum block size 2 is larger"),
    ],
)
def test_impossible_block_sizes_are_refused(options, message):
    with pytest.raises(BpdError, match=message):
        blockwise(ScriptedModel(following([END]), [5], 3), [SOURCE], [5], **options)


@pytest.mark.parametrize(("limits", "message"), [([], "1 inputs were given, but 0"), ([0], r"max_lengths\[0\] is 0")])
def test_impossible_limits_are_refused(limits, message):
    with pytest.raises(BpdError, match=message):
        blockwise(ScriptedModel(following([END]), limits, 3), [SOURCE], limits)
