"""A10: CelebA's splits leak, its pixels come from different resizing, its files are damaged.

Kind: undocumented preprocessing, no validation of inputs. Each fault of a photograph or an archive is in
tests/data/test_prepare_images.py, averages by hand and by their definition in tests/data/test_photographs.py. Here
`bpd prepare images` reads twelve photographs with three faults at once. The small image is averaged from the crop, as
in the original, not from the large image, so the two agree to the rounding. Further cases: a photograph that ends
anywhere, an archive in which a bit has changed, and a JPEG that asks to be turned.
"""

import hashlib
import json
import random
import zipfile
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from bpd.data.image_set import ImageSet
from bpd.data.photographs import area_average, read_photograph
from bpd.errors import BpdError
from tests.field.driver import bpd, refused

SIZE = (178, 218)
NAMES = [f"{number:06d}.jpg" for number in range(1, 13)]
SETS = dict(zip(NAMES, "000000001122"))


def photograph(seed: int, mode: str = "RGB", **options) -> bytes:
    coarse = np.random.default_rng(seed).integers(0, 256, (28, 23, 3), dtype=np.uint8)
    content = BytesIO()
    Image.fromarray(coarse).resize(SIZE).convert(mode).save(content, format="JPEG", quality=90, **options)
    return content.getvalue()


class Corpus:
    """Twelve photographs in an archive, in any order, and the list of their sets: 8, 2 and 2."""

    def __init__(self, folder) -> None:
        self.folder = folder
        self.photographs = {name: photograph(number) for number, name in enumerate(NAMES)}
        self.archive = folder / "faces.zip"

    def write(self) -> None:
        shuffled = random.Random(3).sample(list(self.photographs), len(self.photographs))
        assert shuffled != sorted(shuffled)
        with zipfile.ZipFile(self.archive, "w") as archive:
            for name in shuffled:
                archive.writestr(f"img_align_celeba/{name}", self.photographs[name])

    def prepare(self, name: str = "data", **variables):
        partition = self.folder / "partition.txt"
        partition.write_text("".join(f"{name} {which}\n" for name, which in SETS.items()))
        files = {
            known: {"url": path.as_uri(), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
            for known, path in (("img_align_celeba.zip", self.archive), ("list_eval_partition.txt", partition))
        }
        data = {"source": "celeba", "input_size": 8, "output_size": 32, "files": files}
        settings = json.dumps({"data": data})
        return bpd("prepare", "images", "--settings", settings, "--output", self.folder / name, **variables)


@pytest.fixture
def corpus(tmp_path, local_data) -> Corpus:
    return Corpus(tmp_path)


def test_a10_each_split_holds_the_listed_photographs_in_order_on_any_number_of_threads(corpus):
    corpus.write()
    for threads in (1, 4):
        result = corpus.prepare(f"threads_{threads}", OMP_NUM_THREADS=threads)
        assert result.returncode == 0, result.stderr
    one, four = (corpus.folder / f"threads_{threads}" for threads in (1, 4))
    assert (one / "report.json").read_bytes() == (four / "report.json").read_bytes()
    sets = {name: ImageSet.open(one / name) for name in ("train", "dev")}
    assert {path.name for path in one.iterdir() if path.is_dir()} == set(sets), "the test split is never read"
    assert sets["train"].names == NAMES[:8] and sets["dev"].names == NAMES[8:10]
    for index in range(8):
        with Image.open(BytesIO(corpus.photographs[NAMES[index]])) as opened:
            crop = np.asarray(opened)[40:-40, 20:-20]
        assert np.array_equal(sets["train"].targets[index], area_average(crop, 32))
        small, large = np.asarray(sets["train"].inputs[index]), np.asarray(sets["train"].targets[index])
        # Both are cut to whole numbers: the large one loses less than 1, and the small one again.
        difference = small.astype(int) - area_average(large, 8)
        assert difference.min() >= 0 and difference.max() <= 1


def test_a10_every_faulty_photograph_is_named_and_none_is_half_grey(corpus):
    corpus.photographs[NAMES[1]] = corpus.photographs[NAMES[1]][:3000]
    corpus.photographs[NAMES[4]] = photograph(4, "L")
    del corpus.photographs[NAMES[9]]
    corpus.write()
    result = corpus.prepare()
    refused(result, "3 faulty photographs", f"{NAMES[1]}: a damaged", f"{NAMES[4]}: a greyscale", f"{NAMES[9]}: listed")
    assert not (corpus.folder / "data").exists()


def test_a10_a_checkerboard_shrinks_to_grey_and_a_plain_image_keeps_its_value():
    checkerboard = np.indices((138, 138)).sum(axis=0) % 2 * 255
    picture = np.repeat(checkerboard[:, :, None], 3, axis=2).astype(np.uint8)
    # A new pixel covers 4.3 old ones a side: all shares of white are near a half.
    assert np.abs(area_average(picture, 32).astype(int) - 127).max() <= 8
    assert np.abs(area_average(picture, 8).astype(int) - 127).max() <= 1
    for value in (0, 77, 255):
        assert (area_average(np.full((138, 138, 3), value, dtype=np.uint8), 32) == value).all()


def test_a10_a_photograph_that_ends_anywhere_is_refused_or_whole():
    content = photograph(0)
    whole = read_photograph(content, "one.jpg", *SIZE)
    read = 0
    for end in range(0, len(content), 7):
        try:
            picture = read_photograph(content[:end], "one.jpg", *SIZE)
        except BpdError as error:
            assert "one.jpg" in str(error)
        else:
            read += 1
            assert np.array_equal(picture, whole), f"cut at {end} of {len(content)}"
    assert read <= 1


def test_a10_a_bit_that_changed_in_the_archive_is_found_and_its_photograph_named(corpus):
    """A JPEG decoder would pass most of such bits, and show other colours."""
    corpus.write()
    content = bytearray(corpus.archive.read_bytes())
    place = content.index(corpus.photographs[NAMES[6]]) + 2000
    content[place] ^= 4
    corpus.archive.write_bytes(content)
    refused(corpus.prepare(), "1 faulty photographs", f"{NAMES[6]}: cannot be read from the archive", "CRC")


def test_a10_a_photograph_is_not_turned_whatever_its_camera_says():
    """The published crops are of the pixels as they are stored."""
    turned = Image.Exif()
    turned[0x0112] = 3
    assert np.array_equal(
        read_photograph(photograph(5, exif=turned), "one.jpg", *SIZE), read_photograph(photograph(5), "one.jpg", *SIZE)
    )
