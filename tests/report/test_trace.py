import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle

from bpd.errors import BpdError
from bpd.report.style import COLOURS
from bpd.report.trace import accepted_sizes, read_trace, trace_figure, trace_markdown
from tests.report.example_results import TRACE, write_trace
from tests.report.visible import texts_out_of_sight


def test_what_is_stored_is_read(tmp_path):
    assert read_trace(write_trace(tmp_path)) == TRACE
    assert accepted_sizes(TRACE) == [5, 1, 3, 4]


def test_markdown_shows_each_step_with_what_it_accepted_and_rejected():
    lines = trace_markdown(TRACE, "mini").splitlines()
    assert lines[0] == ("**Section 7.4. One translation step by step, model both_k10, exact criterion, scale mini**")
    assert "- Source: The 5$ man | sells 3$ ice_cream by 2018 at the earliest." in lines
    assert "- Translation: Der 5$-Mann verkauft frühestens 2018 Eis." in lines
    assert "- Reference: Der Mann verkauft frühestens 2018 Eis." in lines
    first = lines.index("| ---: | ---: | --- |") + 1
    assert lines[first : first + 4] == [
        "| 1 | 5 | `▁Der` `▁5` `$` `-` `Mann` ~~`▁Eis`~~ |",
        r"| 2 | 1 | `▁verkauf` ~~`en`~~ ~~`\|`~~ |",
        "| 3 | 3 | `t` `▁frühesten` `s` ~~`▁2018`~~ ~~`▁Eis`~~ ~~`.`~~ ~~`</s>`~~ |",
        "| 4 | 4 | `▁2018` `▁Eis` `.` `</s>` |",
    ]
    assert "Here 4 steps accept 5, 1, 3, 4 tokens: 3.25 on average.  " in lines
    assert lines[-1].startswith("Published, k = 10, for “The James Webb Space Telescope (JWST)")
    assert lines[-1].endswith("6 steps accept 10, 5, 4, 10, 2, 3 tokens.")


def test_a_sentence_without_reference_is_shown_without():
    assert "Reference" not in trace_markdown(TRACE | {"reference": None}, "mini")


def test_the_figure_has_a_box_for_each_piece_and_colours_the_accepted():
    figure = trace_figure(TRACE, "mini")
    boxes = [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]
    filled, framed = boxes[0::2], boxes[1::2]
    assert len(framed) == sum(len(step["proposed"]) for step in TRACE["steps"]) == 20
    accepted = [box.get_facecolor()[:3] == to_rgb(COLOURS["both"]) for box in filled]
    expected = [place < len(step["accepted"]) for step in TRACE["steps"] for place in range(len(step["proposed"]))]
    assert accepted == expected


def test_the_figure_says_what_is_ours_and_what_is_published():
    said = [text.get_text() for text in trace_figure(TRACE, "mini").axes[0].texts]
    assert "Accepted here, 4 steps: 5, 1, 3, 4" in said
    assert "Published example (k = 10), 6 steps: 10, 5, 4, 10, 2, 3" in said
    assert [text for text in said if text.startswith("+")] == ["+5", "+1", "+3", "+4"]


@pytest.mark.parametrize(("pieces", "steps"), [(["a"], 1), (["a"], 50), (["▁Weltraumteleskop"] * 10, 3)])
def test_long_sentences_and_traces_stay_within_the_figure(pieces, steps):
    sentence = "The James Webb Space Telescope (JWST) will be launched into space. " * 5
    step = {"proposed": pieces, "accepted": pieces[:1]}
    trace = TRACE | {"model": "distillation_k10", "source": sentence, "translation": sentence, "steps": [step] * steps}
    assert not texts_out_of_sight(trace_figure(trace, "smoke"))


def test_dollars_are_text():
    figure = trace_figure(TRACE | {"source": "5$ or 6$ and x_1"}, "mini")
    (source,) = [text for text in figure.axes[0].texts if text.get_text().startswith("Source")]
    assert source.get_text() == "Source: 5$ or 6$ and x_1"
    assert not any(text.get_parse_math() for text in figure.axes[0].texts if "$" in text.get_text())


@pytest.mark.parametrize("content", [None, b"", b"{", b"null", b"[]", b"{}", b"\xff"])
def test_a_damaged_trace_is_refused_by_name(tmp_path, content):
    path = write_trace(tmp_path)
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(BpdError, match=r"trace\.json: missing or damaged trace; run `bpd trace` again"):
        read_trace(path)


@pytest.mark.parametrize(
    "change",
    [
        {"steps": []},
        {"steps": 3},
        {"steps": [{"proposed": ["a"]}]},
        {"steps": [{"proposed": ["a"], "accepted": []}]},
        {"steps": [{"proposed": ["a"], "accepted": ["b"]}]},
        {"steps": [{"proposed": ["a"], "accepted": ["a", "b"]}]},
        {"steps": [{"proposed": [1], "accepted": [1]}]},
        {"steps": [{"proposed": "ab", "accepted": "a"}]},
        {"source": None},
        {"model": 3},
    ],
)
def test_a_trace_that_cannot_be_is_refused(tmp_path, change):
    with pytest.raises(BpdError, match=r"trace\.json: missing or damaged trace"):
        read_trace(write_trace(tmp_path, TRACE | change))


@pytest.mark.parametrize("name", ["source", "translation", "model", "steps"])
def test_a_trace_that_lacks_something_is_refused(tmp_path, name):
    with pytest.raises(BpdError, match=r"trace\.json: missing or damaged trace"):
        read_trace(write_trace(tmp_path, {key: value for key, value in TRACE.items() if key != name}))


def test_the_figure_says_what_its_rows_are():
    (axes,) = trace_figure(TRACE, "mini").axes
    assert "Each row: step, + tokens accepted" in " ".join(text.get_text() for text in axes.texts)
