"""A17: beam search compares hypotheses on equal terms, held against the enumeration of all outputs of a real model.

Also: a hundred scripted tables against brute force, the original's rules for narrow beams, the pair of hypotheses
whose order the penalty flips, early stops, ties and refusals (tests/decoding/test_beam.py), and independence from
batch and cache (tests/decoding/test_real_models.py).
"""

from __future__ import annotations

import itertools
from functools import cache

import pytest
import torch

from bpd.config import TransformerConfig
from bpd.decoding.beam import beam, beam_n_best
from bpd.decoding.greedy import greedy
from bpd.models.translation_model import TranslationModel
from tests.decoding.scripted_model import ScriptedModel
from tests.decoding.test_beam import spelled

VOCABULARY, END, LONGEST = 6, 2, 5
# The end symbol apart, every token may be emitted, the padding and begin symbols too.
SYMBOLS = [token for token in range(VOCABULARY) if token != END]
EXHAUSTIVE = len(SYMBOLS) ** (LONGEST - 1)
PENALTIES = (0.0, 0.6, 1.0)
SOURCES = [[3, 4, END], [5, END]]
CONFIG = TransformerConfig(
    d_model=16, d_ff=24, attention_heads=2, encoder_layers=1, decoder_layers=1,
    residual_dropout=0.0, attention_dropout=0.0, relu_dropout=0.0,
)  # fmt: skip


@cache
def random_model(seed: int) -> TranslationModel:
    torch.manual_seed(seed)
    model = TranslationModel(CONFIG, VOCABULARY).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5)
    return model


@torch.no_grad()
def log_probabilities(model: TranslationModel, source: list[int], outputs: list[list[int]]) -> list[float]:
    """Return log P of each of `outputs`, all of one length, from one forward pass over each whole output."""
    target = torch.tensor(outputs)
    states = model.training_states(torch.tensor([source]).expand(len(outputs), -1), target)
    logs = model.transformer.logits(states).log_softmax(-1)
    return logs.gather(-1, target.unsqueeze(-1)).sum((1, 2)).tolist()


@cache
def all_outputs(seed: int, row: int, longest: int = LONGEST) -> list[tuple[float, list[int]]]:
    """Return every output that ends within `longest` tokens, with its log-probability."""
    found = []
    for length in range(longest):
        outputs = [[*tokens, END] for tokens in itertools.product(SYMBOLS, repeat=length)]
        found += zip(log_probabilities(random_model(seed), SOURCES[row], outputs), outputs, strict=True)
    return found


def best_first(outputs: list[tuple[float, list[int]]], penalty: float) -> list[tuple[float, list[int]]]:
    """Return `outputs` by log P / ((5 + |y|)^α / 6^α), the end symbol counted in |y|."""
    return sorted(((log / ((5 + len(y)) ** penalty / 6**penalty), y) for log, y in outputs), reverse=True)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("seed", range(4))
def test_a17_an_exhaustive_beam_finds_the_best_of_all_outputs(seed, penalty):
    results = beam(
        random_model(seed), SOURCES, [LONGEST] * 2, beam_size=EXHAUSTIVE * len(SYMBOLS), length_penalty=penalty
    )
    for row, found in enumerate(results):
        score, tokens = best_first(all_outputs(seed, row), penalty)[0]
        assert (found.token_ids, found.stop) == (tokens, "end")
        assert found.score == pytest.approx(score, abs=1e-4)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("beam_size", [2, 4, 9])
def test_a17_each_list_is_sorted_by_the_score_that_its_hypotheses_have_when_scored_again(beam_size, penalty):
    lists = beam_n_best(random_model(1), SOURCES, [LONGEST] * 2, beam_size=beam_size, length_penalty=penalty)
    for row, found in enumerate(lists):
        scores = [one.score for one in found]
        assert 1 <= len(found) <= beam_size and scores == sorted(scores, reverse=True)
        for one in found:
            (log,) = log_probabilities(random_model(1), SOURCES[row], [one.token_ids])
            assert one.score == pytest.approx(log * 6**penalty / (5 + len(one.token_ids)) ** penalty, abs=1e-4)
            ended = one.token_ids.count(END) == 1 and one.token_ids[-1] == END
            assert ended if one.stop == "end" else END not in one.token_ids and len(one.token_ids) == LONGEST


def test_a17_penalties_choose_different_lengths_of_the_same_outputs():
    """Were the divisor the step's and not the hypothesis' own, no penalty could change the order."""
    lengths = {penalty: [] for penalty in PENALTIES}
    for seed, penalty in itertools.product(range(4), PENALTIES):
        for found in beam(random_model(seed), SOURCES, [LONGEST] * 2, beam_size=60, length_penalty=penalty):
            lengths[penalty].append(len(found.token_ids))
    assert all(short <= long for short, long in zip(lengths[0.0], lengths[1.0], strict=True))
    assert lengths[0.0] != lengths[1.0]


@pytest.mark.parametrize("seed", range(4))
def test_a17_a_beam_of_one_is_greedy_decoding(seed):
    model = random_model(seed)
    assert beam(model, SOURCES, [9, 4], beam_size=1, length_penalty=0.6) == greedy(model, SOURCES, [9, 4])


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a17_each_sentence_is_searched_to_its_own_limit(penalty):
    """The kind, in a batch: what can still win depends on the sentence's limit, not on the longest of the batch."""
    limits = [2, LONGEST]
    together = beam(random_model(2), SOURCES, limits, beam_size=200, length_penalty=penalty)
    for row, (found, limit) in enumerate(zip(together, limits, strict=True)):
        score, tokens = best_first(all_outputs(2, row, limit), penalty)[0]
        assert found.token_ids == tokens and found.score == pytest.approx(score, abs=1e-4)


def test_a17_a_sentence_that_cannot_end_is_cut_and_says_so():
    """No end within the limit: the best hypothesis of that length, marked, instead of a worse one that ended."""
    model = random_model(3)
    never = TranslationModel(CONFIG, VOCABULARY).eval()
    never.load_state_dict(model.state_dict())
    never.end_id = VOCABULARY
    (found,) = beam(never, SOURCES[:1], [3], beam_size=300, length_penalty=0.6)
    outputs = [list(tokens) for tokens in itertools.product(range(VOCABULARY), repeat=3)]
    best = max(zip(log_probabilities(never, SOURCES[0], outputs), outputs, strict=True))
    assert (found.token_ids, found.stop) == (best[1], "length")
    assert found.score == pytest.approx(best[0] * 6**0.6 / 8**0.6, abs=1e-4)


@pytest.mark.parametrize(("penalty", "wins"), [(0.0, [END]), (0.6, [3, 4, 5, 4, 3, END]), (1.0, [3, 4, 5, 4, 3, END])])
@pytest.mark.parametrize("beam_size", [2, 3])
def test_a17_a_short_end_does_not_end_the_search_for_a_long_one(beam_size, penalty, wins):
    """By hand: the end at once is a little more probable than five sure tokens more, until both are divided."""
    long = [3, 4, 5, 4, 3, END]
    sure = {tuple(long[:length]): {long[length]: 0.999, 0: 0.001} for length in range(1, 6)}
    other = {(0,) * length: {0: 0.999, END: 0.001} for length in range(1, 8)}
    logits = spelled({(): {END: 0.36, 3: 0.35, 0: 0.29}, **sure, **other})
    model = ScriptedModel(logits, [7], idle_rows=True)
    (found,) = beam(model, [[5, END]], [7], beam_size=beam_size, length_penalty=penalty)
    assert found.token_ids == wins
