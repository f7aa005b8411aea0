"""The archive of a run's records: small, of no data, the same each time, and enough to make the tables from."""

import json
import shutil
import tarfile

import pytest

from bpd.errors import BpdError
from bpd.evaluation.record_archive import pack_records
from tests.field.driver import bpd, refused

pytestmark = pytest.mark.xdist_group("finished_run")


@pytest.fixture(scope="module")
def results(finished_run):
    return finished_run.folder / "results" / "tiny"


@pytest.fixture(scope="module")
def packed(results, tmp_path_factory):
    path = pack_records(results)
    kept = tmp_path_factory.mktemp("packed") / path.name
    shutil.move(path, kept)
    return kept


def lines_of(content: bytes) -> list[dict]:
    return [json.loads(line) for line in content.decode().splitlines()]


def test_a_second_packing_gives_the_same_bytes_and_replaces_the_first(results, packed):
    again = pack_records(results)
    assert again.read_bytes() == packed.read_bytes()
    again.unlink()
    assert list(results.glob(".records*")) == []


def test_it_holds_every_record_of_translation_and_curve_of_all_as_it_is(results, packed):
    expected = {
        path.relative_to(results)
        for pattern in (
            "translation/*/decode/*/*.jsonl",
            "*/*/time/*/*.jsonl",
            "*/*/training.jsonl",
            "*/*/provenance.json",
        )
        for path in results.glob(pattern)
    }
    assert len(expected) > 20
    with tarfile.open(packed) as archive:
        for path in expected:
            assert archive.extractfile(str(path)).read() == (results / path).read_bytes()


def test_it_holds_no_weights_no_data_and_no_images(results, packed):
    with tarfile.open(packed) as archive:
        for entry in archive:
            assert entry.isfile() and entry.name.endswith((".json", ".jsonl", ".yaml")), entry.name
            content = archive.extractfile(entry).read()
            if entry.name.startswith("super_resolution") and entry.name.endswith(".jsonl"):
                assert b"token_ids" not in content and b"image" not in content, entry.name
        names = archive.getnames()
    assert not any(name.startswith("data/") and not name.endswith("report.json") for name in names)
    sources = (results / "data" / "translation" / "dev.en").read_text(encoding="utf-8").splitlines()
    with tarfile.open(packed) as archive:
        # The one sentence of the trace stands in the tables too.
        files = [archive.extractfile(entry).read() for entry in archive if not entry.name.endswith("trace.json")]
    everything = b"".join(files).decode()
    assert len(sources) > 5 and not any(source in everything for source in sources)


def test_of_images_it_has_the_blocks(results, packed):
    path = next(results.glob("super_resolution/fine_tuning_k3/decode/*/exact.jsonl"))
    name = str(path.relative_to(results)).replace("exact.jsonl", "exact.blocks.jsonl")
    with tarfile.open(packed) as archive:
        blocks = lines_of(archive.extractfile(name).read())
    records = lines_of(path.read_bytes())
    assert [one["block_sizes"] for one in blocks] == [one["block_sizes"] for one in records] != []


@pytest.mark.parametrize(
    ("task", "names"),
    [
        ("translation", ("table1", "approximate", "table4")),
        ("speed", ("figure4", "speed_by_batch", "head_accuracy", "time_shares")),
    ],
)
def test_unpacked_elsewhere_it_makes_the_same_tables(finished_run, results, packed, task, names, tmp_path):
    there = tmp_path / "results" / "tiny"
    there.mkdir(parents=True)
    with tarfile.open(packed) as archive:
        archive.extractall(there, filter="data")
    words = [
        "tables",
        "--task",
        task,
        "--results",
        there,
        "--output",
        there / "tables",
        "--config",
        finished_run.folder / "tiny.yaml",
    ]
    made = bpd(*words)
    assert made.returncode == 0, made.stderr
    for name in names:
        assert (there / "tables" / f"{name}.csv").read_bytes() == (results / "tables" / f"{name}.csv").read_bytes()


def test_nothing_to_pack_is_said(tmp_path):
    with pytest.raises(BpdError, match="no decode records to pack"):
        pack_records(tmp_path)
    refused(bpd("pack", tmp_path), "no decode records to pack; run the workflow first")
    assert list(tmp_path.iterdir()) == []
