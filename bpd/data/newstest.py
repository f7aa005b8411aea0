"""newstest2013 and the full newstest2014 of WMT, from local files or through sacreBLEU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bpd.atomic import write_bytes
from bpd.config import RemoteFile
from bpd.data.fetch import KNOWN_FILES, by_hand, fetch, find_local, mismatch, silence_limit
from bpd.data.parallel_text import ParallelText
from bpd.errors import BpdError


@dataclass(frozen=True)
class PublishedSet:
    """A test set as sacreBLEU knows it: its name there, and how many lines it must have."""

    sacrebleu_name: str
    lines: int


NEWSTEST = {"newstest2013": PublishedSet("wmt13", 3000), "newstest2014": PublishedSet("wmt14/full", 3003)}

_ASK_SACREBLEU = """
import json, socket, sys
socket.setdefaulttimeout(float(sys.argv[1]))
from sacrebleu.dataset import DATASETS
dataset = DATASETS[sys.argv[2]]
print(json.dumps([dataset.get_source_file("en-de"), *dataset.get_reference_files("en-de")]))
"""


def fetch_newstest(name: str, overrides: Mapping[str, RemoteFile], downloads: Path) -> ParallelText:
    """Return the English and German lines of `newstest2013` or `newstest2014` (the full one, 3,003 lines).

    Local files come first, then earlier downloads, then sacreBLEU, which verifies the archives it downloads.
    Raises `BpdError` for a wrong number of lines: newstest2014 also exists with 2,737 lines, in another order.
    """
    wanted = NEWSTEST[name]
    files = [f"{name}.{language}" for language in ("en", "de")]
    if any(file in overrides for file in files) or all(_at_hand(file, downloads) for file in files):
        paths = [fetch(file, overrides, downloads) for file in files]
    else:
        paths = _through_sacrebleu(name, files, downloads)
    text = ParallelText.read(*paths)
    if len(text) != wanted.lines:
        raise BpdError(f"{paths[0]}: {len(text)} lines, but {name} has {wanted.lines}: this is another version of it")
    return text


def _at_hand(file: str, downloads: Path) -> bool:
    if find_local(file, KNOWN_FILES[file]) is not None:
        return True
    earlier = downloads / file
    return earlier.is_file() and mismatch(earlier, KNOWN_FILES[file]) is None


def _through_sacrebleu(name: str, files: list[str], downloads: Path) -> list[Path]:
    """Let sacreBLEU fetch a test set into a fresh folder, so that nothing damaged is reused, and keep its two files."""
    wanted = NEWSTEST[name]
    downloads.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".sacrebleu-", dir=downloads) as cache:
        command = [sys.executable, "-c", _ASK_SACREBLEU, str(silence_limit()), wanted.sacrebleu_name]
        environment = os.environ | {"SACREBLEU": cache}
        answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if answer.returncode != 0:
            raise _unavailable(name, files, answer.stderr)
        published = [Path(path) for path in json.loads(answer.stdout.splitlines()[-1])]
        text = ParallelText.read(published[0], published[1])
        if len(text) != wanted.lines:
            raise BpdError(f"{name}: sacreBLEU gave {len(text)} lines, not {wanted.lines}; check its version")
        for path, file in zip(published, files):
            write_bytes(downloads / file, path.read_bytes())
    return [downloads / file for file in files]


def _unavailable(name: str, files: list[str], messages: str) -> BpdError:
    from sacrebleu.dataset import DATASETS

    dataset = NEWSTEST[name].sacrebleu_name
    addresses = " ".join(DATASETS[dataset].data or [])
    last = " ".join(messages.strip().splitlines()[-2:]) or "no message"
    advice = "\n".join(by_hand(file, KNOWN_FILES[file]) for file in files)
    return BpdError(f"{name}: sacreBLEU could not get its test set {dataset} from {addresses}: {last}\n{advice}")
