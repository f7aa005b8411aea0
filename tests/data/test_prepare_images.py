"""From photographs to the prepared folder: CelebA's and LFW's layouts in small, drawn faces, and their faults."""

import hashlib
import json
import zipfile
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from bpd.config import PrepareImagesSettings, validate_section
from bpd.data import lfw
from bpd.data.drawn_faces import draw_faces
from bpd.data.image_set import ImageSet
from bpd.data.photographs import area_average
from bpd.data.prepare_images import prepare_images
from bpd.errors import BpdError


def jpeg(seed: int, size: tuple[int, int], mode: str = "RGB") -> bytes:
    content = BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1] // 8 + 1, size[0] // 8 + 1, 3), dtype=np.uint8)
    Image.fromarray(pixels).resize(size).convert(mode).save(content, format="JPEG", quality=95)
    return content.getvalue()


def pixels(content: bytes) -> np.ndarray:
    return np.asarray(Image.open(BytesIO(content)))


def settings(source: str, files: dict | None = None, **data) -> PrepareImagesSettings:
    values = {"source": source, "input_size": 8, "output_size": 32, "files": files or {}} | data
    return validate_section(PrepareImagesSettings, {"data": values}, "test")


class CelebAInSmall:
    """Six photographs: four of the train set, one of dev, one of test; `files` points the config to them."""

    def __init__(self, folder):
        self.folder = folder
        self.photographs = {f"{number:06d}.jpg": jpeg(number, (178, 218)) for number in range(1, 7)}
        self.sets = dict(zip(self.photographs, "000012"))
        self.prefix = "img_align_celeba/"

    def files(self) -> dict:
        archive, partition = self.folder / "faces.zip", self.folder / "partition.txt"
        with zipfile.ZipFile(archive, "w") as writer:
            for name, content in self.photographs.items():
                writer.writestr(self.prefix + name, content)
        partition.write_text("".join(f"{name} {which}\n" for name, which in self.sets.items()))
        return {
            name: {"url": path.as_uri(), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
            for name, path in (("img_align_celeba.zip", archive), ("list_eval_partition.txt", partition))
        }

    def prepare(self):
        prepare_images(settings("celeba", self.files()), self.folder / "data" / "images")
        return self.folder / "data" / "images"


@pytest.fixture
def celeba(tmp_path, local_data) -> CelebAInSmall:
    return CelebAInSmall(tmp_path)


def test_celeba_is_cropped_averaged_and_split_officially(celeba):
    folder = celeba.prepare()
    train, dev = ImageSet.open(folder / "train"), ImageSet.open(folder / "dev")
    assert train.names == ["000001.jpg", "000002.jpg", "000003.jpg", "000004.jpg"] and dev.names == ["000005.jpg"]
    crop = pixels(celeba.photographs["000005.jpg"])[40:178, 20:158]
    assert crop.shape == (138, 138, 3)
    assert np.array_equal(dev.targets[0], area_average(crop, 32))
    assert np.array_equal(dev.inputs[0], area_average(crop, 8)), "from the crop, not from the large image"
    report = json.loads((folder / "report.json").read_text())
    assert report["counts"] == {"train": 4, "dev": 1} and report["source"] == "celeba"
    again = celeba.folder / "again"
    prepare_images(settings("celeba", celeba.files()), again)
    assert {path: (again / path).read_bytes() for path in ("train/inputs.npy", "dev/targets.npy")} == {
        path: (folder / path).read_bytes() for path in ("train/inputs.npy", "dev/targets.npy")
    }


def unlisted(celeba):
    del celeba.sets["000003.jpg"]


def unsent(celeba):
    del celeba.photographs["000003.jpg"]


def replaced(content):
    def fault(celeba):
        celeba.photographs["000003.jpg"] = content

    return fault


def named(line):
    def fault(celeba):
        celeba.sets[line] = "0"

    return fault


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (unlisted, "photographs that list_eval_partition.txt does not list: 000003.jpg"),
        (unsent, "000003.jpg: listed in list_eval_partition.txt, but not in "),
        (replaced(jpeg(3, (178, 218))[:-300]), "000003.jpg: a damaged JPEG picture"),
        (replaced(jpeg(3, (178, 218), "L")), "000003.jpg: a greyscale picture"),
        (replaced(jpeg(3, (178, 218), "CMYK")), "000003.jpg: a CMYK picture"),
        (replaced(jpeg(3, (218, 178))), "000003.jpg: 218×178 pixels instead of 178×218"),
        (replaced(b"<html>"), "000003.jpg: no JPEG picture"),
        (named("000008.jpg 7\n000009.jpg"), "line 7: expected a file name and 0, 1 or 2"),
    ],
)
def test_a_fault_in_celeba_is_named_and_nothing_is_left(celeba, fault, message):
    fault(celeba)
    with pytest.raises(BpdError, match=message):
        celeba.prepare()
    assert not (celeba.folder / "data" / "images").exists()


def test_all_faulty_photographs_are_named_at_once(celeba):
    celeba.photographs["000001.jpg"] = celeba.photographs["000005.jpg"] = b"no picture"
    with pytest.raises(BpdError, match=r"2 faulty photographs:\n000001\.jpg.*\n000005\.jpg"):
        celeba.prepare()


@pytest.mark.parametrize("content", [b"<!DOCTYPE html><html>Quota exceeded</html>", b"PK\x03\x04 cut"])
def test_an_archive_that_is_none_is_refused(celeba, content):
    files = celeba.files()
    path = celeba.folder / "faces.zip"
    path.write_bytes(content)
    with pytest.raises(BpdError, match="expected SHA-256") as error:
        prepare_images(settings("celeba", files), celeba.folder / "images")
    assert content.startswith(b"PK") or "a web page instead of the file" in str(error.value)
    files["img_align_celeba.zip"]["sha256"] = hashlib.sha256(content).hexdigest()
    with pytest.raises(BpdError, match="no whole zip archive"):
        prepare_images(settings("celeba", files), celeba.folder / "images")


def test_where_members_lie_in_the_archive_does_not_matter_and_nothing_is_unpacked(celeba):
    celeba.prefix = "../../elsewhere/"
    folder = celeba.prepare()
    assert ImageSet.open(folder / "dev").names == ["000005.jpg"]
    assert not list(celeba.folder.rglob("*.jpg"))
    assert not any(place.joinpath("elsewhere").exists() for place in celeba.folder.parents)


class FacesInSmall:
    """Three people of the train set and two of dev, in the layout of the local data folder."""

    def __init__(self, folder, local_data):
        self.folder, self.local = folder, local_data
        self.people = {"train": ["Ada_L", "Bob_M", "Cyd_N"], "dev": ["Dee_O", "Eva_P"]}
        self.photographs = {
            name: jpeg(len(name) + ord(name[0]), (250, 250)) for part in self.people.values() for name in part
        }
        self.manifest = {name: hashlib.sha256(content).hexdigest() for name, content in self.photographs.items()}

    def prepare(self):
        for name, content in self.photographs.items():
            path = self.local / lfw.PHOTOGRAPHS / name / f"{name}_0001.jpg"
            path.parent.mkdir(parents=True)
            path.write_bytes(content)
        lists = {lfw.MANIFEST: "".join(f"{n}/{n}_0001.jpg {sha256}\n" for n, sha256 in self.manifest.items())}
        for part, file in lfw.PEOPLE.items():
            lists[file] = "name,images\n" + "".join(f"{name},3\n" for name in self.people[part])
        files = {}
        for name, text in lists.items():
            path = self.folder / name
            path.write_text(text)
            files[name] = {"url": path.as_uri(), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        prepare_images(settings("lfw", files), self.folder / "images")
        return self.folder / "images"


@pytest.fixture
def faces(tmp_path, local_data) -> FacesInSmall:
    return FacesInSmall(tmp_path, local_data)


def test_lfw_takes_the_middle_of_one_photograph_a_person(faces):
    folder = faces.prepare()
    train, dev = ImageSet.open(folder / "train"), ImageSet.open(folder / "dev")
    assert (train.names, dev.names) == (faces.people["train"], faces.people["dev"])
    middle = pixels(faces.photographs["Eva_P"])[61:189, 61:189].astype(np.int64)
    assert np.array_equal(dev.targets[1], middle.reshape(32, 4, 32, 4, 3).sum(axis=(1, 3)) // 16)
    assert np.array_equal(dev.inputs[1], middle.reshape(8, 16, 8, 16, 3).sum(axis=(1, 3)) // 256)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lambda faces: faces.photographs.update(Bob_M=jpeg(99, (250, 250))), "Bob_M_0001.jpg: SHA-256 is"),
        (lambda faces: faces.photographs.pop("Bob_M"), "Bob_M_0001.jpg: No such file"),
        (lambda faces: faces.manifest.pop("Dee_O"), "lists no photograph of Dee_O"),
        (lambda faces: faces.people["dev"].append("Ada_L"), "both name Ada_L"),
        (lambda faces: faces.people["dev"].append("Eva_P"), "names a person twice"),
        (lambda faces: faces.manifest.update({"../Bad": "0" * 64}), "line 6: expected"),
    ],
)
def test_a_fault_in_lfw_is_named_and_nothing_is_left(faces, fault, message):
    fault(faces)
    with pytest.raises(BpdError, match=message):
        faces.prepare()
    assert not (faces.folder / "images").exists()


def test_missing_photographs_are_asked_for_with_their_address(faces):
    faces.photographs = {}
    with pytest.raises(BpdError, match=r"vis-www\.cs\.umass\.edu/lfw/lfw-deepfunneled\.tgz"):
        faces.prepare()


def test_the_real_photographs_are_the_known_ones(real_data, monkeypatch, tmp_path):
    if not (real_data / lfw.PHOTOGRAPHS).is_dir():
        pytest.skip("no photographs of LFW in the real data")
    monkeypatch.setenv("BPD_DATA_DIR", str(real_data))
    corpus = lfw.LabelledFaces.open({}, tmp_path)
    assert (corpus.count("train"), corpus.count("dev")) == (4038, 1711)
    faults: list[str] = []
    pictures = corpus.pictures("dev", faults)
    first = [next(pictures) for _ in range(3)]
    assert faults == [] and [name for name, _ in first] == ["AJ_Lamas", "Aaron_Guiel", "Aaron_Tippin"]
    assert all(picture.shape == (128, 128, 3) for _, picture in first)


def test_drawn_faces_are_a_function_of_their_seed_and_differ_from_each_other(tmp_path):
    data = {"drawn_faces": {"train_images": 12, "dev_images": 3, "seed": 4}, "input_size": 4, "output_size": 16}
    for name in ("one", "two"):
        prepare_images(settings("drawn_faces", **data), tmp_path / name)
    one, two = (ImageSet.open(tmp_path / name / "train") for name in ("one", "two"))
    assert one.sha256 == two.sha256 and len(one) == 12
    other = dict(draw_faces("train", 12, 5))
    same = dict(draw_faces("train", 12, 4))
    assert not any(np.array_equal(other[name], same[name]) for name in other)
    assert len({np.asarray(image).tobytes() for image in one.targets}) == 12
    assert np.array_equal(one.targets[7], area_average(same["train_00007"], 16))
    # Dev faces are no copies of training faces.
    dev = dict(draw_faces("dev", 3, 4))
    assert not any(np.array_equal(a, b) for a in dev.values() for b in same.values())
    assert np.asarray(one.targets).std() > 30
