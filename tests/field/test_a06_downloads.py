"""A06: truncated or unreachable downloads poison the cache.

Kind: no integrity check on cached data, no offline route, no time limit. Each way in which one download fails, with
its message, is in tests/data/test_fetch.py; sacreBLEU's test sets are in tests/data/test_newstest.py. Here the command
that a person calls meets them, and, as further cases, a host that trickles, one that never ends, and a file put in
place by hand that is not the one.
"""

import gzip
import hashlib
import json
import time

import pytest

from bpd.config import RemoteFile
from bpd.data.fetch import KNOWN_FILES, fetch
from bpd.errors import BpdError
from tests.field.driver import bpd, refused

PAIRS = [(f"number {number} of twenty", f"Nummer {number} von zwanzig") for number in range(1, 21)]
NAMES = [f"{part}.{language}.gz" for part in ("train", "val", "test_2016_flickr") for language in ("en", "de")]
SILENCE = 0.5


def content(name: str) -> bytes:
    side = name.endswith(".de.gz")
    return gzip.compress("".join(f"{pair[side]}\n" for pair in PAIRS).encode(), mtime=0)


def sha256(name: str) -> str:
    return hashlib.sha256(content(name)).hexdigest()


@pytest.fixture
def settings(server) -> str:
    """The settings of a corpus in the place of Multi30k, offered by the server."""
    files = {
        name: {
            "url": server.serve(f"/{name}", content(name)),
            "sha256": sha256(name),
            "bytes": len(content(name)),
        }
        for name in NAMES
    }
    vocabulary = {"size": 60, "byte_fallback": False}
    data = {"source": "multi30k", "vocabulary": vocabulary, "max_subwords": 60, "files": files}
    return json.dumps({"data": data})


def prepare(settings: str, folder, **variables):
    return bpd("prepare", "text", "--settings", settings, "--output", folder / "data", **variables)


@pytest.mark.parametrize(
    ("fault", "reason"), [("cut", "download failed"), ("missing", "404"), ("silent", f"no answer for {SILENCE:g} s")]
)
def test_a06_a_failed_download_ends_the_command_and_leaves_nothing(
    server, local_data, settings, tmp_path, fault, reason
):
    url = server.serve("/val.de.gz", content("val.de.gz"), fault)
    began = time.monotonic()
    result = prepare(settings, tmp_path)
    assert time.monotonic() - began < 30, "far above the limit and the start of the command, far below for ever"
    refused(result, url, reason, f"expected SHA-256 {sha256('val.de.gz')}", "found ", local_data / "multi30k/val.de.gz")
    left = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    assert left == sorted(set(NAMES[:3])), "what came before is kept, and nothing else is there"
    server.serve("/val.de.gz", content("val.de.gz"))
    assert prepare(settings, tmp_path).returncode == 0 and server.requests.count("/train.en.gz") == 1


def test_a06_the_right_files_in_the_local_folder_need_no_connection(server, local_data, settings, tmp_path):
    (local_data / "multi30k").mkdir()
    for name in NAMES:
        (local_data / "multi30k" / name).write_bytes(content(name))
    # Whatever asked for a connection after all would be answered by nobody.
    result = prepare(settings, tmp_path, http_proxy="http://127.0.0.1:9", https_proxy="http://127.0.0.1:9")
    assert result.returncode == 0, result.stderr
    assert server.requests == [] and not (tmp_path / "downloads").exists()


def test_a06_a_good_file_with_one_byte_changed_is_refused(server, local_data, settings, tmp_path):
    (local_data / "multi30k").mkdir()
    changed = bytearray(content("train.en.gz"))
    changed[-9] ^= 1
    path = local_data / "multi30k" / "train.en.gz"
    path.write_bytes(changed)
    server.close()
    refused(prepare(settings, tmp_path), path, sha256("train.en.gz"), hashlib.sha256(changed).hexdigest())
    published = json.loads(settings)
    del published["data"]["files"]["train.en.gz"]
    known = KNOWN_FILES["train.en.gz"].sha256
    refused(prepare(json.dumps(published), tmp_path), path, known, hashlib.sha256(changed).hexdigest(), "Delete or")
    assert not (tmp_path / "data").exists()


LARGE = bytes(range(256)) * 400


def replacement(url: str) -> dict[str, RemoteFile]:
    return {NAMES[0]: RemoteFile(url=url, sha256=hashlib.sha256(LARGE).hexdigest(), bytes=len(LARGE))}


def test_a06_a_host_that_trickles_is_given_up_within_the_limit(server, local_data, tmp_path):
    """Never silent, and never done: byte by byte it would take hours."""
    url = server.serve("/file", LARGE, "trickling")
    began = time.monotonic()
    with pytest.raises(BpdError, match=r"fewer than \d+ bytes a second for 0\.5 s"):
        fetch(NAMES[0], replacement(url), tmp_path / "downloads")
    assert time.monotonic() - began < 10
    assert list((tmp_path / "downloads").iterdir()) == []


def test_a06_a_download_that_never_ends_does_not_fill_the_disk(server, local_data, tmp_path):
    url = server.serve("/file", LARGE, "endless")
    with pytest.raises(BpdError, match=f"{url}: not the expected content") as caught:
        fetch(NAMES[0], replacement(url), tmp_path / "downloads")
    found = int(str(caught.value).split("found ")[1].split(", ")[1].split(" bytes")[0])
    assert len(LARGE) < found < 10 * len(LARGE)
    assert list((tmp_path / "downloads").iterdir()) == []
