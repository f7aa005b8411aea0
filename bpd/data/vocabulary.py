"""The shared subword vocabulary: SentencePiece byte-pair encoding, for source and target alike.

Text is taken as it is: no normalisation, no white space removed, so encoding and decoding give the text back, with
two exceptions. U+2581 (▁), SentencePiece's sign for a space, comes back as a space. A character that is not in the
vocabulary, possible without `byte_fallback` only, becomes the unknown id and comes back as nothing.
Marks such as `</s>` inside a text are text: they never become a special id.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import sentencepiece

from bpd.atomic import write_bytes
from bpd.config import VocabularyConfig
from bpd.data.parallel_text import Pair
from bpd.errors import BpdError
from bpd.fingerprints import file_sha256

PAD_ID, BEGIN_ID, END_ID, UNKNOWN_ID = 0, 1, 2, 3
SPECIAL_PIECES = ("<pad>", "<s>", "</s>", "<unk>")
LONGEST_TRAINING_LINE_BYTES = 16384


def train_vocabulary(lines: Iterable[str], config: VocabularyConfig, path: Path) -> None:
    """Learn a vocabulary of exactly `config.size` subwords from `lines` and write it to `path`, all or nothing.

    The result depends on the lines and the config alone, not on the machine's number of threads.
    Raises `BpdError` naming `translation.data.vocabulary.size` where the text does not support that size.
    """
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=model,
            model_type="bpe",
            vocab_size=config.size,
            byte_fallback=config.byte_fallback,
            # Rare scripts are left to the byte fallback; without it every character of the text gets its own piece.
            character_coverage=0.9995 if config.byte_fallback else 1.0,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            # SentencePiece overlooks such marks when it counts the characters of the text.
            required_chars="".join(sorted(set("".join(SPECIAL_PIECES)))),
            max_sentence_length=LONGEST_TRAINING_LINE_BYTES,
            pad_id=PAD_ID,
            bos_id=BEGIN_ID,
            eos_id=END_ID,
            unk_id=UNKNOWN_ID,
            pad_piece=SPECIAL_PIECES[PAD_ID],
            bos_piece=SPECIAL_PIECES[BEGIN_ID],
            eos_piece=SPECIAL_PIECES[END_ID],
            unk_piece=SPECIAL_PIECES[UNKNOWN_ID],
            # The thread count is stored in the model file: a fixed one keeps the file the same on every machine.
            num_threads=1,
            minloglevel=2,
        )
    except (RuntimeError, OSError) as error:
        raise _training_problem(str(error), config) from None
    write_bytes(path, model.getvalue())


def evenly_spaced(pairs: Iterable[Pair], count: int, max_lines: int | None) -> Iterator[str]:
    """Yield both sides of pairs evenly spaced over the `count` given ones, at most `max_lines` lines (None: all)."""
    wanted = count if max_lines is None else min(count, max(1, max_lines // 2))
    taken = 0
    for index, pair in enumerate(pairs):
        if taken < wanted and index == taken * count // wanted:
            taken += 1
            yield from pair


class Vocabulary:
    """A trained vocabulary: `size` subwords, among them four special ones with ids 0 to 3."""

    pad_id, begin_id, end_id, unknown_id = PAD_ID, BEGIN_ID, END_ID, UNKNOWN_ID

    def __init__(self, processor: sentencepiece.SentencePieceProcessor, sha256: str) -> None:
        self._processor = processor
        self.sha256 = sha256
        self.size: int = processor.get_piece_size()

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        """Read a vocabulary file; raise `BpdError` if it is missing, damaged, or has other special ids than ours."""
        path = Path(path)
        try:
            processor = sentencepiece.SentencePieceProcessor()
            processor.load_from_serialized_proto(path.read_bytes())
            sha256 = file_sha256(path)
        except OSError as error:
            raise BpdError(f"{path}: cannot read the vocabulary: {error.strerror or error}") from None
        except RuntimeError as error:
            raise BpdError(f"{path}: not a SentencePiece model ({error}); prepare the data again") from None
        found = (processor.pad_id(), processor.bos_id(), processor.eos_id(), processor.unk_id())
        if found != (PAD_ID, BEGIN_ID, END_ID, UNKNOWN_ID):
            raise BpdError(
                f"{path}: its pad, begin, end and unknown ids are {found}, but this program's are "
                f"{(PAD_ID, BEGIN_ID, END_ID, UNKNOWN_ID)}; use a vocabulary that `bpd prepare text` made"
            )
        return cls(processor, sha256)

    def encode(self, text: str) -> list[int]:
        """Return the subword ids of one text, without begin and end."""
        return self._processor.encode(text, out_type=int)

    def encode_lines(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the subword ids of each of many texts, without begin and end."""
        return self._processor.encode(list(lines), out_type=int, num_threads=1)

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        """Return the text of subword ids; pad, begin, end and unknown ids add nothing to it."""
        return self._processor.decode([int(i) for i in self._checked(ids) if i > UNKNOWN_ID])

    def pieces(self, ids: Sequence[int] | np.ndarray) -> list[str]:
        """Return the subword of each id as it is written in the vocabulary: ▁ for a space, special ones in <>."""
        return [self._processor.id_to_piece(int(i)) for i in self._checked(ids)]

    def _checked(self, ids: Sequence[int] | np.ndarray) -> Sequence[int] | np.ndarray:
        for i in ids:
            if not 0 <= i < self.size:
                raise BpdError(f"subword id {i} is not in this vocabulary of {self.size} subwords")
        return ids


def _training_problem(message: str, config: VocabularyConfig) -> BpdError:
    key = "translation.data.vocabulary.size"
    high = re.search(r"too high \(\d+\)\. Please set it to a value <= (\d+)", message)
    if "sentences_.empty()" in message:
        return BpdError("the text for the vocabulary is empty: there is no training pair to learn from")
    low = re.search(r"smaller than required_chars\. \d+ vs (\d+)", message)
    if high:
        return BpdError(f"{key} is {config.size}, but the text supports at most {high[1]} subwords: lower it")
    if low:
        return BpdError(f"{key} is {config.size}, but the text needs at least {int(low[1]) + 1} subwords: raise it")
    return BpdError(f"no vocabulary of {key} = {config.size} could be learned from the text: {message.strip()}")
