"""Foreign archives: the .tgz of sentence pairs, which is unpacked, and the .zip of photographs, which never is."""

import gzip
import io
import tarfile
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bpd.data import lines
from bpd.data.archives import extract_members
from bpd.errors import BpdError
from tests.field.fuzzing import foreign, fuzzed, mutated, scratch

NAMES = ["text.en", "text.de"]
TYPES = [
    tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE,
    tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CONTTYPE, tarfile.GNUTYPE_SPARSE, tarfile.XHDTYPE, tarfile.XGLTYPE,
    tarfile.GNUTYPE_LONGNAME, b"Z",
]  # fmt: skip
FOLDERS = [
    "",
    "training/",
    "/",
    "../",
    "../../../../",
    "a/../../",
    "/etc/",
    "./",
    "..\\",
    "text.en/",
    "\u202e/",
    "x" * 200 + "/",
]
HEADERS = [
    {}, {"size": "-1"}, {"size": "9" * 30}, {"size": "x"}, {"path": "../../text.en"}, {"linkpath": "/etc/passwd"},
    {"GNU.sparse.size": "1" + "0" * 15, "GNU.sparse.map": "0,1"}, {"GNU.sparse.map": "x"}, {"mtime": "NaN"},
    {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "9" * 18}, {"hdrcharset": "BINARY"},
]  # fmt: skip


def member(name: str, content: bytes, kind: bytes = tarfile.REGTYPE, headers: dict | None = None) -> bytes:
    """Return one member as it stands in an unpacked archive."""
    info = tarfile.TarInfo(name)
    info.type, info.size, info.linkname, info.pax_headers = kind, len(content), "/etc/passwd", headers or {}
    padding = b"\0" * (-len(content) % 512)
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape") + content + padding


def packed(content: bytes) -> bytes:
    return gzip.compress(content, compresslevel=1, mtime=0)


PLAIN = (
    b"".join(member(f"training/{name}", b"one\ntwo\n" * 40) for name in ("text.de", "skip.fr", "text.en"))
    + b"\0" * 1024
)
VALID = packed(PLAIN)

MEMBERS = st.builds(
    member,
    st.builds(str.__add__, st.sampled_from(FOLDERS), st.sampled_from([*NAMES, "other", ""])),
    st.binary(max_size=40),
    st.sampled_from(TYPES),
    st.sampled_from(HEADERS),
)


def check(content: bytes) -> None:
    with scratch() as root:
        archive, folder = root / "corpus.tgz", root / "a/b/c/out"
        archive.write_bytes(content)
        try:
            paths = extract_members(archive, NAMES, folder)
        except BpdError as error:
            assert "corpus.tgz" in str(error) and len(str(error)) < 3000
        else:
            assert paths == [folder / name for name in NAMES] and all(path.is_file() for path in paths)
        _require_kept_within(root, archive, folder)


def _require_kept_within(root: Path, archive: Path, folder: Path) -> None:
    written = [path for path in root.rglob("*") if not path.is_dir() or path.is_symlink()]
    assert set(written) <= {archive, *(folder / name for name in NAMES)}
    assert not any(path.is_symlink() for path in written) and all(path.stat().st_nlink == 1 for path in written)


@fuzzed(300)
@given(foreign(PLAIN))
def test_fuzz_an_archive_is_unpacked_into_its_folder_or_refused_by_name(content):
    check(packed(content))


@fuzzed(150)
@given(foreign(VALID))
@example(b"")
@example(b"\x1f\x8b\x08")
@example(VALID[:-8] + b"\0" * 8)
@example(packed(b"\0" * 1024))
def test_fuzz_a_packed_archive_is_unpacked_into_its_folder_or_refused_by_name(content):
    check(content)


@fuzzed(200)
@given(
    st.lists(MEMBERS, max_size=4)
    .map(b"".join)
    .flatmap(lambda plain: st.one_of(st.just(plain), mutated(plain or b"\0")))
)
@example(member("other", b"", headers={"size": "9" * 15}) + PLAIN)
@example(member("text.en", b"", tarfile.LNKTYPE) + PLAIN)
@example(member("text.en", b"", tarfile.CHRTYPE) + member("/text.de", b"x\n") + member("../text.en", b"y\n"))
def test_fuzz_no_kind_of_member_leaves_the_folder(plain):
    check(packed(plain))


def test_fuzz_an_archive_that_unpacks_without_end_is_refused_before_it_is(tmp_path):
    content = member("text.en", b"\0" * 1_000_000) + member("text.de", b"x\n")
    archive = tmp_path / "corpus.tgz"
    archive.write_bytes(packed(content))
    with (
        mock.patch.object(lines, "_ALWAYS_BYTES", 1000),
        pytest.raises(BpdError, match=r"corpus\.tgz: text\.en: it unpacks to more than"),
    ):
        extract_members(archive, NAMES, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_fuzz_a_member_full_of_holes_is_refused(tmp_path):
    """A few bytes that stand for a billion: GNU's sparse files."""
    headers = {"GNU.sparse.size": str(10**15), "GNU.sparse.map": "0,1", "GNU.sparse.name": "text.en"}
    archive = tmp_path / "corpus.tgz"
    archive.write_bytes(packed(member("text.en", b"x", headers=headers) + member("text.de", b"x\n")))
    with tarfile.open(fileobj=io.BytesIO(archive.read_bytes())) as opened:
        assert opened.next().size == 10**15
    with pytest.raises(BpdError, match=r"corpus\.tgz: text\.en: it unpacks to more than"):
        extract_members(archive, NAMES, tmp_path / "out")
