import hashlib
import os
import subprocess

import pytest

from bpd.config import RemoteFile
from bpd.data.lines import write_lines
from bpd.data.newstest import fetch_newstest
from bpd.errors import BpdError


@pytest.fixture
def no_network(monkeypatch):
    """Send every request to a port where nobody listens."""
    for variable in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)


def test_the_full_sets_come_from_local_files(real_data, monkeypatch, tmp_path, no_network):
    monkeypatch.setenv("BPD_DATA_DIR", str(real_data))
    assert len(fetch_newstest("newstest2013", {}, tmp_path)) == 3000
    full = fetch_newstest("newstest2014", {}, tmp_path)
    assert len(full) == 3003
    assert full.source[0] == "Gutach: Increased safety for pedestrians"
    assert list(tmp_path.iterdir()) == []


def test_the_filtered_set_is_refused_under_the_full_ones_name(real_data, local_data, tmp_path):
    (local_data / "wmt").mkdir()
    for language in ("en", "de"):
        content = (real_data / "wmt" / f"newstest2014-filtered.{language}").read_bytes()
        (local_data / "wmt" / f"newstest2014.{language}").write_bytes(content)
    with pytest.raises(BpdError, match=r"newstest2014\.en: truncated"):
        fetch_newstest("newstest2014", {}, tmp_path)


def test_a_replacement_of_another_length_is_refused(local_data, tmp_path):
    overrides = {}
    for language in ("en", "de"):
        path = tmp_path / f"mine.{language}"
        write_lines(path, ["line"] * 2737)
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        overrides[f"newstest2014.{language}"] = RemoteFile(url=path.as_uri(), sha256=sha256)
    with pytest.raises(BpdError, match="2737 lines, but newstest2014 has 3003"):
        fetch_newstest("newstest2014", overrides, tmp_path / "downloads")


def test_without_network_the_message_names_addresses_and_places(local_data, tmp_path, no_network):
    with pytest.raises(BpdError) as caught:
        fetch_newstest("newstest2014", {}, tmp_path / "downloads")
    for part in ("wmt14/full", "statmt.org/wmt14/test-full.tgz", str(local_data / "wmt" / "newstest2014.de")):
        assert part in str(caught.value)
    assert list((tmp_path / "downloads").iterdir()) == []


@pytest.fixture
def sacrebleu_gives(monkeypatch):
    """Let a stand-in for sacreBLEU's process write `count` lines to its cache."""

    def install(count):
        def run(command, env, **_):
            paths = [os.path.join(env["SACREBLEU"], f"set.{side}") for side in ("src", "ref")]
            for path in paths:
                with open(path, "w") as stream:
                    stream.write("line\n" * count)
            listed = ", ".join(f'"{path}"' for path in paths)
            return subprocess.CompletedProcess(command, 0, f"noise\n[{listed}]\n", "")

        monkeypatch.setattr("bpd.data.newstest.subprocess.run", run)

    return install


def test_what_sacrebleu_gives_is_kept(local_data, tmp_path, sacrebleu_gives):
    sacrebleu_gives(3000)
    assert len(fetch_newstest("newstest2013", {}, tmp_path / "downloads")) == 3000
    kept = sorted(path.name for path in (tmp_path / "downloads").iterdir())
    assert kept == ["newstest2013.de", "newstest2013.en"]


def test_a_short_answer_of_sacrebleu_is_refused(local_data, tmp_path, sacrebleu_gives):
    sacrebleu_gives(154)
    with pytest.raises(BpdError, match="gave 154 lines, not 3000"):
        fetch_newstest("newstest2013", {}, tmp_path / "downloads")
    assert list((tmp_path / "downloads").iterdir()) == []
