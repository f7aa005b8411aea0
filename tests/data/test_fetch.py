import hashlib

import pytest

from bpd.config import RemoteFile
from bpd.data import fetch as fetch_module
from bpd.data.fetch import KNOWN_FILES, KnownFile, fetch, require_known, silence_limit
from bpd.errors import BpdError

CONTENT = bytes(range(256)) * 2000
SHA256 = hashlib.sha256(CONTENT).hexdigest()
NAME = "training-parallel-nc-v9.tgz"


@pytest.fixture
def downloads(tmp_path):
    return tmp_path / "downloads"


def override(url, sha256=SHA256):
    return {NAME: RemoteFile(url=url, sha256=sha256, bytes=len(CONTENT))}


def test_a_good_download_lands_under_its_name(server, local_data, downloads):
    url = server.serve("/file.tgz", CONTENT)
    path = fetch(NAME, override(url), downloads)
    assert path == downloads / NAME
    assert path.read_bytes() == CONTENT
    assert [entry.name for entry in downloads.iterdir()] == [NAME]


def test_a_download_is_kept_for_the_next_time(server, local_data, downloads):
    url = server.serve("/file.tgz", CONTENT)
    fetch(NAME, override(url), downloads)
    fetch(NAME, override(url), downloads)
    assert server.requests == ["/file.tgz"]


def test_a_damaged_earlier_download_is_replaced(server, local_data, downloads):
    url = server.serve("/file.tgz", CONTENT)
    fetch(NAME, override(url), downloads).write_bytes(CONTENT[:-1])
    assert fetch(NAME, override(url), downloads).read_bytes() == CONTENT


@pytest.mark.parametrize("habit", ["gzip header", "packs if asked"])
def test_transit_encoding_does_not_change_an_archive(server, local_data, downloads, habit):
    url = server.serve("/file.tgz", CONTENT, habit)
    assert fetch(NAME, override(url), downloads).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("fault", "reason"),
    [("cut", "download failed"), ("missing", "404"), ("silent", "no answer for 0.5 s"), ("stalled", "no answer for")],
)
def test_a_failed_download_leaves_nothing_and_says_what_to_do(server, local_data, downloads, fault, reason):
    url = server.serve("/file.tgz", CONTENT, fault)
    with pytest.raises(BpdError) as caught:
        fetch(NAME, override(url), downloads)
    message = str(caught.value)
    for part in (
        url,
        reason,
        f"expected SHA-256 {SHA256}",
        "found ",
        "supply it by hand",
        str(local_data / "wmt" / NAME),
    ):
        assert part in message
    assert list(downloads.iterdir()) == []


def test_no_server_at_all_is_a_clear_refusal(server, local_data, downloads):
    url = server.serve("/file.tgz", CONTENT)
    server.close()
    with pytest.raises(BpdError, match="download failed"):
        fetch(NAME, override(url), downloads)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (CONTENT[:500] + b"!" + CONTENT[501:], "not the expected content"),
        (CONTENT[:-1], "truncated"),
        (CONTENT + b"!", "not the expected content"),
        (b"\n<!DOCTYPE html><html>Quota exceeded</html>", "a web page"),
        (b"", "truncated"),
    ],
)
def test_other_content_is_refused_with_both_checksums(server, local_data, downloads, content, kind):
    url = server.serve("/file.tgz", content)
    with pytest.raises(BpdError) as caught:
        fetch(NAME, override(url), downloads)
    for part in (url, kind, SHA256, hashlib.sha256(content).hexdigest(), "by hand"):
        assert part in str(caught.value)
    assert list(downloads.iterdir()) == []


@pytest.mark.parametrize("place", ["wmt/", ""])
def test_a_local_file_needs_no_connection(server, local_data, downloads, place):
    url = server.serve("/file.tgz", CONTENT)
    path = local_data / f"{place}{NAME}"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(CONTENT)
    assert fetch(NAME, override(url), downloads) == path
    assert server.requests == []
    assert not downloads.exists()


def test_a_changed_local_file_is_refused(server, local_data, downloads, monkeypatch):
    url = server.serve("/file.tgz", CONTENT)
    monkeypatch.setitem(KNOWN_FILES, NAME, KnownFile(url, SHA256, len(CONTENT), (NAME,)))
    (local_data / NAME).write_bytes(CONTENT[:-1] + b"!")
    with pytest.raises(BpdError, match=f"(?s){NAME}: not the expected content.*{SHA256}.*Delete or replace it"):
        fetch(NAME, {}, downloads)
    assert server.requests == []


def test_a_replacement_overlooks_the_local_file_it_replaces(server, local_data, downloads):
    url = server.serve("/mine.tgz", CONTENT)
    (local_data / NAME).write_bytes(b"the published one")
    assert fetch(NAME, override(url), downloads).read_bytes() == CONTENT


def test_a_replacement_may_be_a_file_address(local_data, downloads, tmp_path):
    mine = tmp_path / "my file.tgz"
    mine.write_bytes(CONTENT)
    assert fetch(NAME, override(mine.as_uri()), downloads).read_bytes() == CONTENT
    with pytest.raises(BpdError, match=r"nowhere\.tgz: download failed: No such file"):
        fetch(NAME, override((tmp_path / "nowhere.tgz").as_uri(), sha256="0" * 64), downloads)


def test_without_an_address_the_message_says_where_to_put_the_file(local_data, downloads):
    with pytest.raises(BpdError, match=r"newstest2013\.en: not found(?s:.*)wmt/newstest2013\.en"):
        fetch("newstest2013.en", {}, downloads)


def test_unknown_names_are_refused():
    with pytest.raises(BpdError, match=r"data\.files: no file is called 'train\.fr\.gz'"):
        require_known({"train.fr.gz": RemoteFile(url="https://example.org/x", sha256="0" * 64)})


@pytest.mark.parametrize("value", ["soon", "0", "-1", "nan", "inf"])
def test_a_bad_time_limit_is_refused(monkeypatch, value):
    monkeypatch.setenv("BPD_DOWNLOAD_TIMEOUT", value)
    with pytest.raises(BpdError, match="BPD_DOWNLOAD_TIMEOUT"):
        silence_limit()


def test_the_data_folder_has_a_default(monkeypatch):
    monkeypatch.delenv("BPD_DATA_DIR", raising=False)
    assert str(fetch_module.data_folder()) == "data"


def test_the_real_files_are_the_known_ones(real_data, monkeypatch, tmp_path):
    monkeypatch.setenv("BPD_DATA_DIR", str(real_data))
    for name in KNOWN_FILES:
        if not name.endswith(".tgz") and "celeba" not in KNOWN_FILES[name].local_paths[0]:
            assert fetch(name, {}, tmp_path).is_relative_to(real_data)
    assert list(tmp_path.iterdir()) == []
