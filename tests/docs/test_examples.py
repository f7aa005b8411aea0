"""The worked examples of docs/extending.md: they apply to the code as it is, and do what the page says."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.docs.pages import ROOT, fences

CHANGES = dict(zip(("criterion", "heads", "data"), fences(ROOT / "docs" / "extending.md", "diff")))
CRITERION = """
import re
import torch
from bpd.config.section import CRITERION
from bpd.decoding.acceptance import Acceptance

logits = torch.tensor([0.6, 0.25, 0.1, 0.05]).log()
for name, passing in (("likely1", [0]), ("likely3", [0, 1]), ("likely5", [0, 1]), ("likely10", [0, 1, 2])):
    assert re.fullmatch(CRITERION, name)
    accepted = Acceptance.parse(name).accepted(logits.expand(4, 4), torch.arange(4))
    assert accepted.nonzero().flatten().tolist() == passing, (name, accepted)
"""
HEADS = """
import torch
from bpd.config import HeadSpec, TransformerConfig
from bpd.decoding.blockwise import blockwise
from bpd.decoding.greedy import greedy
from bpd.models.translation_model import TranslationModel

shape = TransformerConfig(
    d_model=32, d_ff=64, attention_heads=2, encoder_layers=1, decoder_layers=1, residual_dropout=0.0,
    attention_dropout=0.0, relu_dropout=0.0,
)
spec = HeadSpec(
    block_size=4, first_head="learned", kind="linear", frozen=False, base_dropout=False, head_loss="mean"
)
torch.manual_seed(0)
model = TranslationModel(shape, 50, spec).eval()
assert type(model.heads).__name__ == "LinearHeads"
inputs, limits = [[5, 6, 7, 2], [8, 9, 2]], [12, 9]
for cached in (True, False):
    found = blockwise(model, inputs, limits, cached=cached)
    assert [one.token_ids for one in found] == [one.token_ids for one in greedy(model, inputs, limits)]
"""
DATA = """
import os
from pathlib import Path
from bpd.config import GeneratedTextConfig, TranslationDataConfig, VocabularyConfig
from bpd.data.corpora import load_corpus
from bpd.data.generated_text import generate_corpus

folder = Path(os.environ["BPD_DATA_DIR"])
sets = generate_corpus(GeneratedTextConfig(train_pairs=800, dev_pairs=30, test_pairs=30, seed=7))
for name, text in zip(("train", "dev", "test"), sets):
    pairs = list(text)
    for side, language in enumerate(("en", "de")):
        lines = "".join(pair[side] + chr(10) for pair in pairs)
        (folder / f"own.{name}.{language}").write_text(lines, encoding="utf-8")
vocabulary = VocabularyConfig(size=700, byte_fallback=False)
corpus = load_corpus(TranslationDataConfig(source="own", vocabulary=vocabulary, max_subwords=64), folder, folder)
assert (len(list(corpus.train)), len(corpus.dev), len(corpus.test)) == (800, 30, 30)
"""


@pytest.mark.parametrize(("name", "script"), [("criterion", CRITERION), ("heads", HEADS), ("data", DATA)])
def test_the_example_applies_and_does_what_the_page_says(name, script, tmp_path):
    shutil.copytree(ROOT / "bpd", tmp_path / "bpd", ignore=shutil.ignore_patterns("__pycache__"))
    applied = subprocess.run(
        ["git", "apply", "--unidiff-zero", "-"], input=CHANGES[name], cwd=tmp_path, capture_output=True, text=True
    )
    assert applied.returncode == 0, f"{applied.stderr}: bring docs/extending.md up to date with the code"
    (tmp_path / "data").mkdir()
    surroundings = os.environ | {"PYTHONPATH": str(tmp_path), "BPD_DATA_DIR": str(tmp_path / "data")}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=surroundings, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
