"""A prepared translation folder, as commands see it: its vocabulary, its sets and its training pairs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bpd.data.encoded import EncodedPairs
from bpd.data.lines import read_lines
from bpd.data.vocabulary import Vocabulary
from bpd.errors import BpdError
from bpd.models.model_folder import VOCABULARY, StoredModel


class TextSet:
    """The folder that `bpd prepare text` writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        path = self.folder / "report.json"
        try:
            self.report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            self.sets: dict[str, str] = dict(self.report["sets"])
        except (OSError, ValueError, KeyError, TypeError):
            raise BpdError(f"{path}: missing or damaged; run `bpd prepare text` again") from None
        self.vocabulary = Vocabulary.load(self.folder / VOCABULARY)

    def lines(self, name: str) -> tuple[list[str], list[str]]:
        """Return source and target lines of the set called `name`, as they were published."""
        source, target = (read_lines(self.folder / f"{name}.{language}") for language in ("en", "de"))
        if len(source) != len(target):
            raise BpdError(f"{self.folder}: set {name} has {len(source)} English but {len(target)} German lines")
        if not source:
            raise BpdError(f"{self.folder}: set {name} is empty; there is nothing to decode or to score")
        return source, target

    def training_pairs(self, folder: Path | None = None) -> EncodedPairs:
        """Return the encoded training pairs here, or the distilled ones in `folder`, if the vocabulary is the same."""
        folder = folder or self.folder / "train"
        pairs = EncodedPairs.open(folder)
        found = pairs.manifest.get("vocabulary_sha256")
        if found != self.vocabulary.sha256:
            raise BpdError(
                f"{folder}: encoded with vocabulary {found}, but {self.folder} holds {self.vocabulary.sha256}"
            )
        return pairs

    def require_vocabulary_of(self, stored: StoredModel) -> None:
        """Raise `BpdError` unless `stored` was trained on this vocabulary."""
        found = stored.provenance.get("vocabulary_sha256")
        if found != self.vocabulary.sha256:
            raise BpdError(
                f"{stored.folder}: the model was trained with vocabulary {found}, "
                f"but {self.folder / VOCABULARY} is {self.vocabulary.sha256}; give the data it was trained on"
            )
