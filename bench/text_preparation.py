"""How fast, and in how much memory, `bpd prepare text` works through a corpus of WMT14's size and shape.

    python -m bench.text_preparation --pairs 2000000

writes that many generated sentence pairs into archives laid out like WMT14's three, runs the command on them with the
paper's settings, and prints pairs per second and the largest resident memory. The sentences are made-up words, drawn
by rank as words of natural text are (Zipf's law), 25 a sentence on average, with a few empty and overlong lines; the
two test sets are made the same way, so that no data has to be at hand.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from tqdm import tqdm

from bpd.data.corpora import LANGUAGES
from bpd.data.newstest import NEWSTEST
from bpd.fingerprints import file_sha256

ROOT = Path(__file__).resolve().parents[1]
SHARES = {
    "training-parallel-europarl-v7.tgz": ("training/europarl-v7.de-en", 0.42),
    "training-parallel-commoncrawl.tgz": ("commoncrawl.de-en", 0.53),
    "training-parallel-nc-v9.tgz": ("training/news-commentary-v9.de-en", 0.05),
}
WORDS = 400_000
CHUNK = 20_000


def make_words(random: np.random.Generator, letters: str) -> np.ndarray:
    """Return WORDS made-up words; frequent ones, which come first, are shorter."""
    lengths = np.clip(np.log2(np.arange(WORDS) + 2) * 0.55 + random.normal(0, 1.5, WORDS), 1, 16).astype(int)
    alphabet = np.array(list(letters))
    weights = np.linspace(2.0, 0.2, len(alphabet))
    characters = random.choice(alphabet, size=int(lengths.sum()), p=weights / weights.sum())
    ends = np.cumsum(lengths)
    return np.array(["".join(characters[end - length : end]) for end, length in zip(ends, lengths)], dtype=object)


def sentences(random: np.random.Generator, words: np.ndarray, count: int) -> list[str]:
    """Return `count` lines of words drawn by rank; one in a thousand is empty, one in a thousand far too long."""
    lengths = np.clip(random.gamma(2.2, 11.0, count), 1, 120).astype(int)
    lengths[random.random(count) < 0.001] = 0
    lengths[random.random(count) < 0.001] = 400
    ranks = np.minimum(random.zipf(1.25, int(lengths.sum())) - 1, WORDS - 1)
    ends = np.cumsum(lengths)
    return [" ".join(words[ranks[end - length : end]]) for end, length in zip(ends, lengths)]


def write_archive(
    path: Path, stem: str, pairs: int, lexicons: dict[str, np.ndarray], random: np.random.Generator
) -> None:
    """Write an archive with `stem`.de and `stem`.en of `pairs` lines each."""
    files = {}
    for language in ("de", "en"):
        files[language] = path.with_suffix(f".{language}")
        with open(files[language], "w", encoding="utf-8") as stream:
            for first in tqdm(
                range(0, pairs, CHUNK), desc=f"generate {files[language].name}", unit=f" × {CHUNK} lines"
            ):
                lines = sentences(random, lexicons[language], min(CHUNK, pairs - first))
                stream.write("".join(f"{line}\n" for line in lines))
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for language, file in files.items():
            archive.add(file, arcname=f"{stem}.{language}")
            file.unlink()


def make_corpus(folder: Path, pairs: int) -> dict[str, dict[str, Any]]:
    """Write three archives and two test sets into `folder`, and return what the config says of the files."""
    random = np.random.default_rng(1)
    lexicons = {
        "en": make_words(random, "etaoinshrdlucmfwypvbgk"),
        "de": make_words(random, "enirstadhulcgmobwfkzäüöß"),
    }
    (folder / "wmt").mkdir(parents=True)
    files = {}
    for name, (stem, share) in SHARES.items():
        path = folder / "wmt" / name
        write_archive(path, stem, round(pairs * share), lexicons, random)
        files[name] = described(path)
    for name, published in NEWSTEST.items():
        for language in LANGUAGES:
            path = folder / "wmt" / f"{name}.{language}"
            lines = [line or "-" for line in sentences(random, lexicons[language], published.lines)]
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            files[path.name] = described(path)
    return files


def described(path: Path) -> dict[str, Any]:
    """Return what a config says of a file that is at hand: its checksum and size, and no address that would answer."""
    return {"url": "http://127.0.0.1:9/none", "sha256": file_sha256(path), "bytes": path.stat().st_size}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=2_000_000, help="sentence pairs to generate")
    parser.add_argument(
        "--config", type=Path, default=ROOT / "config" / "paper.yaml", help="whose data settings to use"
    )
    parser.add_argument("--vocabulary-lines", type=int, help="instead of the config's vocabulary.training_lines")
    parser.add_argument("--output", type=Path, help="write the figures to this JSON file too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bpd-preparation-") as place:
        folder = Path(place)
        files = make_corpus(folder / "data", options.pairs)
        config = yaml.safe_load(options.config.read_text(encoding="utf-8"))
        data = config["translation"]["data"] | {"files": files}
        if options.vocabulary_lines:
            data["vocabulary"]["training_lines"] = options.vocabulary_lines
        # The command tells its own largest memory: the system's count for a child begins with this process's.
        peak = folder / "peak.json"
        command = [sys.executable, "-m", "bench.resident_memory", str(peak)]
        command += ["prepare", "text", "--settings", json.dumps({"data": data})]
        environment = os.environ | {"BPD_DATA_DIR": str(folder / "data"), "PYTHONPATH": str(ROOT)}
        start = time.perf_counter()
        subprocess.run([*command, "--output", str(folder / "prepared")], check=True, env=environment)
        seconds = time.perf_counter() - start
        report = json.loads((folder / "prepared" / "report.json").read_text(encoding="utf-8"))
        measured = {
            "pairs": report["counts"]["train_read"],
            "kept": report["counts"]["train"],
            "subwords": report["train_subwords"],
            "vocabulary_lines": data["vocabulary"]["training_lines"],
            "seconds": round(seconds, 1),
            "pairs_per_second": round(report["counts"]["train_read"] / seconds, 1),
            "peak_memory_mib": round(json.loads(peak.read_text(encoding="utf-8"))["peak_bytes"] / 2**20),
        }
    text = json.dumps(measured, indent=2)
    print(text)
    if options.output:
        options.output.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
