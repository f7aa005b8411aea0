"""Fetching: known files of published data, found locally or downloaded, and never used before they are verified.

A file is looked for in the local data folder (environment variable `BPD_DATA_DIR`, by default `data`), which may be
read-only, then among earlier downloads; else it is downloaded. Size and SHA-256 must be the known ones every time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import requests
import urllib3
from tqdm import tqdm

from bpd.atomic import atomic_path
from bpd.config import RemoteFile
from bpd.errors import BpdError
from bpd.fingerprints import file_sha256

DEFAULT_SILENCE_SECONDS = 60.0
# What comes more slowly than this for as long as silence is borne would not be here within days.
SLOWEST_BYTES_PER_SECOND = 10_000
_CHUNK_BYTES = 1 << 18


@dataclass(frozen=True)
class KnownFile:
    """A published file: address (None if it is not to be had as a file of its own), checksum, size, local places."""

    url: str | None
    sha256: str
    bytes: int | None
    local_paths: tuple[str, ...]


def _multi30k(name: str, size: int | None, sha256: str) -> KnownFile:
    commit = "a3d2e0d26b56f3846f66a952536ffed4e401d05a"
    url = f"https://raw.githubusercontent.com/multi30k/dataset/{commit}/data/task1/raw/{name}"
    return KnownFile(url, sha256, size, (f"multi30k/{name}",))


def _statmt(path: str, size: int, sha256: str) -> KnownFile:
    name = path.rpartition("/")[2]
    return KnownFile(f"https://www.statmt.org/{path}", sha256, size, (f"wmt/{name}", name))


def _test_set(name: str, size: int, sha256: str) -> KnownFile:
    return KnownFile(None, sha256, size, (f"wmt/{name}", name))


def _google_drive(identity: str, name: str, size: int, sha256: str) -> KnownFile:
    url = f"https://drive.usercontent.google.com/download?id={identity}&export=download&confirm=t"
    return KnownFile(url, sha256, size, (f"celeba/{name}", name))


def _people(name: str, size: int, sha256: str) -> KnownFile:
    return KnownFile(None, sha256, size, (name, f"lfw/{name}"))


KNOWN_FILES: dict[str, KnownFile] = {
    "train.en.gz": _multi30k("train.en.gz", 568929, "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f"),
    "train.de.gz": _multi30k("train.de.gz", 637044, "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6"),
    "val.en.gz": _multi30k("val.en.gz", 21650, "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28"),
    "val.de.gz": _multi30k("val.de.gz", 24681, "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a"),
    "test_2016_flickr.en.gz": _multi30k(
        "test_2016_flickr.en.gz", 21077, "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9"
    ),
    "test_2016_flickr.de.gz": _multi30k(
        "test_2016_flickr.de.gz", 22890, "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8"
    ),
    "training-parallel-europarl-v7.tgz": _statmt(
        "wmt13/training-parallel-europarl-v7.tgz",
        657632379,
        "0224c7c710c8a063dfd893b0cc0830202d61f4c75c17eb8e31836103d27d96e7",
    ),
    "training-parallel-commoncrawl.tgz": _statmt(
        "wmt13/training-parallel-commoncrawl.tgz",
        918311367,
        "c7a74e2ea01ac6c920123108627e35278d4ccb5701e15428ffa34de86fa3a9e5",
    ),
    "training-parallel-nc-v9.tgz": _statmt(
        "wmt14/training-parallel-nc-v9.tgz",
        80418416,
        "cb8953f292298e6877ae433c98912b927cb0766b303f4540512ddd286c748485",
    ),
    "newstest2013.en": _test_set(
        "newstest2013.en", 332974, "ace268a1d9724ca76f6d8e5c720ffdc08f01bdce45630ed8b269dc7918e1c16e"
    ),
    "newstest2013.de": _test_set(
        "newstest2013.de", 385433, "d7ea35ab91ff3709e03ad9cb6bf5b4f2cc775cd2d72efd5254c4aec5e69663ca"
    ),
    "newstest2014.en": _test_set(
        "newstest2014.en", 359898, "7294bccf2879a97b3706b95c9595f1459617a8ee7130d5d8581c910e69736971"
    ),
    "newstest2014.de": _test_set(
        "newstest2014.de", 399406, "ae5d110486bc33d7175e9e28c7d0051eb3e5fcd2166dd93371089852c091a20e"
    ),
    "img_align_celeba.zip": _google_drive(
        "0B7EVK8r0v71pZjFTYXZWM3FlRnM",
        "img_align_celeba.zip",
        1443490838,
        "46fb89443c578308acf364d7d379fe1b9efb793042c0af734b6112e4fd3a8c74",
    ),
    "list_eval_partition.txt": _google_drive(
        "0B7EVK8r0v71pY0NSMzRuSXJEVkk",
        "list_eval_partition.txt",
        2836386,
        "fc955bcb3ef8fbdf7d5640d9a8693a8431b5f2ee291a5c1449a1549e7e073fe7",
    ),
    "lfw-deepfunneled.manifest.txt": _people(
        "lfw-deepfunneled.manifest.txt", 591558, "2d8af4844ef5dd6ef540c17b229499204e3cae59906f1d9630eb2fc5eb6ae7e6"
    ),
    "peopleDevTrain.csv": _people(
        "peopleDevTrain.csv", 66409, "4578ef95507855f8169848912d741f867170b3c78f47661725fcd3ed1062c40d"
    ),
    "peopleDevTest.csv": _people(
        "peopleDevTest.csv", 28340, "1660e9ff6f56ef76349e892d1bc3b75e9acefbff37e5557429efc2e53e7ad207"
    ),
}


def data_folder() -> Path:
    """Return the local data folder: `BPD_DATA_DIR`, or `data` in the current folder."""
    return Path(os.environ.get("BPD_DATA_DIR") or "data")


def silence_limit() -> float:
    """Return for how many seconds silence or a trickle is borne in a download: `BPD_DOWNLOAD_TIMEOUT`, or 60."""
    text = os.environ.get("BPD_DOWNLOAD_TIMEOUT") or str(DEFAULT_SILENCE_SECONDS)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise BpdError(f"BPD_DOWNLOAD_TIMEOUT is {text!r}: give a number of seconds above 0")
    return seconds


def require_known(names: Mapping[str, RemoteFile]) -> None:
    """Raise `BpdError` if `files` of the config replaces a file that nothing would ask for."""
    for name in names:
        if name not in KNOWN_FILES:
            raise BpdError(f"data.files: no file is called '{name}'; known are {', '.join(KNOWN_FILES)}")


def fetch(name: str, overrides: Mapping[str, RemoteFile], destination_folder: Path) -> Path:
    """Return the path of the verified file called `name`; download it into `destination_folder` if it is nowhere else.

    `overrides` (config key `data.files` of either half) replaces a file's address, checksum and size.
    Raises `BpdError` with the address, the expected and the found checksum, and how to supply the file by hand.
    """
    known = KNOWN_FILES[name]
    override = overrides.get(name)
    if override is not None:
        known = KnownFile(override.url, override.sha256, override.bytes, known.local_paths)
    found = find_local(name, known, refuse_others=override is None)
    if found is not None:
        return found
    final = Path(destination_folder) / name
    if final.is_file() and mismatch(final, known) is None:
        return final
    if known.url is None:
        raise BpdError(f"{name}: not found.\n{by_hand(name, known)}")
    download(known.url, name, known, final)
    return final


def find_local(name: str, known: KnownFile, refuse_others: bool = True) -> Path | None:
    """Return the verified file in the local data folder, or None if there is none.

    A file of the right name but other content is refused, or overlooked where `refuse_others` is false.
    """
    for local in known.local_paths:
        path = data_folder() / local
        if not path.is_file():
            continue
        problem = mismatch(path, known)
        if problem is None:
            return path
        if refuse_others:
            raise BpdError(f"{path}: {problem}\nDelete or replace it.\n{by_hand(name, known)}")
    return None


def mismatch(path: Path, known: KnownFile) -> str | None:
    """Return in words how a file's content differs from what is known, or None if it does not."""
    size, sha256 = path.stat().st_size, file_sha256(path)
    if sha256 == known.sha256 and known.bytes in (None, size):
        return None
    with open(path, "rb") as stream:
        start = stream.read(512).lstrip().lower()
    kind = "not the expected content"
    if start.startswith((b"<!doctype", b"<html")):
        kind = "a web page instead of the file"
    elif known.bytes is not None and size < known.bytes:
        kind = "truncated"
    return (
        f"{kind}.\n  expected SHA-256 {known.sha256}"
        + ("" if known.bytes is None else f", {known.bytes} bytes")
        + f"\n  found    SHA-256 {sha256}, {size} bytes"
    )


def by_hand(name: str, known: KnownFile) -> str:
    """Return how a person can supply the file."""
    places = " or ".join(str(data_folder() / local) for local in known.local_paths)
    return (
        f"To supply it by hand: put {name} (SHA-256 {known.sha256}) at {places}; the environment variable BPD_DATA_DIR "
        f"names another folder, and the config key data.files.{name} of its half another url and sha256."
    )


def _overlooked(known: KnownFile) -> str:
    """Return a line for each file in the local data folder that is in the known one's place but is not the one."""
    lines = []
    for local in known.local_paths:
        path = data_folder() / local
        if path.is_file():
            problem = mismatch(path, known)
            if problem is not None:
                lines.append(f"{path}: overlooked, as it is {problem}\n")
    return "".join(lines)


def download(url: str, name: str, known: KnownFile, final: Path) -> None:
    """Download `url` to `final`, all or nothing; raise `BpdError` unless its content is the known one.

    A server that is silent or all but silent for too long is given up, and so is one that sends more than the known
    number of bytes.
    """
    with atomic_path(final) as temporary:
        try:
            with (
                _opened(url) as (total, chunks),
                open(temporary, "wb") as stream,
                tqdm(total=total, unit="B", unit_scale=True, desc=name) as progress,
            ):
                for chunk in chunks:
                    stream.write(chunk)
                    progress.update(len(chunk))
                    if known.bytes is not None and stream.tell() > known.bytes:
                        break
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            found = "found    nothing"
            if temporary.is_file():
                found = f"found    SHA-256 {file_sha256(temporary)}, {temporary.stat().st_size} bytes"
            raise BpdError(
                f"{url}: download failed: {_reason(error)}\n  expected SHA-256 {known.sha256}\n  {found}\n"
                + _overlooked(known)
                + by_hand(name, known)
            ) from None
        problem = mismatch(temporary, known)
        if problem is not None:
            raise BpdError(f"{url}: {problem}\n{_overlooked(known)}{by_hand(name, known)}")


@contextmanager
def _opened(url: str) -> Iterator[tuple[int | None, Iterator[bytes]]]:
    """Open an http(s) or file address; yield its size, if that is told, and its bytes in chunks."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        path = Path(unquote(parts.path))
        with open(path, "rb") as stream:
            yield path.stat().st_size, iter(lambda: stream.read(_CHUNK_BYTES), b"")
        return
    limit = silence_limit()
    # Some servers declare archives as content in transit encoding; only the bytes as stored have the known checksum.
    with requests.get(url, stream=True, timeout=limit, headers={"Accept-Encoding": "identity"}) as response:
        response.raise_for_status()
        length = response.headers.get("Content-Length", "")
        yield int(length) if length.isdigit() else None, _arriving(response.raw, limit)


class _Trickle(requests.Timeout):
    """Bytes come, but too few to go on."""


def _arriving(response: urllib3.BaseHTTPResponse, limit: float) -> Iterator[bytes]:
    """Yield the bytes of a response as they arrive; raise `_Trickle` where too few came for `limit` seconds."""
    since, arrived = time.monotonic(), 0
    while chunk := response.read1(_CHUNK_BYTES, decode_content=False):
        yield chunk
        arrived += len(chunk)
        seconds = time.monotonic() - since
        if seconds >= limit:
            if arrived < SLOWEST_BYTES_PER_SECOND * seconds:
                raise _Trickle
            since, arrived = time.monotonic(), 0


def _reason(error: Exception) -> str:
    if isinstance(error, _Trickle):
        return (
            f"fewer than {SLOWEST_BYTES_PER_SECOND} bytes a second for {silence_limit():g} s "
            "(BPD_DOWNLOAD_TIMEOUT sets this time)"
        )
    if isinstance(error, (requests.Timeout, urllib3.exceptions.TimeoutError)):
        return f"no answer for {silence_limit():g} s (BPD_DOWNLOAD_TIMEOUT sets this limit)"
    if isinstance(error, OSError) and error.strerror and not isinstance(error, requests.RequestException):
        return error.strerror
    return str(error)
