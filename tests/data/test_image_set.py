"""Image sets on disk, and batches of them: whole or not at all, each image once an epoch, exactly resumable."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpd.data.batch import BatchPosition
from bpd.data.image_batches import ImageBatches
from bpd.data.image_set import ImageSet
from bpd.data.raster import to_tokens
from bpd.errors import BpdError


def pictures(count: int):
    random = np.random.default_rng(count)
    for number in range(count):
        small, large = (random.integers(0, 256, (size, size, 3), dtype=np.uint8) for size in (2, 4))
        yield f"face {number}", small, large


@pytest.fixture
def seven(tmp_path) -> ImageSet:
    ImageSet.write(tmp_path / "set", pictures(7), 2, 4, {"source": "test"})
    return ImageSet.open(tmp_path / "set")


def test_what_is_written_is_read(seven):
    assert (len(seven), seven.input_size, seven.output_size) == (7, 2, 4)
    assert seven.manifest == {"source": "test"}
    for index, (name, small, large) in enumerate(pictures(7)):
        assert seven.names[index] == name
        assert np.array_equal(seven.inputs[index], small) and np.array_equal(seven.targets[index], large)


def test_an_empty_set_can_be_read(tmp_path):
    ImageSet.write(tmp_path / "set", iter(()), 2, 4, {})
    assert len(ImageSet.open(tmp_path / "set")) == 0
    with pytest.raises(BpdError, match="no images to make batches of"):
        ImageBatches(ImageSet.open(tmp_path / "set"), 2, 1)


def test_the_fingerprint_is_of_images_and_names(tmp_path, seven):
    renamed = ((f"{name}!", small, large) for name, small, large in pictures(7))
    ImageSet.write(tmp_path / "renamed", renamed, 2, 4, {"source": "test"})
    ImageSet.write(tmp_path / "again", pictures(7), 2, 4, {"source": "test"})
    assert ImageSet.open(tmp_path / "again").sha256 == seven.sha256
    assert ImageSet.open(tmp_path / "renamed").sha256 != seven.sha256


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda name, small, large: (name, large, small), "is no image of 2×2"),
        (lambda name, small, large: (name, small.astype(np.int64), large), "int64"),
        (lambda name, small, large: ("same", small, large), "two images are called same"),
    ],
)
def test_a_wrong_image_is_refused_and_nothing_is_left(tmp_path, spoil, message):
    with pytest.raises(BpdError, match=message):
        ImageSet.write(tmp_path / "set", (spoil(*one) for one in pictures(3)), 2, 4, {})
    assert list(tmp_path.iterdir()) == []


def cut(path):
    path.write_bytes(path.read_bytes()[:-3])


def forget_a_name(path):
    values = json.loads(path.read_text())
    del values["names"][0]
    path.write_text(json.dumps(values))


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("targets.npy", cut, "changed since it was written"),
        ("inputs.npy", lambda path: path.unlink(), "no finished folder"),
        ("manifest.json", lambda path: path.unlink(), "no finished folder"),
        ("manifest.json", cut, "damaged folder"),
        ("manifest.json", forget_a_name, "damaged folder"),
        ("manifest.json", lambda path: path.write_text("[]"), "damaged folder"),
    ],
)
def test_a_damaged_folder_is_refused(seven, name, damage, message):
    damage(seven.folder / name)
    with pytest.raises(BpdError, match=message):
        ImageSet.open(seven.folder)


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 10])
def test_each_epoch_visits_every_image_once_in_an_order_of_its_own(seven, rows):
    batches = ImageBatches(seven, rows, seed=5)
    epochs = []
    for _ in range(3):
        made = [batches.next() for _ in range(batches.batches_per_epoch)]
        epochs.append([index for batch in made for index in batch.indices.tolist()])
        for batch in made:
            assert len(batch.indices) <= rows
            assert np.array_equal(batch.source, to_tokens(np.asarray(seven.inputs[batch.indices])))
            assert np.array_equal(batch.target, to_tokens(np.asarray(seven.targets[batch.indices])))
    assert all(sorted(epoch) == list(range(7)) for epoch in epochs)
    assert rows >= 7 or len({tuple(epoch) for epoch in epochs}) == 3


@settings(max_examples=15)
@given(st.integers(1, 8), st.integers(0, 15), st.integers(0, 2**32 - 1))
def test_a_stream_goes_on_from_a_saved_position(tmp_path_factory, rows, before, seed):
    folder = tmp_path_factory.mktemp("set") / "set"
    ImageSet.write(folder, pictures(7), 2, 4, {})
    images = ImageSet.open(folder)
    whole = ImageBatches(images, rows, seed)
    for _ in range(before):
        whole.next()
    resumed = ImageBatches(images, rows, seed, whole.position)
    for _ in range(4):
        assert np.array_equal(whole.next().indices, resumed.next().indices)
    assert whole.position == resumed.position


def test_an_impossible_position_is_refused(seven):
    with pytest.raises(BpdError, match="cannot resume at batch 4 of epoch 0, which has 4"):
        ImageBatches(seven, 2, 1, BatchPosition(0, 4))
