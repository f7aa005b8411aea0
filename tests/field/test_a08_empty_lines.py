"""A08: empty lines shift everything.

Kind: edge-case rows handled on one side only. Reasons for dropping a pair are in tests/data/test_parallel_text.py, what
is no line end in tests/data/test_lines.py, `bpd translate` with blank lines in tests/commands/test_cli.py. Here one
corpus with empty lines goes through preparing, training, decoding and scoring. Further cases: blank lines at the very
end, where a careless reader loses them, files whose line ends are of two kinds, and a set of nothing but blank lines.
"""

import gzip
import hashlib
import json

import pytest

from bpd import grid
from bpd.commands.decode import decode
from bpd.commands.train import train
from bpd.config import Config, PrepareSettings, validate_section
from bpd.data.encoded import EncodedPairs
from bpd.data.lines import read_lines
from bpd.data.prepare import prepare_text
from bpd.data.vocabulary import Vocabulary
from bpd.errors import BpdError
from bpd.evaluation.score import score_path, score_records
from tests.commands.conftest import CONFIG

WORDS = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn"]
# Lines 3, 6 and 9 of the entry.
PAIRS = [(f"number {number} of ten", f"Nummer {word} von zehn") for number, word in enumerate(WORDS, start=1)]
PAIRS[2] = ("", PAIRS[2][1])
PAIRS[5] = (PAIRS[5][0], "   ")
PAIRS[8] = ("", "")
TRAINING = CONFIG["translation"]["base"]["training"] | {"steps": 6, "evaluate_every": 6}


def prepare(folder, dev: list[tuple[str, str]], train_pairs=PAIRS, source_end: str = "\n"):
    """Prepare a corpus that takes the place of Multi30k; source lines end in `source_end`."""
    files = {}
    for name, pairs in (("train", train_pairs), ("val", dev), ("test_2016_flickr", PAIRS)):
        for side, language in enumerate(("en", "de")):
            end = source_end if side == 0 else "\n"
            path = folder / f"{name}.{language}.gz"
            path.write_bytes(gzip.compress("".join(pair[side] + end for pair in pairs).encode(), mtime=0))
            files[path.name] = {"url": path.as_uri(), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    vocabulary = {"size": 70, "byte_fallback": False}
    data = {"source": "multi30k", "vocabulary": vocabulary, "max_subwords": 60, "files": files}
    prepare_text(validate_section(PrepareSettings, {"data": data}, "test"), folder / "data")
    return folder / "data"


def decoded(folder, data) -> list[dict]:
    """Train a base model for a few steps, decode with it, and return the records of the dev set."""
    values = json.loads(json.dumps(CONFIG))
    values["translation"]["base"]["training"] = TRAINING
    translation = validate_section(Config, values, "tiny").translation
    train(grid.train_settings(translation, "base"), data, folder / "model", folder / "work", None, None)
    decode(grid.decode_settings(translation, "base"), folder / "model", data, folder / "decode", 4)
    return [json.loads(line) for line in (folder / "decode/val/exact.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a08_training_pairs_stay_aligned_and_drops_are_counted(tmp_path, local_data):
    data = prepare(tmp_path, PAIRS)
    kept = [pair for number, pair in enumerate(PAIRS, start=1) if number not in (3, 6, 9)]
    pairs, vocabulary = EncodedPairs.open(data / "train"), Vocabulary.load(data / "vocabulary.model")
    assert [(vocabulary.decode(pairs.source(i)), vocabulary.decode(pairs.target(i))) for i in range(len(pairs))] == kept
    assert list(zip(read_lines(data / "train.en"), read_lines(data / "train.de"))) == kept
    drops = json.loads((data / "report.json").read_text(encoding="utf-8"))["drops"]
    assert [drops[reason] for reason in ("empty_source", "empty_target", "empty_both")] == [1, 1, 1]


@pytest.mark.parametrize(
    ("dev", "blank"),
    [(PAIRS, [2, 8]), ([*PAIRS[:8], ("", ""), ("", "\u3000")], [2, 8, 9])],
    ids=["within", "at the end"],
)
def test_a08_a_set_with_blank_lines_is_decoded_and_scored_line_by_line(tmp_path, local_data, dev, blank):
    data = prepare(tmp_path, dev)
    records = decoded(tmp_path, data)
    assert [record["index"] for record in records] == list(range(10))
    assert [record["index"] for record in records if record["stop"] == "empty"] == blank
    assert all(records[index]["text"] == "" and records[index]["token_ids"] == [] for index in blank)
    assert score_records(tmp_path / "decode/val/exact.jsonl", data)["sentences"] == 10


def test_a08_a_blank_line_that_ends_in_a_carriage_return_is_blank_on_its_side_too(tmp_path, local_data):
    """One file written on Windows, the other not."""
    data = prepare(tmp_path, PAIRS, source_end="\r\n")
    report = json.loads((data / "report.json").read_text(encoding="utf-8"))
    assert report["counts"]["train"] == 7 and report["counts"]["val"] == 10
    assert [record["index"] for record in decoded(tmp_path, data) if record["stop"] == "empty"] == [2, 8]


def test_a08_a_set_of_blank_lines_alone_is_decoded_to_blanks_and_not_scored(tmp_path, local_data):
    data = prepare(tmp_path, [(" ", "Eins."), ("", "Zwei.")])
    assert [record["stop"] for record in decoded(tmp_path, data)] == ["empty", "empty"]
    with pytest.raises(BpdError, match="every input was blank"):
        score_records(tmp_path / "decode/val/exact.jsonl", data)
    assert not score_path(tmp_path / "decode/val/exact.jsonl").exists()
