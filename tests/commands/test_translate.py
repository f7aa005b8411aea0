"""`bpd translate`: what a terminal shows, and what a pipe gets."""

import io
import json
import os
import pty
import subprocess
import sys

import pytest
from rich.console import Console

from bpd.commands.block_display import BlockDisplay, console_for, joined
from bpd.commands.sentence_time import SentenceTime
from bpd.decoding.results import Decoded
from bpd.trained_model import Translation
from tests.commands.test_cli import ENVIRONMENT, run

BLOCKS = [["▁Ein", "▁Fahr", "rad"], ["er"], ["▁kommt", ".", "</s>"]]
PROPOSED = [["▁Ein", "▁Fahr", "rad", "▁fällt"], ["er", "▁geht", ".", "</s>"], ["▁kommt", ".", "</s>", "▁und"]]
TRANSLATION = Translation(
    "Ein Fahrrader kommt.", BLOCKS, Decoded([5, 6, 7, 8, 9, 10, 2], [3, 1, 3], 4, "end"), PROPOSED
)
BLANK = Translation("", [], None)
SENTENCES = ["The old man sees a house.", "", "A child sleeps."]


def printed(*translations, colour: bool, proposals: bool = False, time: SentenceTime | None = None, width: int = 200):
    stream = io.StringIO()
    system = "standard" if colour else None
    console = Console(file=stream, width=width, force_terminal=colour, color_system=system, highlight=False)
    display = BlockDisplay(console, greedy=False, proposals=proposals)
    for translation in translations:
        display.show(translation, time if translation.decoded else None)
    display.close()
    return stream.getvalue().splitlines()


def on_a_terminal(*words, **environment) -> str:
    """Return what a command prints with a terminal, 100 characters wide, as its standard output."""
    ours, theirs = pty.openpty()
    told = {name: value for name, value in ENVIRONMENT.items() if name != "NO_COLOR"}
    process = subprocess.Popen(
        [sys.executable, "-m", "bpd.cli", *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env=told | {"TERM": "xterm-256color", "COLUMNS": "100"} | environment,
    )
    os.close(theirs)
    content = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        content += part
    os.close(ours)
    assert process.wait() == 0
    return content.decode("utf-8")


def test_blocks_alternate_in_colour_and_are_divided_by_bars_without():
    assert printed(TRANSLATION, colour=True)[1] == (
        "  \x1b[30;46mEin Fahr·rad\x1b[0m\x1b[30;43mer\x1b[0m \x1b[30;46mkommt·. </s>\x1b[0m"
    )
    assert printed(TRANSLATION, colour=False)[1] == "  Ein Fahr·rad|er | kommt·. </s>"


def test_sizes_and_the_speedup_in_iterations_and_time_are_told():
    lines = printed(TRANSLATION, colour=False, time=SentenceTime(0.02, 0.01))
    assert lines[2:] == [
        "  accepted 3 + 1 + 3 = 7 tokens in 3 iterations: mean accepted block size 2.33",
        "  against greedy decoding: 2.33× fewer iterations, 2.00× the speed (10.0 ms, greedy 20.0 ms)",
    ]


def test_rejected_tokens_are_marked_and_dim_but_for_those_beyond_the_end():
    assert printed(TRANSLATION, colour=False, proposals=True)[1:4] == [
        "    1   +3  Ein Fahr·rad ✗ fällt",
        "    2   +1  ·er ✗ geht·. </s>",
        "    3   +3  kommt·. </s>",
    ]
    assert "\x1b[2m ✗ fällt\x1b[0m" in printed(TRANSLATION, colour=True, proposals=True)[1]


def test_several_sentences_end_with_their_sums():
    lines = printed(TRANSLATION, BLANK, TRANSLATION, colour=False, time=SentenceTime(0.02, 0.01))
    assert lines[4] == "" and lines[-3:] == [
        "2 sentences",
        "  14 tokens in 6 iterations: mean accepted block size 2.33",
        "  against greedy decoding: 2.33× fewer iterations, 2.00× the speed (20.0 ms, greedy 40.0 ms)",
    ]


def test_a_narrow_terminal_wraps_below_the_beginning_and_loses_no_word():
    lines = printed(TRANSLATION, colour=False, width=30)
    assert all(len(line) <= 30 and line == line.rstrip() for line in lines)
    assert all(line.startswith("  ") for line in lines[1:])
    assert " ".join(lines).split() == " ".join(printed(TRANSLATION, colour=False)).split()


def test_subwords_that_go_on_a_word_are_told_from_new_words():
    assert joined(["▁Ein", "▁Fahr", "rad", "</s>"]) == " Ein Fahr·rad </s>"
    assert joined(["rad", "▁"]) == "rad "


@pytest.mark.parametrize(
    ("environment", "colour", "coloured"),
    [({}, True, True), ({"NO_COLOR": "1"}, True, True), ({"FORCE_COLOR": "1"}, False, False), ({}, None, False)],
)
def test_a_word_on_colour_has_the_last_say(monkeypatch, environment, colour, coloured):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    console = console_for(io.StringIO(), colour)
    assert (console.color_system is not None and not console.no_color) is coloured


def test_a_terminal_shows_blocks_colours_and_measured_time(world):
    shown = on_a_terminal("translate", world.model("both_k3"), *SENTENCES)
    assert "\x1b[30;46m" in shown and "mean accepted block size" in shown
    assert shown.count("the speed (") == 3 and "2 sentences" in shown
    assert "\x1b[30;" not in on_a_terminal("translate", world.model("both_k3"), SENTENCES[0], "--no-time", NO_COLOR="1")
    bare = on_a_terminal("translate", world.model("both_k3"), *SENTENCES, "--no-blocks")
    assert bare.splitlines() == run("translate", world.model("both_k3"), *SENTENCES).stdout.splitlines()


def test_a_pipe_gets_line_for_line_from_a_file_or_another_pipe(world, tmp_path):
    path = tmp_path / "sentences.txt"
    path.write_text("\n".join(SENTENCES) + "\n", encoding="utf-8")
    from_file = run("translate", world.model("both_k3"), "--input", path)
    assert from_file.returncode == 0 and from_file.stderr == ""
    lines = from_file.stdout.split("\n")
    assert [bool(line) for line in lines] == [True, False, True, False] and "\x1b" not in from_file.stdout
    assert run("translate", world.model("both_k3"), stdin=path.read_text()).stdout == from_file.stdout


def test_json_tells_proposals_and_times_where_asked(world):
    result = run("translate", world.model("both_k3"), "--json", "--proposals", "--time", *SENTENCES[:2])
    told, blank = map(json.loads, result.stdout.splitlines())
    assert told["source"] == SENTENCES[0] and told["greedy_seconds"] > 0 and told["blockwise_seconds"] > 0
    assert [step[: len(block)] for step, block in zip(told["proposed"], told["blocks"])] == told["blocks"]
    assert blank["text"] == "" and blank["proposed"] == [] and "greedy_seconds" not in blank


def test_fewer_proposals_are_timed_too(world):
    result = run("translate", world.model("both_k3"), "--json", "--time", "--block-size", "2", SENTENCES[0])
    told = json.loads(result.stdout)
    assert max(told["block_sizes"]) <= 2 and told["blockwise_seconds"] > 0


def test_a_file_given_as_a_sentence_is_refused(world, tmp_path):
    path = tmp_path / "sentences.txt"
    path.write_text("A house.\n")
    result = run("translate", world.model("both_k3"), path)
    assert result.returncode == 1 and f"--input {path}" in result.stderr and result.stdout == ""


def test_times_that_would_not_be_shown_are_not_measured(world):
    result = run("translate", world.model("both_k3"), "--time", SENTENCES[0])
    assert result.returncode == 1 and "--time needs --blocks or --json" in result.stderr
