import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpd.data.encoded import EncodedPairs, EncodedPairsWriter
from bpd.errors import BpdError

SOURCES = [[4, 5, 6], [], [65535], list(range(10, 100))]
TARGETS = [[7], [8, 9], [], list(range(100, 300))]
SENTENCES = st.lists(st.integers(0, 65535), max_size=5)


@pytest.fixture
def folder(tmp_path):
    EncodedPairs.write(tmp_path / "pairs", SOURCES, TARGETS, {"corpus": "gold"})
    return tmp_path / "pairs"


def test_what_is_written_is_read(folder):
    pairs = EncodedPairs.open(folder)
    assert len(pairs) == 4
    assert [pairs.source(i).tolist() for i in range(4)] == SOURCES
    assert [pairs.target(i).tolist() for i in range(4)] == TARGETS
    assert pairs.source_lengths.tolist() == [3, 0, 1, 90]
    assert pairs.target_lengths.tolist() == [1, 2, 0, 200]
    assert pairs.manifest == {"corpus": "gold"}
    assert pairs.source(0).dtype == np.uint16


@settings(max_examples=40, derandomize=True, deadline=None)
@given(st.lists(st.tuples(SENTENCES, SENTENCES), max_size=6))
def test_any_pairs_come_back(tmp_path_factory, pairs):
    folder = tmp_path_factory.mktemp("encoded") / "pairs"
    EncodedPairs.write(folder, iter(pair[0] for pair in pairs), iter(pair[1] for pair in pairs), {})
    opened = EncodedPairs.open(folder)
    assert [(opened.source(i).tolist(), opened.target(i).tolist()) for i in range(len(opened))] == pairs


def test_chunks_make_the_same_files_as_one_go(folder, tmp_path):
    with EncodedPairsWriter(tmp_path / "chunks", {"corpus": "gold"}) as writer:
        writer.add(SOURCES[:1], TARGETS[:1])
        writer.add([], [])
        writer.add(SOURCES[1:], TARGETS[1:])
    assert EncodedPairs.open(tmp_path / "chunks").sha256 == EncodedPairs.open(folder).sha256
    for path in folder.iterdir():
        assert path.read_bytes() == (tmp_path / "chunks" / path.name).read_bytes()


def test_the_hash_tells_contents_apart(folder, tmp_path):
    EncodedPairs.write(tmp_path / "other", [[4, 5], [6], [65535], SOURCES[3]], TARGETS, {"corpus": "gold"})
    EncodedPairs.write(tmp_path / "same", SOURCES, TARGETS, {"corpus": "distilled"})
    original = EncodedPairs.open(folder).sha256
    assert EncodedPairs.open(tmp_path / "other").sha256 != original
    assert EncodedPairs.open(tmp_path / "same").sha256 == original


def test_large_arrays_are_mapped_not_read(folder):
    assert isinstance(EncodedPairs.open(folder).source(3), np.memmap)


@pytest.mark.parametrize("sources", [SOURCES[:3], [*SOURCES, [1]]])
def test_unequal_sides_are_refused(tmp_path, sources):
    with pytest.raises(BpdError, match="unequal numbers"):
        EncodedPairs.write(tmp_path / "pairs", sources, TARGETS, {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", [65536, -1])
def test_ids_that_do_not_fit_are_refused(tmp_path, wrong):
    with pytest.raises(BpdError, match=r"not in 0…65535"):
        EncodedPairs.write(tmp_path / "pairs", [[wrong]], [[1]], {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["source.npy", "target.npy", "source_offsets.npy", "target_offsets.npy"])
@pytest.mark.parametrize("damage", ["changed", "truncated", "missing"])
def test_damaged_arrays_are_refused(folder, name, damage):
    path = folder / name
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(content[:-2] if damage == "truncated" else content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(BpdError, match=r"no finished folder" if damage == "missing" else f"{name}: changed"):
        EncodedPairs.open(folder)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"files": {}}'])
def test_damaged_manifests_are_refused(folder, content):
    (folder / "manifest.json").write_text(content)
    with pytest.raises(BpdError, match="damaged folder"):
        EncodedPairs.open(folder)


def test_a_manifest_of_other_pairs_is_refused(folder):
    stored = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(stored | {"pairs": 5}))
    with pytest.raises(BpdError, match="damaged folder"):
        EncodedPairs.open(folder)


def test_no_folder_is_named(tmp_path):
    with pytest.raises(BpdError, match="nowhere: no finished folder of encoded pairs"):
        EncodedPairs.open(tmp_path / "nowhere")
