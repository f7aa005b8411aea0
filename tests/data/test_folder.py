import pytest

from bpd.data.folder import atomic_folder
from bpd.errors import BpdError


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_a_folder_appears_as_a_whole(tmp_path):
    with atomic_folder(tmp_path / "deep" / "new", last="report") as folder:
        (folder / "report").write_text("done")
        assert not (tmp_path / "deep" / "new").exists()
    assert names(tmp_path / "deep") == ["new"]
    assert (tmp_path / "deep" / "new" / "report").read_text() == "done"


def test_a_failure_leaves_nothing_behind(tmp_path):
    with pytest.raises(ZeroDivisionError), atomic_folder(tmp_path / "new", last="report") as folder:
        (folder / "report").write_text("half")
        raise ZeroDivisionError
    assert names(tmp_path) == []


def test_a_failure_leaves_the_former_folder_whole(tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "report").write_text("former")
    with pytest.raises(ZeroDivisionError), atomic_folder(tmp_path / "old", last="report") as folder:
        (folder / "report").write_text("half")
        raise ZeroDivisionError
    assert (tmp_path / "old" / "report").read_text() == "former"
    assert names(tmp_path) == ["old"]


def test_an_existing_folder_gets_new_content_and_keeps_strange_files(tmp_path):
    old = tmp_path / "old"
    (old / "part").mkdir(parents=True)
    (old / "part" / "former").write_text("former")
    (old / "report").write_text("former")
    (old / "mine").write_text("mine")
    with atomic_folder(old, last="report") as folder:
        (folder / "part").mkdir()
        (folder / "part" / "new").write_text("new")
        (folder / "report").write_text("new")
    assert names(old) == ["mine", "part", "report"]
    assert names(old / "part") == ["new"]
    assert (old / "report").read_text() == "new"


def test_a_file_in_the_way_is_named(tmp_path):
    (tmp_path / "name").write_text("precious")
    with (
        pytest.raises(BpdError, match="name: a file stands where a folder"),
        atomic_folder(tmp_path / "name", "report"),
    ):
        pass
    assert (tmp_path / "name").read_text() == "precious"


def test_a_half_moved_folder_does_not_look_finished(tmp_path, monkeypatch):
    old = tmp_path / "old"
    old.mkdir()
    (old / "report").write_text("former")

    def no_more(*_):
        raise OSError("disk full")

    monkeypatch.setattr("bpd.data.folder.os.replace", no_more)
    with pytest.raises(OSError, match="disk full"), atomic_folder(old, last="report") as folder:
        (folder / "part").write_text("new")
        (folder / "report").write_text("new")
    assert names(old) == []
