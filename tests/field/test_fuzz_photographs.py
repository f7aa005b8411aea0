"""Foreign photographs: one's own, given to `bpd upscale`, and CelebA's and LFW's with their lists."""

import hashlib
import io
import json
import struct
import zipfile
import zlib
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image

from bpd.data import celeba
from bpd.data.image_set import ImageSet
from bpd.models.image_model import ImageModel
from tests.field.driver import bpd, refused
from tests.field.fuzzing import Outcome, call, foreign, fuzzed, mutated, scratch
from tests.field.tiny_models import write_model

FORMATS = ("JPEG", "PNG", "WEBP", "TIFF", "BMP", "GIF", "PPM")
PEOPLE = {"Ada_L": "train", "Bob_M": "train", "Eva_P": "dev"}


@cache
def picture(kind: str, width: int = 12, height: int = 9, seed: int = 0) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    content, exif = io.BytesIO(), Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(pixels).save(content, format=kind, **({"exif": exif} if kind in ("JPEG", "PNG", "WEBP") else {}))
    return content.getvalue()


def png(width: int, height: int, *chunks: tuple[bytes, bytes], data: bytes = b"") -> bytes:
    """Return a PNG that claims to be so large."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = [(b"IHDR", header), *chunks, (b"IDAT", zlib.compress(data)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in parts
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return write_model(tmp_path_factory.mktemp("model") / "base", "base")


@pytest.mark.parametrize("kind", FORMATS)
def test_fuzz_a_valid_picture_of_each_kind_is_enlarged(kind, model, tmp_path):
    path = tmp_path / "picture"
    path.write_bytes(picture(kind))
    assert call("upscale", model, path, tmp_path / "out.png", "--criterion", "greedy").status == 0
    with Image.open(tmp_path / "out.png") as made:
        assert made.size == (8, 8)


@fuzzed(80)
@given(content=st.sampled_from(FORMATS).flatmap(lambda kind: foreign(picture(kind))))
@example(content=b"")
@example(content=b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(pwned) print\n")
@example(content=png(2**31 - 1, 2**31 - 1))
@example(content=png(20_000, 20_000))
@example(content=png(9, 9))
@example(content=png(0, 0))
@example(content=png(9, 9, (b"tEXt", b"a\0" + b"b" * 100), data=b"\0" * 10_000_000))
@example(content=png(9, 9, (b"zTXt", b"a\0\0" + zlib.compress(b"b" * 10_000_000))))
@example(content=png(9, 9, (b"iCCP", b"a\0\0" + zlib.compress(b"b" * 10_000_000))))
@example(
    content=picture("JPEG").replace(b"\xff\xc0\x00\x11\x08\x00\x09\x00\x0c", b"\xff\xc0\x00\x11\x08\xff\xff\xff\xff")
)
@example(content=b"P6 999999999 999999999 255\n")
def test_fuzz_ones_own_picture_is_enlarged_or_refused_by_name(content, model):
    with scratch() as folder:
        path, output = folder / "picture.jpg", folder / "out.png"
        path.write_bytes(content)
        # What is decoded does not matter here, and takes most of the time.
        with mock.patch.object(ImageModel, "start", side_effect=_Read):
            try:
                outcome = call("upscale", model, path, output, "--criterion", "greedy")
            except _Read:
                return
        assert not outcome.is_well(path, folder=folder) and not output.exists()


class _Read(Exception):
    """The picture was read."""


def prepare(folder: Path, source: str, files: dict[str, bytes]) -> Outcome:
    given = {}
    for name, content in files.items():
        (folder / name).write_bytes(content)
        given[name] = {"url": (folder / name).as_uri(), "sha256": hashlib.sha256(content).hexdigest()}
    data = {"source": source, "input_size": 2, "output_size": 8, "files": given}
    return call("prepare", "images", "--settings", json.dumps({"data": data}), "--output", folder / "data")


def check(outcome: Outcome, folder: Path, *names: str) -> bool:
    if not outcome.is_well(*names, folder=folder):
        assert not (folder / "data").exists()
        return False
    assert all(ImageSet.open(folder / "data" / name).output_size == 8 for name in ("train", "dev"))
    return True


@cache
def celeba_files(photographs: tuple[bytes, ...] = ()) -> dict[str, bytes]:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in (1, 2, 3):
            name = f"img_align_celeba/{number:06d}.jpg"
            archive.writestr(zipfile.ZipInfo(name), picture("JPEG", 178, 218, number))
    partition = b"".join(b"%06d.jpg %d\n" % pair for pair in ((1, 0), (2, 0), (3, 1)))
    return {"img_align_celeba.zip": content.getvalue(), "list_eval_partition.txt": partition}


@fuzzed(40)
@given(
    st.sampled_from(list(celeba_files())).flatmap(lambda name: st.tuples(st.just(name), foreign(celeba_files()[name])))
)
@example(("list_eval_partition.txt", b"\xff"))
@example(("list_eval_partition.txt", "000001.jpg 0\u2028000002.jpg 0\n000003.jpg 1\n".encode()))
@example(("img_align_celeba.zip", b"PK\x05\x06" + b"\0" * 18))
def test_fuzz_celeba_is_prepared_or_refused_by_name(case):
    with scratch() as folder:
        outcome = prepare(folder, "celeba", celeba_files() | dict([case]))
        check(outcome, folder, *celeba_files(), "00000")


def test_fuzz_a_photograph_that_unpacks_without_end_is_named(tmp_path):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in (1, 2, 3):
            archive.writestr(f"{number:06d}.jpg", b"\0" * 100_000 if number == 2 else picture("JPEG", 178, 218))
    with mock.patch.object(celeba, "_MOST_BYTES", 99_999):
        outcome = prepare(tmp_path, "celeba", celeba_files() | {"img_align_celeba.zip": content.getvalue()})
    assert not check(outcome, tmp_path, "000002.jpg: 100000 bytes are more than such a picture has")


def lfw_files() -> dict[str, bytes]:
    manifest = "".join(
        f"{person}/{person}_0001.jpg {hashlib.sha256(picture('JPEG', 250, 250)).hexdigest()}\n" for person in PEOPLE
    )
    lists = {
        name: "name,images\n" + "".join(f"{person},1\n" for person, where in PEOPLE.items() if where == name)
        for name in ("train", "dev")
    }
    return {
        "lfw-deepfunneled.manifest.txt": manifest.encode(),
        "peopleDevTrain.csv": lists["train"].encode(),
        "peopleDevTest.csv": lists["dev"].encode(),
    }


@fuzzed(40)
@given(st.sampled_from(list(lfw_files())).flatmap(lambda name: st.tuples(st.just(name), foreign(lfw_files()[name]))))
@example(("peopleDevTrain.csv", b"name,images\nAda_L,1\n\xff,1\n"))
@example(("peopleDevTrain.csv", b"images,name\n1\n"))
@example(("peopleDevTrain.csv", b'name\n"Ada_L\n'))
@example(("peopleDevTrain.csv", b"name\n" + b"x" * 140_000 + b"\n"))
@example(("lfw-deepfunneled.manifest.txt", b"\xff\n"))
@example(("lfw-deepfunneled.manifest.txt", b"../.._0001.jpg " + b"0" * 64 + b"\n"))
def test_fuzz_the_lists_of_lfw_are_read_or_refused_by_name(case):
    with scratch() as folder:
        for person in PEOPLE:
            path = folder / "photographs/lfw-deepfunneled" / person / f"{person}_0001.jpg"
            path.parent.mkdir(parents=True)
            path.write_bytes(picture("JPEG", 250, 250))
        with mock.patch.dict("os.environ", BPD_DATA_DIR=str(folder / "photographs")):
            outcome = prepare(folder, "lfw", lfw_files() | dict([case]))
        check(outcome, folder, *lfw_files())


@fuzzed(40)
@given(mutated(picture("JPEG", 250, 250)))
def test_fuzz_a_photograph_of_the_manifest_is_whole_or_named(content):
    """Even one whose checksum the manifest tells."""
    files = lfw_files()
    name = "lfw-deepfunneled.manifest.txt"
    valid = hashlib.sha256(picture("JPEG", 250, 250)).hexdigest().encode()
    files[name] = files[name].replace(valid, hashlib.sha256(content).hexdigest().encode(), 1)
    with scratch() as folder:
        for person in PEOPLE:
            path = folder / "photographs/lfw-deepfunneled" / person / f"{person}_0001.jpg"
            path.parent.mkdir(parents=True)
            path.write_bytes(content if person == "Ada_L" else picture("JPEG", 250, 250))
        with mock.patch.dict("os.environ", BPD_DATA_DIR=str(folder / "photographs")):
            outcome = prepare(folder, "lfw", files)
        check(outcome, folder, "Ada_L_0001.jpg")


def test_fuzz_a_person_sees_no_traceback_of_a_picture_that_is_none(model, tmp_path):
    path = tmp_path / "picture.png"
    path.write_bytes(picture("PNG")[:60])
    refused(bpd("upscale", model, path, tmp_path / "out.png"), path)
    assert not (tmp_path / "out.png").exists()
