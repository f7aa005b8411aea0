"""Beam search with a length penalty, as the original code searched: for baselines and for distillation."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from bpd.decoding.greedy import greedy
from bpd.decoding.protocol import DecodableModel, require_limits
from bpd.decoding.results import Decoded
from bpd.errors import BpdError

_NONE = float("-inf")


def length_penalty_divisor(length: int | Tensor, length_penalty: float) -> float | Tensor:
    """Return (5 + |y|)^α / 6^α, by which log-probabilities are divided; |y| counts the end symbol."""
    return ((5.0 + length) / 6.0) ** length_penalty


def beam(
    model: DecodableModel,
    inputs: Sequence[Sequence[int]],
    max_lengths: Sequence[int],
    *,
    beam_size: int,
    length_penalty: float,
    cached: bool = True,
) -> list[Decoded]:
    """Return the best hypothesis of each of `inputs`, of at most `max_lengths` tokens (end symbol included).

    A beam of one is greedy decoding, as it was in the original code: it compares nothing, and gives no score. Where no
    hypothesis ends within the limit, the best one cut there is returned; one that ends is always preferred to it.
    Raises `BpdError` for a beam below 1, a negative penalty, and a length limit that is missing or below 1.
    """
    found = _search(model, inputs, max_lengths, beam_size, length_penalty, wanted=1, cached=cached)
    return [hypotheses[0] for hypotheses in found]


def beam_n_best(
    model: DecodableModel,
    inputs: Sequence[Sequence[int]],
    max_lengths: Sequence[int],
    *,
    beam_size: int,
    length_penalty: float,
    cached: bool = True,
) -> list[list[Decoded]]:
    """Return up to `beam_size` ended hypotheses of each of `inputs`, the best by normalised score first.

    The search goes on until none of them can be surpassed. All else is as for `beam`: in particular, where none ends
    within the limit, the best one cut there is the only one.
    """
    return _search(model, inputs, max_lengths, beam_size, length_penalty, wanted=beam_size, cached=cached)


class _Hypotheses:
    """The live and the ended hypotheses of all sentences under way; rows are sentences, columns beams, best first."""

    def __init__(self, sentences: Tensor, limits: Tensor, beam_size: int, longest: int) -> None:
        count, device = len(sentences), sentences.device
        self.sentences = sentences
        self.limits = limits
        self.live_tokens = torch.zeros((count, 1, longest), dtype=torch.int64, device=device)
        self.live_scores = torch.zeros((count, 1), device=device)
        self.ended_tokens = torch.zeros((count, beam_size, longest), dtype=torch.int64, device=device)
        self.ended_scores = torch.full((count, beam_size), _NONE, device=device)
        self.ended_lengths = torch.zeros((count, beam_size), dtype=torch.int64, device=device)

    def keep(self, places: Tensor) -> None:
        """Keep the sentences at `places` only."""
        for name, value in vars(self).items():
            setattr(self, name, value[places])


def _pick(values: Tensor, columns: Tensor) -> Tensor:
    """Return `values` [rows, columns, …] at the chosen columns of each row."""
    return values[torch.arange(len(values), device=values.device)[:, None], columns]


def _best(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the `count` best of each row of `scores` [rows, columns], best first, and their columns.

    Equally good ones keep the order of their columns. `topk` promises no order, so rows with ties are sorted instead,
    of a trained model next to none; which of the impossible ones (−∞) are taken is of no consequence.
    """
    best, columns = scores.topk(min(count + 1, scores.shape[1]), dim=1)
    tied = ((best[:, 1:] == best[:, :-1]) & (best[:, 1:] > _NONE)).any(dim=1)
    if bool(tied.any()):
        ordered = scores[tied].sort(dim=1, descending=True, stable=True)
        best[tied], columns[tied] = (part[:, : best.shape[1]] for part in ordered)
    return best[:, :count], columns[:, :count]


@torch.inference_mode()
def _search(
    model: DecodableModel,
    inputs: Sequence[Sequence[int]],
    max_lengths: Sequence[int],
    beam_size: int,
    length_penalty: float,
    *,
    wanted: int,
    cached: bool,
) -> list[list[Decoded]]:
    """Search until no live hypothesis of a sentence can surpass its `wanted` best ended ones.

    At each step the 2·`beam_size` best extensions are looked at. Those with the end symbol join the ended
    hypotheses, of which the best are kept; the best of the others live on. A live hypothesis of log-probability s
    can reach s / divisor(limit) at the most, since log-probabilities only fall and divisors only grow.
    """
    require_limits(inputs, max_lengths)
    if beam_size < 1 or length_penalty < 0:
        raise BpdError(f"beam size {beam_size} with length penalty {length_penalty}: expected 1 or more, and 0 or more")
    if not inputs:
        return []
    if beam_size == 1:
        return [[decoded] for decoded in greedy(model, inputs, max_lengths, cached=cached)]
    device = model.device
    results: list[list[Decoded]] = [[] for _ in inputs]
    decoder = model.start(inputs, cached=cached)
    state = _Hypotheses(
        torch.arange(len(results), device=device),
        torch.tensor(list(max_lengths), device=device),
        beam_size,
        max(max_lengths),
    )
    last = torch.full((len(results), 1), model.begin_id, dtype=torch.int64, device=device)
    length = 0
    while len(state.sentences):
        length += 1
        logits = decoder.advance(last.reshape(-1, 1)).scoring()[:, -1].float()
        parents = _extend(state, logits, length, beam_size, length_penalty, model.end_id)
        bound = state.live_scores[:, 0] / length_penalty_divisor(state.limits, length_penalty)
        over = (state.ended_scores[:, wanted - 1] >= bound) | (state.limits == length)
        if bool(over.any()):
            for place in over.nonzero().squeeze(1).tolist():
                results[int(state.sentences[place])] = _found(state, place, length, wanted, length_penalty)
            going = (~over).nonzero().squeeze(1)
            parents = parents[going]
            state.keep(going)
        if len(state.sentences):
            decoder.select(parents.flatten().tolist())
            last = state.live_tokens[:, :, length - 1]
    return results


def _extend(
    state: _Hypotheses, logits: Tensor, length: int, beam_size: int, length_penalty: float, end_id: int
) -> Tensor:
    """Extend all live hypotheses by one token to `length`; return the decoder row [sentences, beams] each came from."""
    count, beams = state.live_scores.shape
    vocabulary = logits.shape[-1]
    scores = logits.log_softmax(dim=-1).view(count, beams, vocabulary) + state.live_scores[:, :, None]
    scores, chosen = _best(scores.flatten(1), 2 * beam_size)
    origins, tokens = chosen // vocabulary, chosen % vocabulary
    extended = _pick(state.live_tokens, origins)
    extended[:, :, length - 1] = tokens
    ends = tokens == end_id

    normalised = (scores / length_penalty_divisor(length, length_penalty)).masked_fill(~ends, _NONE)
    all_scores = torch.cat([state.ended_scores, normalised], dim=1)
    state.ended_scores, best = _best(all_scores, beam_size)
    state.ended_tokens = _pick(torch.cat([state.ended_tokens, extended], dim=1), best)
    lengths = torch.cat([state.ended_lengths, torch.full_like(tokens, length)], dim=1)
    state.ended_lengths = _pick(lengths, best)

    live = scores.masked_fill(ends, _NONE)
    state.live_scores, best = _best(live, beam_size)
    state.live_tokens = _pick(extended, best)
    firsts = torch.arange(count, device=logits.device)[:, None] * beams
    return firsts + _pick(origins, best)


def _found(state: _Hypotheses, place: int, length: int, wanted: int, length_penalty: float) -> list[Decoded]:
    """Return the ended hypotheses of a sentence, or the best live one, cut at the limit, if none has ended."""
    found = []
    for score, size, tokens in zip(
        state.ended_scores[place].tolist()[:wanted],
        state.ended_lengths[place].tolist(),
        state.ended_tokens[place].tolist(),
    ):
        if score > _NONE:
            found.append(Decoded(tokens[:size], [1] * size, length, "end", score))
    if not found:
        tokens = state.live_tokens[place, 0, :length].tolist()
        score = float(state.live_scores[place, 0]) / length_penalty_divisor(length, length_penalty)
        found.append(Decoded(tokens, [1] * length, length, "length", score))
    return found
