"""BLEU: sacreBLEU 13a, cased, detokenised."""

from __future__ import annotations

from collections.abc import Sequence


def corpus_bleu(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Return sacreBLEU (13a, cased, detokenised) of `hypotheses` against one reference each."""
    import sacrebleu

    return sacrebleu.corpus_bleu(list(hypotheses), [list(references)]).score
