import io
import tarfile

import pytest

from bpd.data.archives import extract_members
from bpd.errors import BpdError

NAMES = ["text.en", "text.de"]


def make_archive(path, members):
    """Write a .tgz of (name, content) members; content None makes a symbolic link to /etc/passwd."""
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            if content is None:
                info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
                archive.addfile(info)
            else:
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return path


def test_members_are_found_by_base_name_in_any_order(tmp_path):
    archive = make_archive(
        tmp_path / "a.tgz",
        [("training/text.de", b"eins\n"), ("other/skip.fr", b"un\n"), ("training/text.en", b"one\n")],
    )
    paths = extract_members(archive, NAMES, tmp_path / "out")
    assert paths == [tmp_path / "out" / name for name in NAMES]
    assert [path.read_bytes() for path in paths] == [b"one\n", b"eins\n"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(NAMES)


@pytest.mark.parametrize("name", ["../../text.en", "/tmp/evil/text.en", "a/../../text.en"])
def test_no_member_leaves_the_folder(tmp_path, name):
    folder = tmp_path / "deep" / "down" / "out"
    archive = make_archive(tmp_path / "a.tgz", [(name, b"one\n"), ("text.de", b"eins\n")])
    assert extract_members(archive, NAMES, folder)[0].read_bytes() == b"one\n"
    written = {path for path in tmp_path.rglob("*") if path.is_file()} - {archive}
    assert written == {folder / name for name in NAMES}


def test_links_are_no_members(tmp_path):
    archive = make_archive(tmp_path / "a.tgz", [("text.en", None), ("text.de", b"eins\n")])
    with pytest.raises(BpdError, match=r"a\.tgz: holds no text\.en"):
        extract_members(archive, NAMES, tmp_path / "out")


def test_two_members_of_one_name_are_refused(tmp_path):
    archive = make_archive(tmp_path / "a.tgz", [("a/text.en", b"1"), ("b/text.en", b"2"), ("text.de", b"3")])
    with pytest.raises(BpdError, match=r"holds text\.en twice, as a/text\.en and b/text\.en"):
        extract_members(archive, NAMES, tmp_path / "out")


def test_truncated_archives_and_web_pages_are_refused(tmp_path):
    noise = bytes((i * i * 7919 >> 5) % 256 for i in range(200_000))
    whole = make_archive(tmp_path / "whole.tgz", [("text.en", noise), ("text.de", noise)]).read_bytes()
    for name, content in {
        "cut.tgz": whole[: len(whole) // 4],
        "page.tgz": b"<html>no</html>",
        "empty.tgz": b"",
    }.items():
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(BpdError, match=f"{name}: not a whole .tgz archive"):
            extract_members(path, NAMES, tmp_path / "out")
    assert not any(path.name.startswith("text") for path in tmp_path.rglob("*"))


def test_a_missing_archive_is_named(tmp_path):
    with pytest.raises(BpdError, match=r"none\.tgz: cannot be unpacked: No such file"):
        extract_members(tmp_path / "none.tgz", NAMES, tmp_path / "out")
