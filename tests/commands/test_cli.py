"""The command line as a person meets it: help, refusals without tracebacks, translations."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
import yaml
from PIL import Image

import bpd
from bpd.errors import BpdError
from tests.commands.conftest import CONFIG

ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "200", "NO_COLOR": "1"}


def run(*words, stdin: str | None = None) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "bpd.cli", *map(str, words)],
        capture_output=True,
        text=True,
        input=stdin,
        env=ENVIRONMENT,
        encoding="utf-8",
    )


def test_help_names_every_command_without_importing_torch():
    code = "import sys, bpd.cli; assert 'torch' not in sys.modules and 'pandas' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT).returncode == 0
    shown = run("--help").stdout
    names = [
        "prepare",
        "train",
        "distill",
        "decode",
        "time",
        "score",
        "trace",
        "tables",
        "figures",
        "translate",
        "inspect",
    ]
    assert all(
        f" {name} " in shown
        for name in [*names, "validate", "show", "survey", "upscale", "scorecard", "page", "plan", "rates", "cost"]
    )


def test_a_good_config_is_valid_and_a_bad_one_is_refused_by_key(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(CONFIG))
    good = run("validate", path)
    assert good.returncode == 0 and "valid; scale tiny, 3 proposal-head models for translation and 3 for" in good.stdout
    path.write_text(path.read_text().replace("seed: 3", "seed: 3e0\n    sead: 3"))
    bad = run("validate", path)
    assert bad.returncode == 1 and "Traceback" not in bad.stderr
    assert "translation.heads.sead: unknown key" in bad.stderr
    assert "translation.heads.seed" in bad.stderr and "YAML read this number as text" in bad.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["decode", "--model", "m", "--data", "d", "--output", "o"], "exactly one of --settings and --config"),
        (["decode", "--model", "m", "--data", "d", "--output", "o", "--settings", "{"], "not JSON"),
        (["train", "--data", "d", "--work", "w", "--output", "o", "--settings", "{}"], "model: missing"),
        (["inspect", "nowhere"], "no model here"),
        (["translate", "nowhere", "A house."], "no model here"),
        (["score", "--data", "d", "nowhere.jsonl"], "decode again"),
        (["show", "nowhere", "nowhere"], "no tables yet"),
    ],
)
def test_problems_are_told_without_a_traceback(words, message):
    result = run(*words)
    assert result.returncode == 1 and "Traceback" not in result.stderr
    assert result.stderr.splitlines()[-1].startswith(("bpd: ", "  ")) and message in result.stderr


def test_translations_come_in_order_with_their_blocks(world):
    lines = ["The old man sees a house.", "", "A child sleeps."]
    result = run("translate", world.model("both_k3"), "--blocks", "--json", stdin="\n".join(lines) + "\n")
    assert result.returncode == 0, result.stderr
    told = [json.loads(line) for line in result.stdout.splitlines()]
    assert [values["stop"] == "empty" for values in told] == [False, True, False]
    assert [sum(map(len, values["blocks"])) for values in told] == [sum(values["block_sizes"]) for values in told]
    plain = run("translate", world.model("both_k3"), *lines)
    assert plain.stdout.splitlines() == [values["text"] for values in told]
    greedy = run("translate", world.model("both_k3"), "--criterion", "greedy", *lines)
    assert greedy.stdout == plain.stdout


def test_a_photograph_is_upscaled_to_a_png(image_world, tmp_path):
    photograph, output = tmp_path / "photo.jpg", tmp_path / "face.png"
    pixels = np.random.default_rng(0).integers(0, 256, (21, 35, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(photograph)
    result = run("upscale", image_world.model("fine_tuning_k3"), photograph, output, "--criterion", "distance2")
    assert result.returncode == 0, result.stderr
    assert "35×21 pixels; took the middle 21×21, averaged it to 2×2" in result.stdout
    assert "8×8 pixels; 192 tokens in " in result.stdout and result.stderr == ""
    with Image.open(output) as made:
        assert made.size == (8, 8) and made.mode == "RGB"


@pytest.mark.parametrize(
    ("photograph", "output", "message"),
    [
        ("nowhere.jpg", "face.png", "no such file"),
        ("text.jpg", "face.png", "no picture of a kind that is read here: JPEG, PNG"),
        ("small.png", "face.png", "1×1 pixels, but the model reads 2×2"),
        ("small.png", "face.jpg", "a name that ends in .png"),
    ],
)
def test_what_is_no_photograph_is_refused(image_world, tmp_path, photograph, output, message):
    (tmp_path / "text.jpg").write_text("no picture")
    Image.new("RGB", (1, 1)).save(tmp_path / "small.png")
    result = run("upscale", image_world.model("base"), tmp_path / photograph, tmp_path / output)
    assert result.returncode == 1 and message in result.stderr and "Traceback" not in result.stderr
    assert not (tmp_path / output).exists()


def test_a_model_of_the_other_half_is_refused(world, image_world, tmp_path):
    for words in (["translate", image_world.model("base"), "A."], ["upscale", world.model("base"), "a.jpg", "b.png"]):
        result = run(*words)
        assert result.returncode == 1 and "this needs one for" in result.stderr and "Traceback" not in result.stderr


def test_an_unknown_criterion_and_too_large_a_block_are_refused(world):
    for words, message in (
        (["--criterion", "best"], "unknown criterion 'best'"),
        (["--block-size", "4"], "block size 4"),
        (["--criterion", "greedy", "--block-size", "2"], "--block-size has no meaning"),
    ):
        result = run("translate", world.model("both_k3"), "A house.", *words)
        assert result.returncode == 1 and message in result.stderr and "Traceback" not in result.stderr


def test_a_loaded_model_decodes_greedily_by_beam_and_in_blocks(world):
    model = bpd.load(world.model("both_k3"))
    sentences = ["The old man sees a house.", "  ", "A child sleeps."]
    greedy, blocks = model.greedy(sentences), model.blockwise(sentences)
    assert [one.text for one in greedy] == [one.text for one in blocks] and greedy[1].decoded is None
    assert model.block_size == 3 and max(len(block) for one in blocks for block in one.blocks) <= 3
    assert [one.text for one in model.beam(sentences, beam_size=1)] == [one.text for one in greedy]
    assert [one.decoded for one in model.blockwise(sentences, block_size=1)] == [one.decoded for one in greedy]
    recomputed = model.blockwise(sentences, cached=False)
    assert [one.decoded for one in recomputed] == [one.decoded for one in blocks]


def test_a_loaded_model_tells_what_it_proposed_row_by_row(world):
    model = bpd.load(world.model("both_k3"))
    sentences = ["A child sleeps.", "", "The old man sees a small house."]
    told = model.blockwise(sentences, with_proposals=True)
    assert [one.text for one in told] == [one.text for one in model.blockwise(sentences)]
    assert told[1].proposed == [] and model.blockwise(sentences)[0].proposed is None
    for one in told:
        assert [step[: len(block)] for step, block in zip(one.proposed, one.blocks, strict=True)] == one.blocks
        assert all(len(step) == 3 for step in one.proposed)


def test_a_model_with_a_foreign_vocabulary_is_not_loaded(world, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(world.model("both_k3"), folder)
    (folder / "vocabulary.model").write_bytes((folder / "vocabulary.model").read_bytes() + b"\x00\x00")
    with pytest.raises(BpdError, match=r"vocabulary\.model"):
        bpd.load(folder)
