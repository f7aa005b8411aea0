"""What the help says: all commands in one voice, and to a newcomer what to do first."""

import re

import pytest
import typer

import bpd.cli
from bpd.cli.application import PANELS
from tests.commands.test_cli import run


def walk(command, path=("bpd",)):
    """Yield each command and group with its path."""
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from walk(below, (*path, name))


COMMANDS = {" ".join(path): command for path, command in walk(typer.main.get_command(bpd.cli.app))}


@pytest.mark.parametrize("path", [path for path in COMMANDS if path != "bpd"])
def test_a_command_says_in_one_sentence_what_it_does(path):
    first = COMMANDS[path].help.split("\n\n")[0].replace("\n", " ")
    assert re.fullmatch(r"[A-Z][^.]*(\.md[^.]*)?\.", first), first
    assert first.split()[0] not in {"The", "A", "An", "This"} and not first.split()[0].endswith("s"), first


@pytest.mark.parametrize("path", COMMANDS)
def test_every_argument_and_option_is_explained_and_shows_its_default(path):
    for parameter in COMMANDS[path].params:
        if parameter.name == "help":
            continue
        assert parameter.help and re.match(r"[A-Z1-9]", parameter.help), parameter.name
        assert parameter.help.endswith((".", "…")) and not parameter.help.startswith("Which"), parameter.help
        if parameter.param_type_name == "option" and parameter.default not in (None, False):
            assert parameter.show_default, parameter.name


def test_every_command_has_its_place_in_the_list():
    top = COMMANDS["bpd"].commands
    assert list(top) == [name for names in PANELS.values() for name in names]
    assert {command.rich_help_panel for command in top.values()} == set(PANELS)


def test_without_arguments_a_newcomer_is_told_what_to_do_first_and_then_all_commands():
    shown = run().stdout
    hints = ["make smoke", "bpd translate results/smoke/translation/both_k4 'A child sleeps.'", "README.md"]
    assert all(hint in shown.split("Commands")[0] for hint in hints)
    assert [shown.index(panel) for panel in PANELS] == sorted(shown.index(panel) for panel in PANELS)
    assert shown.rstrip() == run("--help").stdout.rstrip()


def test_ctrl_c_is_answered_with_a_word_and_status_130(monkeypatch, capsys):
    def interrupted(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("bpd.commands.inspect.inspect", interrupted)
    monkeypatch.setattr("sys.argv", ["bpd", "inspect", "anywhere"])
    with pytest.raises(SystemExit) as end:
        bpd.cli.main()
    assert end.value.code == 130 and capsys.readouterr().err.startswith("bpd: interrupted")
