import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpd.data.lines import iterate_lines, read_lines, split_lines, write_lines
from bpd.errors import BpdError

NO_LINE_ENDS = "a\rb\u2028c\u2029d\x85e\x0bf\x0cg\x1ch"
TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=8), max_size=6)


def test_only_newlines_end_lines():
    assert split_lines(f"{NO_LINE_ENDS}\n\nx".encode()) == [NO_LINE_ENDS, "", "x"]


@pytest.mark.parametrize(
    ("content", "lines"),
    [(b"", []), (b"\n", [""]), (b"a", ["a"]), (b"a\n", ["a"]), (b"a\n\n", ["a", ""]), (b"a\r\nb\r\n", ["a\r", "b\r"])],
)
def test_a_final_newline_begins_no_line(tmp_path, content, lines):
    path = tmp_path / "text"
    path.write_bytes(content)
    assert split_lines(content) == read_lines(path) == lines


@settings(max_examples=50, derandomize=True, deadline=None)
@given(TEXTS)
def test_what_is_written_is_read(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("lines") / "text"
    assert write_lines(path, lines) == len(lines)
    assert read_lines(path) == lines
    assert split_lines(path.read_bytes()) == lines


def test_gzip_is_unpacked_on_the_way(tmp_path):
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress("ä\nb\n".encode()))
    assert read_lines(path) == ["ä", "b"]


@pytest.mark.parametrize("damage", ["truncated", "no gzip", "broken inside"])
def test_a_damaged_gzip_file_is_refused_by_name(tmp_path, damage):
    whole = gzip.compress(bytes(range(128)) * 100)
    content = {"truncated": whole[:-20], "no gzip": b"plain text", "broken inside": whole[:30] + b"!!" + whole[32:]}
    path = tmp_path / "text.gz"
    path.write_bytes(content[damage])
    with pytest.raises(BpdError, match=r"text\.gz: not a whole gzip file"):
        read_lines(path)


def test_other_encodings_are_refused_with_the_line(tmp_path):
    path = tmp_path / "latin1"
    path.write_bytes(b"fine\nf\xfcr\n")
    with pytest.raises(BpdError, match=r"latin1: line 2 is not UTF-8 \(byte 0xfc\)"):
        list(iterate_lines(path))
    with pytest.raises(BpdError, match="text: line 2 is not UTF-8"):
        split_lines(path.read_bytes())


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(BpdError, match="nowhere: cannot be read: No such file"):
        read_lines(tmp_path / "nowhere")


@pytest.mark.parametrize("text", ["two\nlines", "half a \ud800 pair"])
def test_text_that_would_not_come_back_is_not_written(tmp_path, text):
    path = tmp_path / "text"
    with pytest.raises(BpdError, match="line 2"):
        write_lines(path, ["fine", text])
    assert list(tmp_path.iterdir()) == []
