"""A trained model to use on one's own sentences, from Python or the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bpd.data.vocabulary import Vocabulary
from bpd.decoding.acceptance import Acceptance
from bpd.decoding.batched import MAX_EXTRA_TOKENS, DecodeBatch, decode_set
from bpd.decoding.beam import beam
from bpd.decoding.blockwise import blockwise
from bpd.decoding.greedy import greedy
from bpd.decoding.results import Decoded
from bpd.device import prepare_device
from bpd.errors import BpdError
from bpd.fingerprints import file_sha256
from bpd.models.model_folder import VOCABULARY, load_translation_model


@dataclass(frozen=True)
class Translation:
    """A translated sentence: its text, the accepted blocks as subword pieces, and the decoding behind it.

    `decoded` is none, and the text blank, for a blank sentence. `proposed` are the pieces proposed at each iteration,
    of which the block accepted there is the beginning; none where they were not asked for.
    """

    text: str
    blocks: list[list[str]]
    decoded: Decoded | None
    proposed: list[list[str]] | None = None


class TrainedModel:
    """The model in a folder that `bpd train` wrote, with its vocabulary."""

    def __init__(self, folder: str | Path, device: str | None = None) -> None:
        folder = Path(folder)
        self.stored = load_translation_model(folder, prepare_device(device))
        self.model = self.stored.model
        expected = self.stored.provenance.get("vocabulary_sha256")
        # Before it is read: what reads it is native code, and trusts it.
        if not (folder / VOCABULARY).is_file() or file_sha256(folder / VOCABULARY) != expected:
            raise BpdError(f"{folder / VOCABULARY}: not the vocabulary of this model, which is {expected}")
        self.vocabulary = Vocabulary.load(folder / VOCABULARY)

    @property
    def block_size(self) -> int:
        """k: how many tokens the model can propose at once; 1 without proposal heads."""
        return self.model.block_size

    def greedy(self, sentences: Sequence[str], *, cached: bool = True, batch_rows: int = 64) -> list[Translation]:
        """Translate by greedy decoding of p₁, one token a step."""
        return self._translate(
            sentences, lambda rows, limits: greedy(self.model, rows, limits, cached=cached), batch_rows
        )

    def beam(
        self, sentences: Sequence[str], *, beam_size: int = 4, length_penalty: float = 0.6, batch_rows: int = 16
    ) -> list[Translation]:
        """Translate by beam search over p₁."""

        def decode(rows: list[list[int]], limits: list[int]) -> list[Decoded]:
            return beam(self.model, rows, limits, beam_size=beam_size, length_penalty=length_penalty)

        return self._translate(sentences, decode, batch_rows)

    def blockwise(
        self,
        sentences: Sequence[str],
        *,
        criterion: str = "exact",
        block_size: int | None = None,
        cached: bool = True,
        batch_rows: int = 64,
        with_proposals: bool = False,
    ) -> list[Translation]:
        """Translate by blockwise parallel decoding (section 3).

        `criterion` is `exact`, or an approximate one: `top2`, `minimum2`, … `block_size` may be below the model's k.
        `with_proposals` keeps what was proposed at each iteration. Raises `BpdError` for a criterion or a block size
        that is not possible, and for a sentence that is not valid text.
        """
        acceptance = Acceptance.parse(criterion)
        if acceptance.rule == "distance":
            raise BpdError(
                f"criterion '{criterion}' compares intensities, and subwords have none; use top2 or the like"
            )

        # By the identity of a result: whole sets are decoded in another order than they are given.
        proposed: dict[int, list[list[int]]] = {}

        def decode(rows: list[list[int]], limits: list[int]) -> list[Decoded]:
            steps: list[list[list[int]]] = [[] for _ in rows]
            results = blockwise(
                self.model,
                rows,
                limits,
                acceptance=acceptance,
                block_size=block_size,
                cached=cached,
                on_step=(lambda step: steps[step.row].append(step.proposed)) if with_proposals else None,
            )
            proposed.update((id(result), of_row) for result, of_row in zip(results, steps, strict=True))
            return results

        translations = self._translate(sentences, decode, batch_rows)
        if not with_proposals:
            return translations
        return [
            replace(one, proposed=[self.vocabulary.pieces(ids) for ids in proposed.get(id(one.decoded), [])])
            for one in translations
        ]

    def _translate(self, sentences: Sequence[str], decode: DecodeBatch, batch_rows: int) -> list[Translation]:
        for number, sentence in enumerate(sentences, start=1):
            if any("\ud800" <= character <= "\udfff" for character in sentence):
                raise BpdError(f"sentence {number} is not valid text (not UTF-8): {sentence!r}")
        encoded = self.vocabulary.encode_lines(list(sentences))
        results = decode_set(
            decode,
            [ids if line.strip() else [] for ids, line in zip(encoded, sentences, strict=True)],
            end_id=self.model.end_id,
            max_extra_tokens=MAX_EXTRA_TOKENS,
            batch_rows=batch_rows,
        )
        return [self._translation(timed.decoded) for timed in results]

    def _translation(self, decoded: Decoded | None) -> Translation:
        if decoded is None:
            return Translation("", [], None)
        pieces = self.vocabulary.pieces(decoded.token_ids)
        blocks, first = [], 0
        for size in decoded.block_sizes:
            blocks.append(pieces[first : first + size])
            first += size
        return Translation(self.vocabulary.decode(decoded.token_ids), blocks, decoded)
