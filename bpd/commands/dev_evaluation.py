"""Scores during training: greedy or blockwise decoding of some dev sentences."""

from __future__ import annotations

from bpd.data.vocabulary import Vocabulary
from bpd.decoding.batched import MAX_EXTRA_TOKENS, decode_set
from bpd.decoding.blockwise import blockwise
from bpd.decoding.greedy import greedy
from bpd.decoding.results import Decoded
from bpd.evaluation.bleu import corpus_bleu
from bpd.models.translation_model import TranslationModel
from bpd.training.loop import Evaluation


def marked_blocks(decoded: Decoded, vocabulary: Vocabulary) -> str:
    """Return the pieces of a decoded sentence as Markdown, a bar between accepted blocks."""
    pieces = vocabulary.pieces(decoded.token_ids)
    blocks, first = [], 0
    for size in decoded.block_sizes:
        blocks.append(" ".join(f"`{piece}`" for piece in pieces[first : first + size]))
        first += size
    return " **|** ".join(blocks)


class DevEvaluation:
    """Evaluate a model on the first sentences of the dev set."""

    def __init__(self, vocabulary: Vocabulary, source: list[str], target: list[str], sentences: int) -> None:
        self._vocabulary = vocabulary
        self._source, self._target = source[:sentences], target[:sentences]
        self._inputs = vocabulary.encode_lines(self._source)

    def __call__(self, model: TranslationModel) -> Evaluation:
        """Return dev BLEU, the mean accepted block size where there are heads, and a sample translation."""

        def decode(inputs: list[list[int]], limits: list[int]) -> list[Decoded]:
            return (greedy if model.block_size == 1 else blockwise)(model, inputs, limits)

        results = decode_set(decode, self._inputs, end_id=model.end_id, max_extra_tokens=MAX_EXTRA_TOKENS)
        decoded = [timed.decoded for timed in results]
        texts = ["" if one is None else self._vocabulary.decode(one.token_ids) for one in decoded]
        scores = {"dev_bleu": corpus_bleu(texts, self._target)}
        if model.block_size > 1:
            kept = [one for one in decoded if one is not None]
            accepted = sum(len(one.token_ids) for one in kept)
            scores["dev_mean_accepted_block_size"] = accepted / max(1, sum(one.iterations for one in kept))
        shown = next((index for index, one in enumerate(decoded) if one is not None), None)
        sample = ""
        if shown is not None:
            sample = (
                f"source: {self._source[shown]}\n\nreference: {self._target[shown]}\n\n"
                f"output: {marked_blocks(decoded[shown], self._vocabulary)}"
            )
        return Evaluation(scores, sample)
