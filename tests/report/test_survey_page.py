"""The survey page in a real browser: votes by key, click and touch, kept over a reload, saved as they were cast."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest

from bpd.evaluation.preference import preferences
from bpd.evaluation.votes import Vote, read_votes
from bpd.report.survey_page import survey_page
from tests.evaluation.example_study import study

STUDY = study()
PAIRS = len(STUDY.pairs)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def page_text(made=STUDY) -> str:
    random = np.random.default_rng(1)
    images = {}
    for pair in made.pairs:
        for key in (str(pair.method), "baseline"):
            images.setdefault((key, pair.image), random.integers(0, 256, (8, 8, 3), dtype=np.uint8))
    return survey_page(made, images)


def test_the_page_needs_nothing_from_elsewhere_and_does_not_tell_whose_image_is_whose():
    text = page_text()
    assert not re.search(r"https?://|//cdn|@import|url\(|<link|<iframe|{{", text)
    assert "default-src &#x27;none&#x27;" in text
    for told in ("fine_tuning", "regular_k1", "distance2", "method", "face"):
        assert told not in text, told


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no Chromium: install the Debian package chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Open the page in a fresh profile; return a function of the context's options that gives page and complaints."""
    path = tmp_path / "survey.html"
    path.write_text(page_text(), encoding="utf-8")
    contexts = []

    def open_page(**options):
        context = browser.new_context(accept_downloads=True, **options)
        contexts.append(context)
        page = context.new_page()
        complaints = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: complaints.append(request.url) if request.url.startswith("http") else None)
        page.goto(path.as_uri())
        return page, complaints

    yield open_page
    for context in contexts:
        context.close()


def answered(page) -> int:
    return int(page.inner_text("#count").split()[0])


def answer(page, act) -> None:
    """Act once the page takes an answer, and wait until it has counted."""
    before = answered(page)
    page.wait_for_timeout(230)
    act()
    # The page's policy forbids scripts that wait for a condition: the driver asks from outside.
    page.get_by_text(f"{before + 1} of {PAIRS}", exact=True).wait_for(timeout=5000)


def saved(page, button: str, folder) -> list[Vote]:
    with page.expect_download() as download:
        page.click(button)
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    votes = read_votes([path], STUDY)
    assert votes.faults == []
    return votes.votes


def test_votes_by_key_click_and_back_are_saved_as_they_were_cast(opened, tmp_path):
    page, complaints = opened(viewport={"width": 1280, "height": 800})
    page.fill("#rater", 'Ada, "the" Countess')
    page.press("#rater", "Tab")
    choices = []
    for number in range(6):
        side = ("left", "right", "right")[number % 3]
        key = {"left": ("ArrowLeft", "1"), "right": ("ArrowRight", "2")}[side][number % 2]
        answer(page, lambda key=key: page.keyboard.press(key))
        choices.append(side)
    answer(page, lambda: page.click("#left"))
    page.wait_for_timeout(230)
    page.keyboard.press("Backspace")
    page.click("#back")
    assert answered(page) == 5
    choices = choices[:5]
    answer(page, lambda: page.click("#right"))
    choices.append("right")
    votes = saved(page, "#save", tmp_path)
    assert [(vote.pair, vote.choice) for vote in votes] == [
        (pair.pair, choice) for pair, choice in zip(STUDY.pairs, choices, strict=False)
    ]
    assert {vote.rater for vote in votes} == {'Ada, "the" Countess'}
    assert complaints == []


def test_a_reload_goes_on_where_it_was_and_the_end_thanks_and_saves(opened, tmp_path):
    page, complaints = opened(viewport={"width": 1280, "height": 800})
    answer(page, lambda: page.keyboard.press("ArrowLeft"))
    rater = page.input_value("#rater")
    page.reload()
    assert answered(page) == 1 and page.input_value("#rater") == rater
    for pair in STUDY.pairs[1:]:
        answer(page, lambda side=pair.method_side: page.click(f"#{side}"))
    assert page.is_visible("#end") and page.is_hidden("#task") and page.is_hidden("#save")
    assert page.evaluate("document.activeElement.id") == "thanks"
    votes = saved(page, "#save_at_end", tmp_path)
    assert len(votes) == PAIRS
    assert sum(found.preferred for found in preferences(STUDY, votes)) >= 19
    assert complaints == []


def test_a_double_press_or_a_held_key_votes_once(opened):
    page, _ = opened()
    page.wait_for_timeout(230)
    page.dblclick("#left")
    page.wait_for_timeout(200)
    assert answered(page) == 1
    page.wait_for_timeout(230)
    page.keyboard.down("ArrowRight")
    for _ in range(5):
        page.keyboard.down("ArrowRight")
        page.wait_for_timeout(120)
    page.keyboard.up("ArrowRight")
    assert answered(page) == 2


def test_on_a_phone_both_pictures_are_in_sight_and_a_touch_votes(opened):
    page, complaints = opened(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    boxes = [page.locator(f"#{side} img").bounding_box() for side in ("left", "right")]
    for box in boxes:
        assert box["width"] == box["height"] > 130 and box["x"] >= 0 and box["x"] + box["width"] <= 390
        assert box["y"] + box["height"] <= 844
    assert boxes[0]["y"] == boxes[1]["y"] and boxes[0]["x"] + boxes[0]["width"] < boxes[1]["x"]
    answer(page, lambda: page.tap("#right"))
    assert complaints == []


def test_foreign_values_in_the_browsers_storage_are_ignored(opened):
    page, complaints = opened()
    key = f"bpd-survey-{STUDY.survey_id}"
    for stored in ('{"rater": 3}', "no JSON", '{"rater": "x", "votes": [{"pair": "p0002", "choice": "left"}]}'):
        page.evaluate("([key, value]) => localStorage.setItem(key, value)", [key, stored])
        page.reload()
        assert answered(page) == 0
    assert complaints == []


def test_hostile_text_runs_nothing(browser, tmp_path, monkeypatch):
    hostile = "</script><img src=x onerror='window.pwned=1'><script>window.pwned=1</script>"
    monkeypatch.setattr("bpd.report.survey_page.QUESTION", hostile)
    monkeypatch.setattr(type(STUDY), "survey_id", property(lambda _: hostile))
    path = tmp_path / "survey.html"
    path.write_text(page_text(), encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    page.goto(path.as_uri())
    page.wait_for_timeout(200)
    assert page.evaluate("window.pwned") is None and page.inner_text("#question") == hostile
    assert answered(page) == 0 and page.is_visible("#left img")
    context.close()
