"""Perfect proposals: greedy's outputs, k tokens an iteration; and the recorded calls are those of a decoding."""

import pytest
import torch

from bench.bare_forward import AlreadyStarted, RecordedCalls, replay
from bench.models import Dimensions, image_config, image_model, sentences, translation_model
from bench.perfect_proposals import PerfectProposals
from bpd.config import TransformerConfig
from bpd.decoding.blockwise import blockwise
from bpd.decoding.greedy import greedy
from bpd.evaluation.timing import WithoutEnd

SHAPE = Dimensions(
    "tiny",
    TransformerConfig(
        d_model=16, d_ff=24, attention_heads=2, encoder_layers=1, decoder_layers=2,
        residual_dropout=0.1, attention_dropout=0.1, relu_dropout=0.1,
    ),
    50,
)  # fmt: skip


@pytest.fixture
def model():
    """A model with k = 4 whose outputs vary."""
    model = translation_model(SHAPE, 4)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.6)
    return model


@pytest.mark.parametrize(("rows", "tokens", "cached"), [(1, 12, True), (3, 12, True), (3, 12, False), (2, 13, True)])
def test_all_proposals_are_accepted_and_the_output_is_greedy_s(model, rows, tokens, cached):
    source, limits = sentences(rows, 7, SHAPE.vocabulary_size), [tokens] * rows
    plain = greedy(WithoutEnd(model), source, limits)
    perfect = PerfectProposals(model, source, tokens)
    decoded = blockwise(perfect, source, limits, cached=cached)
    assert [one.token_ids for one in decoded] == [one.token_ids for one in plain] == perfect.outputs
    whole, rest = divmod(tokens, 4)
    assert all(one.block_sizes == [4] * whole + [rest] * (rest > 0) for one in decoded)


@pytest.mark.parametrize("right", [1, 2, 3])
def test_spoiled_proposals_are_refused(model, right):
    source = sentences(2, 7, SHAPE.vocabulary_size)
    plain = greedy(WithoutEnd(model), source, [12, 12])
    decoded = blockwise(PerfectProposals(model, source, 12).spoiled(right), source, [12, 12])
    assert [one.token_ids for one in decoded] == [one.token_ids for one in plain]
    assert all(one.block_sizes == [right] * (12 // right) for one in decoded)


def test_the_first_proposal_is_always_p1_s_own(model):
    with pytest.raises(ValueError, match="p₁'s own"):
        PerfectProposals(model, sentences(1, 7, SHAPE.vocabulary_size), 8).spoiled(0)
    source, other = (sentences(2, 7, SHAPE.vocabulary_size, seed) for seed in (1, 2))
    plain = [one.token_ids for one in greedy(WithoutEnd(model), other, [12, 12])]
    misled = PerfectProposals(model, source, 12)
    assert misled.outputs != plain
    assert [one.token_ids for one in blockwise(misled, other, [12, 12])] == plain


def test_heads_are_overruled_beyond_p1_alone(model):
    source = sentences(1, 7, SHAPE.vocabulary_size)
    perfect = PerfectProposals(model, source, 12)
    begin, first = torch.tensor([[model.begin_id]]), torch.tensor([0])
    with torch.inference_mode():
        own = model.start(source).advance(begin).proposing(first)
        told = perfect.start(source).advance(begin).proposing(first)
    assert torch.equal(own[:, 0], told[:, 0])
    assert told.argmax(-1).tolist() == [perfect.outputs[0][:4]]
    assert torch.equal(told.isinf().sum(-1), torch.tensor([[0, 1, 1, 1]]))


def test_the_first_rows_can_be_decoded_alone(model):
    source = sentences(3, 7, SHAPE.vocabulary_size)
    perfect = PerfectProposals(model, source, 8)
    (first,) = blockwise(perfect.first(1), source[:1], [8])
    assert first.token_ids == perfect.outputs[0] and first.block_sizes == [4, 4]


def test_images_have_perfect_proposals_too():
    model, source = image_model(image_config("mini"), 16, 4), [[100] * 192]
    (decoded,) = blockwise(PerfectProposals(model, source, 24), source, [24])
    assert decoded.block_sizes == [4] * 6
    assert decoded.token_ids == greedy(model, source, [24])[0].token_ids


def test_recorded_calls_are_those_of_the_decoding_and_can_be_made_again(model):
    source = sentences(1, 7, SHAPE.vocabulary_size)
    recorded = RecordedCalls(PerfectProposals(model, source, 12))
    (decoded,) = blockwise(recorded, source, [12])
    calls = recorded.calls
    # The begin symbol alone, two whole blocks, and the last one without the token that nothing follows.
    assert [(call.held, call.tokens.shape[1], call.scored) for call in calls] == [
        (0, 1, False), (1, 4, True), (5, 4, True), (9, 3, True),
    ]  # fmt: skip
    assert len(calls) == decoded.calls
    assert torch.cat([call.tokens for call in calls[1:]], dim=1).tolist() == [decoded.token_ids[:-1]]
    again = RecordedCalls(model)
    decoder = again.start(source)
    replay(decoder, calls)
    # As the suite does it: whole blocks alone, by a decoder that holds the output already.
    replay(decoder, calls[1:-1])
    assert [(call.held, call.tokens.shape[1]) for call in again.calls[len(calls) :]] == [(1, 4), (5, 4)]
    del again.calls[len(calls) :]
    assert [(call.held, call.tokens.tolist(), call.scored) for call in again.calls] == [
        (call.held, call.tokens.tolist(), call.scored) for call in calls
    ]


def test_greedy_scores_each_call_and_proposes_at_none(model):
    recorded = RecordedCalls(WithoutEnd(model))
    greedy(recorded, sentences(1, 7, SHAPE.vocabulary_size), [3])
    assert [(call.held, call.scored, call.positions) for call in recorded.calls] == [
        (0, True, None), (1, True, None), (2, True, None),
    ]  # fmt: skip


def test_a_started_decoder_decodes_the_same_again_and_again(model):
    source = sentences(1, 7, SHAPE.vocabulary_size)
    perfect = PerfectProposals(model, source, 70)
    started = AlreadyStarted(perfect, source)
    decoded = [blockwise(started, source, [70])[0].token_ids for _ in range(2)]
    assert decoded == [perfect.outputs[0]] * 2
