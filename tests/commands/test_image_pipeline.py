"""The chain of image commands: what each leaves, and that what belongs together is checked to belong together."""

import json
import shutil

import numpy as np
import pytest
import torch

import bpd
from bpd import image_grid
from bpd.commands.decode_images import decode_images
from bpd.commands.inspect import inspect
from bpd.commands.train_images import train_images
from bpd.data.image_set import ImageSet
from bpd.errors import BpdError
from bpd.evaluation.records import read_records
from bpd.fingerprints import file_sha256
from bpd.models.image_model import ImageModel
from bpd.models.model_folder import load_image_model, load_model, load_translation_model

TOKENS = 8 * 8 * 3


def test_a_model_folder_holds_weights_settings_provenance_and_journal(image_world):
    folder = image_world.model("fine_tuning_k3")
    assert sorted(path.name for path in folder.iterdir() if path.name != "decode") == [
        "config.yaml",
        "model.safetensors",
        "provenance.json",
        "tensorboard",
        "training.jsonl",
    ]
    provenance = json.loads((folder / "provenance.json").read_text())
    assert provenance["base_sha256"] == file_sha256(image_world.model("base") / "model.safetensors")
    assert provenance["data_sha256"] == ImageSet.open(image_world.data / "train").sha256
    events = [json.loads(line) for line in (folder / "training.jsonl").read_text().splitlines()]
    evaluations = [event for event in events if event["event"] == "evaluation"]
    assert [event["step"] for event in evaluations] == [3, 6]
    for event in evaluations:
        assert 1 <= event["dev_mean_accepted_block_size"] <= 3 and 0 < event["dev_bits_per_dimension"] < 20
        assert event["dev_psnr"] > 0


def test_a_frozen_base_is_in_the_head_model_unchanged(image_world):
    base, heads = inspect(image_world.model("base"))["tensors"], inspect(image_world.model("regular_k3"))["tensors"]
    tuned = inspect(image_world.model("fine_tuning_k3"))["tensors"]
    assert all(heads[name] == tensor for name, tensor in base.items())
    assert all(tuned[name] != tensor for name, tensor in base.items() if name.startswith("transformer.output"))


def test_records_hold_whole_images_of_the_first_dev_images(image_world):
    dev = ImageSet.open(image_world.data / "dev")
    for model, criteria in (("base", ["exact"]), ("fine_tuning_k3", ["distance2", "exact"])):
        folder = image_world.decode(model)
        assert sorted(path.stem for path in folder.glob("*.jsonl")) == sorted([*criteria, "likelihood"])
        for criterion in criteria:
            records = read_records(folder / f"{criterion}.jsonl")
            assert [record.text for record in records] == dev.names[:3]
            for record in records:
                assert len(record.token_ids) == TOKENS and record.stop == "length"
                assert all(0 <= token <= 255 for token in record.token_ids)
                assert max(record.block_sizes) <= (1 if model == "base" else 3)
            meta = json.loads((folder / f"{criterion}.meta.json").read_text())
            assert (meta["task"], meta["model"], meta["criterion"]) == ("super_resolution", model, criterion)
            assert meta["images"] == 3 and meta["data_sha256"] == dev.sha256
            assert meta["images_unlike_greedy"] == (0 if criterion == "exact" else None)
            assert meta["checkpoint_sha256"] == file_sha256(image_world.model(model) / "model.safetensors")


def test_likelihoods_are_those_of_the_model_on_its_own_and_the_next_images_input(image_world):
    stored, dev = load_image_model(image_world.model("regular_k3")), ImageSet.open(image_world.data / "dev")
    lines = (image_world.decode("regular_k3") / "likelihood.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert [record["name"] for record in records] == dev.names[:3]
    model = stored.model
    for index, record in enumerate(records):
        for key, source in (
            ("bits_per_dimension", index),
            ("bits_per_dimension_other_input", (index + 1) % 3),
        ):
            target = torch.from_numpy(np.array(dev.targets[index])).long().flatten()
            states = model.training_states(
                torch.from_numpy(np.array(dev.inputs[source])).long().view(1, -1), target[None]
            )
            states = model.heads.head(1, states, model.heads.transform(states))
            log_probabilities = model.transformer.logits(states)[0].log_softmax(-1)
            bits = -log_probabilities[torch.arange(TOKENS), target].mean().item() / np.log(2)
            assert record[key] == pytest.approx(bits, rel=1e-4)


def test_records_do_not_depend_on_the_batch_size(image_world, tmp_path):
    settings = image_grid.decode_settings(image_world.config.super_resolution, "fine_tuning_k3")
    decode_images(settings, image_world.model("fine_tuning_k3"), image_world.data, tmp_path, batch_rows=3)
    for criterion in ("exact", "distance2"):
        one, other = (
            read_records(folder / f"{criterion}.jsonl")
            for folder in (tmp_path / "dev", image_world.decode("fine_tuning_k3"))
        )
        assert [(record.token_ids, record.block_sizes) for record in one] == [
            (record.token_ids, record.block_sizes) for record in other
        ]


def test_more_images_than_there_are_are_refused(image_world, tmp_path):
    settings = image_grid.decode_settings(image_world.config.super_resolution, "base")
    with pytest.raises(BpdError, match=r"decoding\.images asks for 5, but .* holds 4"):
        decode_images(
            settings.model_copy(update={"images": 5}), image_world.model("base"), image_world.data, tmp_path, 2
        )
    assert not list(tmp_path.iterdir())


def test_models_of_the_other_half_and_of_other_sizes_are_refused(image_world, tmp_path):
    part = image_world.config.super_resolution
    with pytest.raises(BpdError, match="needs one for translation"):
        load_translation_model(image_world.model("base"))
    heads = image_grid.train_settings(part, "regular_k3")
    with pytest.raises(BpdError, match="need --base"):
        train_images(heads, image_world.data, tmp_path / "m", tmp_path / "w", None)
    with pytest.raises(BpdError, match="holds 2 and 8"):
        other = heads.model_copy(update={"output_size": 16})
        train_images(other, image_world.data, tmp_path / "m", tmp_path / "w", image_world.model("base"))
    wider = part.image_transformer.model_copy(update={"d_model": 32})
    with pytest.raises(BpdError, match="another shape"):
        other = heads.model_copy(update={"image_transformer": wider})
        train_images(other, image_world.data, tmp_path / "m", tmp_path / "w", image_world.model("base"))
    assert not (tmp_path / "m").exists()


def test_a_damaged_model_is_refused(image_world, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(image_world.model("base"), folder)
    content = bytearray((folder / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(BpdError, match="damaged or of another model"):
        load_model(folder)


def test_a_loaded_model_upscales_images_as_the_records_say(image_world):
    model = bpd.load(image_world.model("fine_tuning_k3"))
    assert isinstance(model.model, ImageModel)
    assert (model.block_size, model.input_size, model.output_size) == (3, 2, 8)
    dev = ImageSet.open(image_world.data / "dev")
    inputs = [np.array(image) for image in dev.inputs[:3]]
    for criterion in ("exact", "distance2"):
        records = read_records(image_world.decode("fine_tuning_k3") / f"{criterion}.jsonl")
        for made, record in zip(model.blockwise(inputs, criterion=criterion), records, strict=True):
            assert made.image.flatten().tolist() == record.token_ids
            assert made.accepted_at().flatten().tolist() == [size for size in record.block_sizes for _ in range(size)]
    exact = [made.image for made in model.blockwise(inputs)]
    for cached in (True, False):
        assert all(np.array_equal(*pair) for pair in zip([m.image for m in model.greedy(inputs, cached=cached)], exact))
    with pytest.raises(BpdError, match="image 2 is uint8"):
        model.greedy([inputs[0], np.zeros((3, 2, 3), dtype=np.uint8)])
