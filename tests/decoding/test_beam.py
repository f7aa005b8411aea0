"""Beam search against the enumeration of every output, and on hypotheses scored by hand."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bpd.decoding.beam import beam, beam_n_best
from bpd.decoding.greedy import greedy
from bpd.errors import BpdError
from tests.decoding import reference
from tests.decoding.scripted_model import END, Logits, ScriptedModel, random_logits

SOURCE = (5, END)
# Four symbols, 0, 1, 3 and 4, beside the end symbol; 4⁴ live hypotheses of length 4 and more need no pruning.
SYMBOLS, LONGEST, EXHAUSTIVE = (0, 1, 3, 4), 5, 1024
PENALTIES = (0.0, 0.6, 1.0)


def spelled(probabilities: dict[tuple[int, ...], dict[int, float]], vocabulary: int = 8) -> Logits:
    """Return p₁ with the given probabilities after each prefix; tokens not named are impossible there."""

    def logits(source: tuple[int, ...], prefix: tuple[int, ...], head: int) -> list[float]:
        named = probabilities.get(prefix, {0: 1.0})
        return [math.log(named[token]) if token in named else -math.inf for token in range(vocabulary)]

    return logits


@pytest.mark.parametrize("block", range(5))
def test_an_exhaustive_beam_finds_the_best_of_all_outputs(block):
    """A hundred random tables, twenty a block."""
    sequences = reference.all_ended(SYMBOLS, LONGEST)
    assert len(sequences) == 341
    for seed in range(20 * block, 20 * block + 20):
        logits = random_logits(seed, 5, end_bias=-1.0 - seed % 4)
        for penalty in PENALTIES:
            expected = sorted(
                ((reference.normalised_score(logits, SOURCE, tokens, penalty), tokens) for tokens in sequences),
                reverse=True,
            )
            model = ScriptedModel(logits, [LONGEST], idle_rows=True)
            (best,) = beam(model, [SOURCE], [LONGEST], beam_size=EXHAUSTIVE, length_penalty=penalty)
            assert (tuple(best.token_ids), best.stop) == (expected[0][1], "end")
            assert best.score == pytest.approx(expected[0][0], abs=1e-5)
            assert best.calls == len(model.calls)
            if seed % 5 == 0:
                (found,) = beam_n_best(model, [SOURCE], [LONGEST], beam_size=EXHAUSTIVE, length_penalty=penalty)
                assert [tuple(one.token_ids) for one in found] == [tokens for _, tokens in expected]
                assert [one.score for one in found] == pytest.approx([score for score, _ in expected], abs=1e-5)


def expected_by_the_original_rules(
    logits: Logits, source: tuple[int, ...], limit: int, size: int, penalty: float, wanted: int
) -> list[tuple[tuple[int, ...], float, str]]:
    """Return Tensor2Tensor's beam search of one sentence, in plain Python: tokens, normalised score and stop."""

    def divisor(length: int) -> float:
        return ((5 + length) / 6) ** penalty

    live: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    ended: list[tuple[float, tuple[int, ...]]] = []
    for length in range(1, limit + 1):
        candidates = []
        for score, tokens in live:
            values = logits(source, tokens, 1)
            total = math.log(sum(math.exp(value) for value in values))
            candidates += [(score + value - total, (*tokens, token)) for token, value in enumerate(values)]
        candidates = sorted(candidates, key=lambda candidate: -candidate[0])[: 2 * size]
        new = [(score / divisor(length), tokens) for score, tokens in candidates if tokens[-1] == END]
        ended = sorted(ended + new, key=lambda one: -one[0])[:size]
        live = [candidate for candidate in candidates if candidate[1][-1] != END][:size]
        if not live or (len(ended) >= wanted and ended[wanted - 1][0] >= live[0][0] / divisor(limit)):
            break
    if ended:
        return [(tokens, score, "end") for score, tokens in ended[:wanted]]
    return [(live[0][1], live[0][0] / divisor(limit), "length")]


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    limits=st.lists(st.integers(1, 8), min_size=1, max_size=4),
    size=st.integers(2, 5),
    penalty=st.sampled_from(PENALTIES),
    end_bias=st.sampled_from([-4.0, -1.0, 1.0]),
)
def test_narrow_beams_search_as_the_original_did_and_sentences_do_not_meet(seed, limits, size, penalty, end_bias):
    logits = random_logits(seed, 7, end_bias=end_bias)
    inputs = [(3 + row, END) for row in range(len(limits))]
    for wanted in (1, size):
        model = ScriptedModel(logits, limits)
        options = {"beam_size": size, "length_penalty": penalty}
        if wanted == 1:
            results = [[one] for one in beam(model, inputs, limits, **options)]
        else:
            results = beam_n_best(model, inputs, limits, **options)
        for row, (found, source, limit) in enumerate(zip(results, inputs, limits, strict=True)):
            expected = expected_by_the_original_rules(logits, source, limit, size, penalty, wanted)
            assert [(tuple(one.token_ids), one.stop) for one in found] == [(ids, stop) for ids, _, stop in expected]
            assert [one.score for one in found] == pytest.approx([score for _, score, _ in expected], abs=1e-5)
            # A sentence whose search is over leaves the batch.
            assert found[0].calls == sum(row in rows for rows, _ in model.calls) <= limit


@settings(derandomize=True, deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    limits=st.lists(st.integers(1, 8), min_size=1, max_size=4),
    size=st.integers(2, 5),
    levels=st.sampled_from([None, 2]),
    penalty=st.sampled_from(PENALTIES),
)
def test_every_list_is_sorted_and_every_hypothesis_ends_once(seed, limits, size, levels, penalty):
    inputs = [(3 + row, END) for row in range(len(limits))]
    model = ScriptedModel(random_logits(seed, 6, levels=levels, end_bias=-1.0), limits)
    for found, limit in zip(
        beam_n_best(model, inputs, limits, beam_size=size, length_penalty=penalty), limits, strict=True
    ):
        assert 1 <= len(found) <= size
        scores = [one.score for one in found]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(one.token_ids) for one in found}) == len(found)
        for one in found:
            assert END not in one.token_ids[:-1]
            assert one.block_sizes == [1] * len(one.token_ids)
            if one.token_ids[-1] == END:
                assert one.stop == "end" and len(one.token_ids) <= limit
            else:
                assert one.stop == "length" and len(one.token_ids) == limit and len(found) == 1


@settings(derandomize=True, deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    limits=st.lists(st.integers(1, 10), min_size=1, max_size=4),
    levels=st.sampled_from([None, 2]),
)
def test_a_beam_of_one_is_greedy_decoding(seed, limits, levels):
    inputs = [(3 + row, END) for row in range(len(limits))]
    model = ScriptedModel(random_logits(seed, 6, levels=levels, end_bias=-1.0), limits)
    expected = greedy(model, inputs, limits)
    assert beam(model, inputs, limits, beam_size=1, length_penalty=0.6) == expected
    assert beam_n_best(model, inputs, limits, beam_size=1, length_penalty=0.6) == [[one] for one in expected]


# log P of (3, END) is −2.0, at length 2; of (4, 5, 6, 7, 3, END) it is −2.4, at length 6. The rest of the probability
# goes to symbol 0, after which the end symbol is next to impossible.
SHORT, LONG = [3, END], [4, 5, 6, 7, 3, END]
PAIR = spelled(
    {
        (): {3: math.exp(-2.0), 4: math.exp(-2.4), 0: 1 - math.exp(-2.0) - math.exp(-2.4)},
        (3,): {END: 1.0},
        **{tuple(LONG[:length]): {LONG[length]: 1.0} for length in range(1, 6)},
        **{(0,) * length: {0: 1 - 1e-6, END: 1e-6} for length in range(1, 8)},
    }
)


def test_the_penalty_flips_the_order_of_a_short_and_a_long_hypothesis():
    def found(penalty):
        model = ScriptedModel(PAIR, [8], idle_rows=True)
        return beam_n_best(model, [SOURCE], [8], beam_size=4, length_penalty=penalty)[0][:2]

    assert [one.token_ids for one in found(0.0)] == [SHORT, LONG]
    assert [one.score for one in found(0.0)] == pytest.approx([-2.0, -2.4], abs=1e-5)
    assert [one.token_ids for one in found(1.0)] == [LONG, SHORT]
    # The end symbol counts: divided by (5 + 6) / 6 and by (5 + 2) / 6.
    assert [one.score for one in found(1.0)] == pytest.approx([-2.4 * 6 / 11, -2.0 * 6 / 7], abs=1e-5)
    for penalty, winner in ((0.0, SHORT), (0.6, LONG), (1.0, LONG)):
        (best,) = beam(ScriptedModel(PAIR, [8], idle_rows=True), [SOURCE], [8], beam_size=4, length_penalty=penalty)
        assert best.token_ids == winner


def test_the_search_stops_as_soon_as_nothing_live_can_win():
    # Half the probability ends at once, and a live hypothesis keeps at most 0.3 of it.
    logits = spelled(
        {
            (): {END: 0.6, 3: 0.3, 4: 0.1},
            **{(3, *[3] * length): {3: 0.999, END: 0.001} for length in range(12)},
            **{(4, *[3] * length): {3: 0.999, END: 0.001} for length in range(12)},
        }
    )
    model = ScriptedModel(logits, [12])
    (best,) = beam(model, [SOURCE], [12], beam_size=2, length_penalty=0.0)
    assert (best.token_ids, best.calls, len(model.calls)) == ([END], 1, 1)
    # With the penalty, log 0.3 over the twelfth length's divisor is better than log 0.6: the search must go on.
    assert math.log(0.3) / (17 / 6) > math.log(0.6)
    model = ScriptedModel(logits, [12])
    (best,) = beam(model, [SOURCE], [12], beam_size=2, length_penalty=1.0)
    assert best.token_ids == [END] and best.calls == 12


def test_the_best_hypothesis_cut_at_the_limit_is_returned_only_if_none_ended():
    logits = spelled(
        {
            (): {3: 0.6, 4: 0.4},
            (3,): {3: 0.4, 4: 0.3, 0: 0.3 - 1e-3, END: 1e-3},
            (4,): {3: 1.0 - 1e-3, END: 1e-3},
        }
    )
    options = {"beam_size": 2, "length_penalty": 1.0}
    (cut,) = beam(ScriptedModel(logits, [2]), [SOURCE], [2], **options)
    # (4, 3) of probability 0.4 · 0.999 passes (3, 3) of 0.6 · 0.4; the divisor is (5 + 2) / 6.
    assert (cut.token_ids, cut.stop) == ([4, 3], "length")
    assert cut.score == pytest.approx(math.log(0.4 * 0.999) * 6 / 7, abs=1e-5)
    (found,) = beam_n_best(ScriptedModel(logits, [2]), [SOURCE], [2], **options)
    assert found == [cut]
    # Among the 2 · 4 best, (3, END) is found, and preferred although it is far less probable.
    wide = {"beam_size": 4, "length_penalty": 1.0}
    (ended,) = beam(ScriptedModel(logits, [2], idle_rows=True), [SOURCE], [2], **wide)
    assert (ended.token_ids, ended.stop) == ([3, END], "end")


def test_equally_good_hypotheses_are_chosen_by_beam_and_id():
    # Everything has the same probability, so the shortest output is the best, and cannot be surpassed.
    model = ScriptedModel(lambda source, prefix, head: [0.0] * 5, [4])
    (found,) = beam_n_best(model, [SOURCE], [4], beam_size=4, length_penalty=0.0)
    assert [one.token_ids for one in found] == [[END], [0, END], [1, END], [0, 0, END]]
    # The end symbol is far down the list: it never is among the 2 · 2 best, whose ids are the lowest.
    flat = torch.zeros(300)
    flat[END] = -30.0
    model = ScriptedModel(lambda source, prefix, head: flat.tolist(), [3, 5])
    results = beam(model, [SOURCE, SOURCE], [3, 5], beam_size=2, length_penalty=0.6)
    assert [(one.token_ids, one.stop) for one in results] == [([0] * 3, "length"), ([0] * 5, "length")]


def test_no_inputs_give_no_outputs():
    assert beam(ScriptedModel(PAIR, []), [], [], beam_size=3, length_penalty=0.6) == []
    assert beam_n_best(ScriptedModel(PAIR, []), [], [], beam_size=3, length_penalty=0.6) == []


@pytest.mark.parametrize(
    ("limits", "size", "penalty", "message"),
    [
        ([5], 0, 0.6, "beam size 0"),
        ([5], 4, -0.1, "length penalty -0.1"),
        ([0], 4, 0.6, r"max_lengths\[0\] is 0"),
        ([5, 5], 4, 0.6, "1 inputs were given, but 2 length limits"),
    ],
)
def test_impossible_searches_are_refused(limits, size, penalty, message):
    for search in (beam, beam_n_best):
        with pytest.raises(BpdError, match=message):
            search(ScriptedModel(PAIR, limits), [SOURCE], limits, beam_size=size, length_penalty=penalty)
