"""The chain of commands: what each leaves, and that what belongs together is checked to belong together."""

import json
import shutil

import pytest
import yaml

from bpd import grid
from bpd.commands.decode import decode
from bpd.commands.distill import distill_shard, merge_shards, shard_range
from bpd.commands.inspect import format_inspection, inspect
from bpd.commands.text_set import TextSet
from bpd.commands.trace import trace
from bpd.commands.train import train
from bpd.errors import BpdError
from bpd.fingerprints import file_sha256


def test_a_model_folder_holds_weights_settings_provenance_journal_and_vocabulary(world):
    folder = world.model("both_k3")
    assert sorted(path.name for path in folder.iterdir() if path.name != "decode") == [
        "config.yaml",
        "model.safetensors",
        "provenance.json",
        "tensorboard",
        "training.jsonl",
        "vocabulary.model",
    ]
    provenance = json.loads((folder / "provenance.json").read_text())
    assert provenance["checkpoint_sha256"] == file_sha256(folder / "model.safetensors")
    assert provenance["base_sha256"] == file_sha256(world.model("base") / "model.safetensors")
    assert provenance["vocabulary_sha256"] == file_sha256(world.data / "vocabulary.model")
    settings = yaml.safe_load((folder / "config.yaml").read_text())
    assert settings["heads"]["block_size"] == 3 and settings["corpus"] == "distilled"
    events = [json.loads(line) for line in (folder / "training.jsonl").read_text().splitlines()]
    assert [event["step"] for event in events if event["event"] == "step"] == [4, 8, 12]
    evaluations = [event for event in events if event["event"] == "evaluation"]
    assert [event["step"] for event in evaluations] == [6, 12]
    assert all(1 <= event["dev_mean_accepted_block_size"] <= 3 for event in evaluations)
    assert list((folder / "tensorboard").glob("events.*"))


def test_finished_trainings_leave_no_working_folders(world):
    assert not list((world.root / "checkpoints").iterdir())


def test_a_frozen_base_is_in_the_head_model_unchanged(world):
    base, heads = inspect(world.model("base"))["tensors"], inspect(world.model("regular_k3"))["tensors"]
    tuned = inspect(world.model("both_k3"))["tensors"]
    assert all(heads[name] == tensor for name, tensor in base.items())
    assert any(tuned[name] != tensor for name, tensor in base.items())
    text = format_inspection(inspect(world.model("base")))
    assert base["transformer.embedding.weight"]["sha256"][:16] in text and "300×32" in text


def test_distillation_keeps_order_and_says_what_it_was_made_from(world):
    stored = json.loads((world.root / "data" / "distilled" / "manifest.json").read_text())
    manifest = stored["manifest"]
    teacher = file_sha256(world.model("teacher") / "model.safetensors")
    assert manifest["teacher_sha256"] == teacher and manifest["beam_size"] == 2 and manifest["length_penalty"] == 0.6
    assert manifest["pairs_in"] == 150 == manifest["pairs_out"] + sum(manifest["dropped"].values())
    text = TextSet(world.data)
    gold, distilled = text.training_pairs(), text.training_pairs(world.root / "data" / "distilled")
    sources = iter(gold.source(index).tolist() for index in range(len(gold)))
    for index in range(len(distilled)):
        assert distilled.source(index).tolist() in sources


@pytest.mark.parametrize("pairs", [1, 7, 150])
@pytest.mark.parametrize("shards", [1, 2, 7])
def test_shards_cover_every_pair_once_and_evenly(pairs, shards):
    spans = [shard_range(pairs, shard, shards) for shard in range(shards)]
    assert [index for span in spans for index in span] == list(range(pairs))
    assert max(map(len, spans)) - min(map(len, spans)) <= 1


def damage_order(lines):
    lines[1], lines[2] = lines[2], lines[1]


def damage_count(lines):
    del lines[-1]


def damage_teacher(lines):
    lines[0] = lines[0].replace('"teacher_sha256": "', '"teacher_sha256": "0')


def damage_json(lines):
    lines[3] = lines[3][:10]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_order, "in order"),
        (damage_count, "in order"),
        (damage_teacher, "teacher_sha256"),
        (damage_json, "damaged"),
    ],
)
def test_a_shard_that_does_not_belong_is_refused_by_name(world, tmp_path, damage, message):
    settings = grid.distill_settings(world.config.translation)
    shards = [tmp_path / f"shard_{shard}.jsonl" for shard in range(2)]
    for path in shards:
        shutil.copyfile(world.root / path.name, path)
    lines = shards[1].read_text().splitlines()
    damage(lines)
    shards[1].write_text("\n".join(lines) + "\n")
    with pytest.raises(BpdError, match=message) as error:
        merge_shards(settings, world.model("teacher"), world.data, shards, tmp_path / "merged")
    assert str(shards[1]) in str(error.value)
    assert not (tmp_path / "merged").exists()


def test_swapped_and_missing_shards_are_refused(world, tmp_path):
    settings = grid.distill_settings(world.config.translation)
    shards = [world.root / "shard_1.jsonl", world.root / "shard_0.jsonl"]
    with pytest.raises(BpdError, match="shard is 1, expected 0"):
        merge_shards(settings, world.model("teacher"), world.data, shards, tmp_path / "merged")
    with pytest.raises(BpdError, match="1 shard files were given"):
        merge_shards(settings, world.model("teacher"), world.data, shards[:1], tmp_path / "merged")
    with pytest.raises(BpdError, match="counted from 0 to 1"):
        distill_shard(settings, world.model("teacher"), world.data, 2, tmp_path / "shard_2.jsonl", 8)


def test_decoding_writes_each_sets_criteria_with_what_they_were_made_from(world):
    folder = world.model("both_k3") / "decode"
    found = {str(path.relative_to(folder)) for path in folder.rglob("*.jsonl")}
    assert found == {"dev/exact.jsonl", "dev/top2.jsonl", "dev/minimum2.jsonl", "test/exact.jsonl"}
    assert {path.name for path in (world.model("base") / "decode" / "dev").glob("*.jsonl")} == {
        "exact.jsonl",
        "beam2.jsonl",
    }
    meta = json.loads((folder / "dev" / "exact.meta.json").read_text())
    assert meta["sentences"] == 12 and meta["sentences_unlike_greedy"] == 0 and meta["role"] == "dev"
    assert meta["checkpoint_sha256"] == file_sha256(world.model("both_k3") / "model.safetensors")
    minimum = world.records("both_k3", "dev", "minimum2")
    assert all(min(record["block_sizes"][:-1], default=2) >= 2 for record in minimum)


def test_records_do_not_depend_on_the_batch_size(world, tmp_path):
    settings = grid.decode_settings(world.config.translation, "both_k3")
    decode(settings, world.model("both_k3"), world.data, tmp_path, batch_rows=1)
    for name in ("exact", "top2", "minimum2"):
        alone = [json.loads(line) for line in (tmp_path / "dev" / f"{name}.jsonl").read_text().splitlines()]
        together = world.records("both_k3", "dev", name)
        for record in alone + together:
            del record["seconds"]
        assert alone == together


def test_blank_lines_stay_blank_and_in_place(world, tmp_path):
    data = tmp_path / "data"
    shutil.copytree(world.data, data)
    source = (data / "dev.en").read_text().splitlines()
    source[2], source[5] = "", "   "
    (data / "dev.en").write_text("\n".join(source) + "\n")
    settings = grid.decode_settings(world.config.translation, "both_k3")
    decode(settings, world.model("both_k3"), data, tmp_path / "decode", batch_rows=64)
    records = [json.loads(line) for line in (tmp_path / "decode" / "dev" / "exact.jsonl").read_text().splitlines()]
    blank = [record["index"] for record in records if record["stop"] == "empty"]
    assert blank == [2, 5] and [records[index]["text"] for index in blank] == ["", ""]
    untouched = world.records("both_k3", "dev", "exact")
    assert [record["text"] for record in records if record["index"] not in blank] == [
        record["text"] for record in untouched if record["index"] not in blank
    ]


def test_a_trace_tells_the_same_blocks_as_the_records(world, tmp_path):
    trace(grid.trace_settings(world.config.translation), world.model("both_k3"), world.data, tmp_path / "trace.json")
    told = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    record = world.records("both_k3", "dev", "exact")[3]
    assert [len(step["accepted"]) for step in told["steps"]] == record["block_sizes"]
    assert told["translation"] == record["text"]
    assert all(step["proposed"][: len(step["accepted"])] == step["accepted"] for step in told["steps"])
    assert all(len(step["proposed"]) == 3 for step in told["steps"])


def test_a_trace_of_a_sentence_that_is_not_there_is_refused(world, tmp_path):
    settings = grid.trace_settings(world.config.translation)
    settings = settings.model_copy(update={"trace": settings.trace.model_copy(update={"dev_index": 12})})
    with pytest.raises(BpdError, match=r"trace\.dev_index is 12, but the dev set has 12"):
        trace(settings, world.model("both_k3"), world.data, tmp_path / "trace.json")


class TestRefusals:
    """Inputs that do not fit are named, and nothing half-written stays."""

    def other_vocabulary(self, world, tmp_path):
        settings = grid.prepare_settings(world.config.translation)
        vocabulary = settings.data.vocabulary.model_copy(update={"size": 280})
        from bpd.data.prepare import prepare_text

        changed = settings.model_copy(update={"data": settings.data.model_copy(update={"vocabulary": vocabulary})})
        prepare_text(changed, tmp_path / "other")
        return tmp_path / "other"

    def test_a_vocabulary_that_the_model_does_not_know(self, world, tmp_path):
        other = self.other_vocabulary(world, tmp_path)
        settings = grid.decode_settings(world.config.translation, "both_k3")
        with pytest.raises(BpdError, match="trained with vocabulary"):
            decode(settings, world.model("both_k3"), other, tmp_path / "decode", 8)
        assert not (tmp_path / "decode").exists()

    def test_distilled_pairs_of_another_vocabulary(self, world, tmp_path):
        other = self.other_vocabulary(world, tmp_path)
        settings = grid.train_settings(world.config.translation, "both_k3")
        with pytest.raises(BpdError, match="encoded with vocabulary"):
            distilled = world.root / "data" / "distilled"
            train(settings, other, tmp_path / "model", tmp_path / "work", world.model("base"), distilled)
        assert not (tmp_path / "model").exists()

    @pytest.mark.parametrize(
        ("name", "damage", "message"),
        [
            ("model.safetensors", lambda path: path.write_bytes(path.read_bytes()[:-4]), "damaged or of another"),
            ("model.safetensors", lambda path: path.unlink(), "not been trained to the end"),
            ("provenance.json", lambda path: path.write_text("{"), "missing or damaged"),
            ("config.yaml", lambda path: path.unlink(), "no model here"),
            ("config.yaml", lambda path: path.write_text("- 1\n"), "not the settings of a model"),
            ("config.yaml", lambda path: path.write_text(path.read_text() + "extra: 1\n"), "extra: unknown key"),
        ],
    )
    def test_a_damaged_model_folder(self, world, tmp_path, name, damage, message):
        folder = tmp_path / "model"
        shutil.copytree(world.model("both_k3"), folder)
        damage(folder / name)
        settings = grid.decode_settings(world.config.translation, "both_k3")
        with pytest.raises(BpdError, match=message) as error:
            decode(settings, folder, world.data, tmp_path / "decode", 8)
        assert str(folder) in str(error.value)

    def test_an_empty_dev_set(self, world, tmp_path):
        data = tmp_path / "data"
        shutil.copytree(world.data, data)
        for language in ("en", "de"):
            (data / f"dev.{language}").write_text("")
        settings = grid.decode_settings(world.config.translation, "both_k3")
        with pytest.raises(BpdError, match="set dev is empty"):
            decode(settings, world.model("both_k3"), data, tmp_path / "decode", 8)

    def test_dev_sides_of_unequal_length(self, world, tmp_path):
        data = tmp_path / "data"
        shutil.copytree(world.data, data)
        (data / "dev.de").write_text("Ein Satz.\n")
        settings = grid.train_settings(world.config.translation, "base")
        with pytest.raises(BpdError, match="12 English but 1 German"):
            train(settings, data, tmp_path / "model", tmp_path / "work", None, None)

    def test_heads_without_a_base_and_a_base_with_one(self, world, tmp_path):
        for name, base in (("regular_k3", None), ("base", world.model("base"))):
            with pytest.raises(BpdError, match="--base"):
                settings = grid.train_settings(world.config.translation, name)
                train(settings, world.data, tmp_path / "model", tmp_path / "work", base, None)

    def test_a_minimum_block_size_above_k(self, world, tmp_path):
        settings = grid.decode_settings(world.config.translation, "both_k3")
        settings = settings.model_copy(update={"dev_criteria": ("minimum4",)})
        with pytest.raises(BpdError, match="minimum block size 4 is larger than the block size 3"):
            decode(settings, world.model("both_k3"), world.data, tmp_path / "decode", 8)
        assert not list(tmp_path.rglob("*.jsonl"))
