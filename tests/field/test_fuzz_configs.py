"""Foreign configurations: `bpd validate`, `bpd plan`, and the settings that rules pass as JSON."""

import json

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from bpd import grid
from bpd.config import Config, validate_section
from tests.commands.conftest import CONFIG
from tests.field.driver import bpd, refused
from tests.field.fuzzing import call, changed, foreign, foreign_json, fuzzed, scratch

VALID = yaml.safe_dump(CONFIG, sort_keys=False).encode()
TRAINING = grid.train_settings(validate_section(Config, CONFIG, "tiny").translation, "both_k3").model_dump(mode="json")
BOMB = b"a: &a [x, x]\n" + b"".join(b"%c: &%c [*%c, *%c, *%c]\n" % (n, n, n - 1, n - 1, n - 1) for n in range(98, 122))
MERGES = b"a: &a {x: 1}\n" + b"".join(
    b"%c: &%c {<<: [*%c, *%c, *%c]}\n" % (n, n, n - 1, n - 1, n - 1) for n in range(98, 122)
)


def as_yaml(values) -> bytes:
    return yaml.safe_dump(values, sort_keys=False).encode("utf-8", "surrogatepass")


CONFIGS = st.one_of(foreign(VALID), changed(CONFIG).map(as_yaml), changed(CONFIG).map(as_yaml))


@fuzzed(80)
@given(CONFIGS)
@example(BOMB)
@example(MERGES)
@example(b"a: &a [*a]")
@example(b"a: &a {b: *a}")
@example(b"[" * 100_000)
@example(b"{a: " * 5_000)
@example(b"- " * 5_000)
@example(b"scale: " + b"9" * 5_000)
@example(b"scale: 2026-13-45")
@example(b"scale: !!int ''")
@example(b"scale: !!float x")
@example(b"scale: !!bool x")
@example(b"? [a, b]\n: 1")
@example(b"? 2026-01-01\n: 1")
@example(b"!!python/object/apply:os.system ['touch pwned']")
@example(b'scale: "\\uD800"')
@example(b"\xff\xfes\x00c\x00")
@example(b"")
@example(b"".join(b"k%d: 1\n" % n for n in range(2_000)))
@example(b"#" * 2_000_000)
def test_fuzz_a_config_is_valid_or_refused_by_name(content):
    with scratch() as folder:
        path = folder / "config.yaml"
        path.write_bytes(content)
        call("validate", path).is_well(path)


@fuzzed(40)
@given(CONFIGS)
def test_fuzz_a_config_is_planned_or_refused_by_name(content):
    with scratch() as folder:
        path = folder / "config.yaml"
        path.write_bytes(content)
        outcome = call("plan", "--config", path, "--json")
        if outcome.is_well(path):
            json.loads(outcome.printed, parse_constant=_no_number)


def _no_number(name: str) -> None:
    raise AssertionError(f"{name} in a plan")


@fuzzed(40)
@given(foreign_json(TRAINING).map(lambda content: content.decode("utf-8", "replace")))
@example("[" * 100_000)
@example('{"a":' * 400 + "1" + "}" * 400)
@example("1" * 5_000)
@example('"\\ud800"')
def test_fuzz_settings_are_valid_or_refused_by_name(text):
    with scratch() as folder:
        words = ["--data", folder / "none", "--output", folder / "model", "--work", folder / "work"]
        outcome = call("train", *words, f"--settings={text}")
        assert (
            not outcome.is_well("--settings", "--base", "--distilled", folder / "none")
            and not (folder / "model").exists()
        )


@pytest.mark.parametrize("content", [BOMB, b"a: &a [*a]", b"scale: 2026-13-45"], ids=["bomb", "circle", "date"])
def test_fuzz_a_person_sees_no_traceback(content, tmp_path):
    path = tmp_path / "config.yaml"
    path.write_bytes(content)
    refused(bpd("validate", path), path)
