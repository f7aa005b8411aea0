"""The score files that a report is made from, as one long table; of several seeds, their mean and deviation."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from bpd.errors import BpdError

if TYPE_CHECKING:
    import pandas


class Scores:
    """Scores by model, set role and criterion; made from an explicit list of files, so that no stale one slips in.

    The files are of one seed, or given by seed: then a score is the mean over all of them, and its `sd` the standard
    deviations.
    """

    # What a score file says of its own, which of that is text or may be null, and its provenance.
    own: tuple[str, ...] = (
        "model", "set", "role", "criterion", "block_size", "bleu", "mean_accepted_block_size", "accepted_tokens",
        "iterations", "calls", "sentences", "cut_at_length_limit", "sentences_unlike_greedy", "bleu_intl",
        "bleu_compound_split", "brevity_penalty", "signature", "signature_intl",
    )  # fmt: skip
    texts: tuple[str, ...] = ("model", "set", "role", "criterion", "signature", "signature_intl")
    nullable: tuple[str, ...] = ("sentences_unlike_greedy",)
    # What tables show: not a number is a gap there.
    shown: tuple[str, ...] = ("bleu", "mean_accepted_block_size")
    # What a number can be, from and to, where it is not just anything from 0; BLEU's rounding may exceed 100 a little.
    ranges: Mapping[str, tuple[float, float]] = {
        "block_size": (1.0, math.inf),
        "mean_accepted_block_size": (1.0, math.inf),
        "brevity_penalty": (0.0, 1.0),
        **dict.fromkeys(("bleu", "bleu_intl", "bleu_compound_split"), (0.0, 100.0 + 1e-9)),
        **dict.fromkeys(("ssim", "ssim_nearest", "ssim_bicubic"), (-1.0, 1.0)),
    }
    # How many outputs of exact decoding are not those of greedy decoding, and of how many.
    compared: tuple[str, str] = ("sentences_unlike_greedy", "sentences")
    made_with: tuple[str, ...] = (
        "checkpoint_sha256", "config_sha256", "vocabulary_sha256", "seed", "commit", "dirty", "device", "precision",
    )  # fmt: skip

    def __init__(self, paths: Iterable[Path] | Mapping[int, Iterable[Path]]) -> None:
        by_seed = paths if isinstance(paths, Mapping) else {1: paths}
        self._scores: dict[tuple[str, str, str], dict[int, dict[str, Any]]] = {}
        for seed, files in by_seed.items():
            for path in files:
                score = self._read(Path(path))
                found = self._scores.setdefault((score["model"], score["role"], score["criterion"]), {})
                if seed in found:
                    told = f"{score['model']} by {score['criterion']} on the {score['role']} set"
                    raise BpdError(f"{path}: a second score of {told}; decode and score again")
                found[seed] = score
        if not self._scores:
            raise BpdError("no score files were given; run `bpd score` first")
        self.seeds = tuple(by_seed)

    def get(self, model: str, criterion: str, role: str = "dev") -> dict[str, Any] | None:
        """Return one score, or none where this scale has no such model or decoding, or it is not a number."""
        found = list(self._scores.get((model, role, criterion), {}).values())
        if not found or any(math.isnan(score[name]) for score in found for name in self.shown):
            return None
        return found[0] if len(found) == 1 else self._mean(found)

    def checkpoints(self, model: str) -> list[str]:
        """Return the hash of the checkpoint that each decoding of a model was made with, of the first seed alone."""
        first = self.seeds[0]
        return [
            str(found[first]["decoding"].get("checkpoint_sha256"))
            for (name, *_), found in sorted(self._scores.items())
            if name == model and first in found
        ]

    def set_name(self, role: str = "dev") -> str:
        """Return the name of the dev or test set."""
        return next((score["set"] for score in self.all() if score["role"] == role), role)

    def all(self) -> list[dict[str, Any]]:
        """Return the scores of all seeds one by one, sorted by model, role, criterion and seed."""
        return [score for _, found in sorted(self._scores.items()) for _, score in sorted(found.items())]

    def signature(self) -> str:
        """Return the BLEU signature of all scores; raise `BpdError` where they differ."""
        found = {score["signature"] for score in self.all()}
        if len(found) > 1:
            raise BpdError(f"scores of unlike BLEU signatures cannot stand in one table: {', '.join(sorted(found))}")
        return found.pop()

    def provenance(self) -> str:
        """Return one line on what the scores were computed with: devices, precisions, commits."""

        def all_of(name: str) -> str:
            return ", ".join(sorted({str(score["decoding"].get(name)) for score in self.all()}))

        dirty = any(score["decoding"].get("dirty") for score in self.all())
        commits = ", ".join(sorted({str(score["decoding"].get("commit"))[:12] for score in self.all()}))
        changed = " with uncommitted changes" if dirty else ""
        return f"device {all_of('device')}; precision {all_of('precision')}; commit {commits}{changed}"

    def origins(self, keys: Iterable[tuple[str, str]], role: str = "dev") -> list[dict[str, str]]:
        """Return what each model behind these (model, criterion) pairs is: seed, config and checkpoint, hashes cut."""
        rows = []
        for model, criterion in keys:
            if self.get(model, criterion, role) is None:
                continue
            for _, score in sorted(self._scores[model, role, criterion].items()):
                told = score["decoding"]
                row = {
                    "model": model,
                    "seed": str(told.get("seed")),
                    "config": str(told.get("config_sha256"))[:12],
                    "checkpoint": str(told.get("checkpoint_sha256"))[:12],
                }
                if row not in rows:
                    rows.append(row)
        return rows

    def frame(self) -> pandas.DataFrame:
        """Return all scores with their provenance, a row each, sorted by model, role and criterion."""
        import pandas

        rows = [
            {name: score[name] for name in self.own} | {name: score["decoding"].get(name) for name in self.made_with}
            for score in self.all()
        ]
        return pandas.DataFrame(rows)

    def spread_note(self) -> list[str]:
        """Return a line on what ± means, where there are several seeds."""
        if len(self.seeds) == 1:
            return []
        return [f"Mean ± standard deviation over {len(self.seeds)} seeds, each with models of its own."]

    def unlike_greedy_note(self) -> list[str]:
        """Return a line on the outputs in which exact decoding left greedy decoding, where there are any.

        In fp32 there are none; in lower precision, near ties fall otherwise when a block is verified at once.
        """
        differing, of = self.compared
        told = [
            f"{score['model']} ({score['decoding'].get('precision')}, {score['set']}) {score[differing]} of {score[of]}"
            for score in self.all()
            if score["criterion"] == "exact" and score[differing]
        ]
        if not told:
            return []
        return [
            f"Exact decoding is not lossless here: {of} unlike greedy decoding of the same model: {', '.join(told)}."
        ]

    def _mean(self, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
        numbers = [name for name in self.own if name not in self.texts and found[0][name] is not None]
        counts: dict[str, int] = {}
        for score in found:
            for size, count in score["block_size_counts"].items():
                counts[size] = counts.get(size, 0) + count
        return found[0] | {
            **{name: fmean(score[name] for score in found) for name in numbers},
            "sd": {name: stdev(score[name] for score in found) for name in numbers},
            "block_size_counts": counts,
        }

    def _read(self, path: Path) -> dict[str, Any]:
        try:
            score = json.loads(path.read_text(encoding="utf-8"))
            missing = [name for name in (*self.own, "block_size_counts", "decoding") if name not in score]
        except FileNotFoundError:
            raise BpdError(f"{path}: no such score; run `bpd score` first") from None
        except (OSError, ValueError, TypeError):
            raise BpdError(f"{path}: damaged score; run `bpd score` again") from None
        if missing:
            raise BpdError(f"{path}: the score lacks {', '.join(missing)}; run `bpd score` again")
        faulty = [name for name in self.own if not self._is_well(name, score[name])]
        if not faulty and score["mean_accepted_block_size"] > score["block_size"] + 1e-9:
            faulty = ["mean_accepted_block_size", "block_size"]
        faulty += [name for name in ("block_size_counts", "decoding") if not isinstance(score[name], dict)]
        if faulty:
            found = ", ".join(f"{name} is {score[name]!r}" for name in faulty)
            raise BpdError(f"{path}: damaged score ({found}); run `bpd score` again")
        return score

    def _is_well(self, name: str, value: Any) -> bool:
        if name in self.texts:
            return isinstance(value, str)
        if value is None:
            return name in self.nullable
        if not isinstance(value, int | float) or isinstance(value, bool):
            return False
        if math.isnan(value):
            return name in self.shown
        least, most = self.ranges.get(name, (0.0, math.inf))
        return math.isfinite(value) and least <= value <= most
