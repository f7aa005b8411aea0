"""What the pages say of the code is there: functions, files and commands."""

import importlib
import re

import pytest

import bpd.cli  # noqa: F401  (it registers the commands)
from bpd.cli.application import app
from tests.docs.pages import PAGES, ROOT

NAME = re.compile(r"`(bpd(?:\.\w+)+):(\w+(?:\.\w+)*)`")
PATH = re.compile(r"`((?:bpd|tests|bench|config|workflow)/[\w./-]+\.(?:py|yaml|smk))`")
OWN = [page for page in PAGES if page.parent.name == "docs" or page == ROOT / "README.md"]


def test_every_function_named_in_the_pages_exists():
    found = [pair for page in OWN for pair in NAME.findall(page.read_text(encoding="utf-8"))]
    assert len(found) > 40
    for module, name in found:
        part = importlib.import_module(module)
        for one in name.split("."):
            assert hasattr(part, one), f"{module}:{name}"
            part = getattr(part, one)


def test_every_file_named_in_the_pages_exists():
    found = {path for page in OWN for path in PATH.findall(page.read_text(encoding="utf-8"))}
    assert len(found) > 10
    assert [path for path in sorted(found) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", OWN, ids=lambda page: page.name)
def test_every_command_named_in_the_pages_exists(page):
    known = {command.name for command in app.registered_commands}
    known |= {group.name for group in app.registered_groups}
    used = set(re.findall(r"(?:`|\n(?:\$ )?)bpd ([a-z]+)\b", page.read_text(encoding="utf-8")))
    assert used <= known, used - known
