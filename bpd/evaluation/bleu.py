"""BLEU: sacreBLEU's 13a as the number, and two labelled extras.

The extras stand beside it because published numbers were computed otherwise: sacreBLEU's `intl` tokenisation, and
BLEU on Moses-tokenised text whose compounds are split (`-` becomes ` ##AT##-##AT## `), as was usual in 2018, which is
worth half a point to a point more.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from bpd.errors import BpdError

_COMPOUND = re.compile(r"(?<=\S)-(?=\S)")


@dataclass(frozen=True)
class Bleu:
    """BLEU scores of one system, in percent, with sacreBLEU's signatures and the 13a brevity penalty."""

    bleu: float
    signature: str
    brevity_penalty: float
    bleu_intl: float
    signature_intl: str
    bleu_compound_split: float


def corpus_bleu(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Return sacreBLEU (13a, cased, detokenised) of `hypotheses` against one reference each."""
    return _sacrebleu(hypotheses, references, "13a")[0].score


def all_bleu(hypotheses: Sequence[str], references: Sequence[str], name: str = "the hypotheses") -> Bleu:
    """Return 13a BLEU and the two extras; warn, with their `name`, of hypotheses that look tokenised.

    Raises `BpdError` where the counts differ, or there is nothing to score.
    """
    plain, signature = _sacrebleu(hypotheses, references, "13a")
    intl, signature_intl = _sacrebleu(hypotheses, references, "intl")
    split, _ = _sacrebleu(_split_compounds(tuple(hypotheses)), _split_compounds(tuple(references)), "none")
    if looks_tokenised(hypotheses) and not looks_tokenised(references):
        warnings.warn(f"{name} look tokenised (lines end in ' .'); BLEU wants detokenised text", stacklevel=2)
    return Bleu(plain.score, signature, plain.bp, intl.score, signature_intl, split.score)


def looks_tokenised(lines: Sequence[str]) -> bool:
    """Return whether most of the lines that end in a full stop have a space before it."""
    ends = [line for line in lines if line.endswith(".")]
    return len(ends) > 0 and sum(line.endswith(" .") for line in ends) > len(ends) / 2


def _sacrebleu(hypotheses: Sequence[str], references: Sequence[str], tokenize: str) -> tuple[Any, str]:
    if len(hypotheses) != len(references):
        raise BpdError(f"{len(hypotheses)} hypotheses cannot be scored against {len(references)} references")
    if not hypotheses:
        raise BpdError("there is nothing to score: no hypotheses")
    metric = _metric(tuple(references), tokenize)
    return metric.corpus_score(list(hypotheses), None), str(metric.get_signature())


# Counting a set's n-grams costs as much as scoring against them, and one job scores dozens of systems of two sets.
@lru_cache(maxsize=8)
def _metric(references: tuple[str, ...], tokenize: str) -> Any:
    """Return sacreBLEU's metric, which keeps what it counted in `references`."""
    from sacrebleu.metrics import BLEU

    # `force` silences sacreBLEU's own warning about tokenised text: ours says it once, and where it is meant it rests.
    return BLEU(tokenize=tokenize, force=True, references=[list(references)])


@lru_cache(maxsize=4)
def _split_compounds(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Return German lines Moses-tokenised, with hyphenated compounds taken apart."""
    tokenizer = _tokenizer()
    return tuple(
        _COMPOUND.sub(" ##AT##-##AT## ", tokenizer.tokenize(line, return_str=True, escape=False)) for line in lines
    )


@lru_cache(maxsize=1)
def _tokenizer() -> Any:
    from sacremoses import MosesTokenizer

    return MosesTokenizer(lang="de")
