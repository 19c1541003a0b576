"""Journeys through lessons: one of them played from the shelf to its end by the keyboard alone, one on a telephone."""

import re
import statistics
import time

import pytest
from playwright.sync_api import expect

from tests.browser.steps import LONG_MS, box_of, click_at, fits, still
from vizkit.lessons.shelf import files, opened
from vizkit.views.bundled import title

NAME = "1_image_as_a_sequence"
MOST_TABS = 150
SETTLED_S = 1.0
FOCUSED = """() => {
  let at = document.activeElement
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement
  return [at?.tagName, at?.getAttribute('aria-label') || at?.innerText || at?.value || ''].join(' ')
}"""
FIGURES = "canvas, img, svg.main-svg, table, .class-bars"


def tab_to(page, words):
    """Press Tab until what has the focus is called so."""
    for _ in range(MOST_TABS):
        if re.search(words, page.evaluate(FOCUSED), re.DOTALL):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab never comes to {words}.")


def answer(page, step):
    """Some guess, with keys."""
    question = step.question
    assert question is not None
    if question.kind in ("point", "draw"):
        tab_to(page, "^CANVAS The image as")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        tab_to(page, "^BUTTON This is my guess")
    elif question.kind == "number":
        tab_to(page, "^INPUT Your guess")
        page.keyboard.type("12")
    elif question.kind == "choice":
        tab_to(page, rf"^BUTTON {re.escape(question.parts[0][0].words())}")
    else:
        tab_to(page, "^INPUT From the largest")
        for _ in question.parts:
            page.keyboard.press("ArrowDown")
            page.keyboard.press("Enter")
        page.keyboard.press("Escape")
        tab_to(page, "^BUTTON This is my guess")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Guess again")).to_be_visible()


@pytest.mark.rest
def test_a_lesson_by_the_keyboard_alone(page, server):
    lesson = opened(NAME)
    page.goto(f"{server}/lessons")
    expect(page.get_by_role("button", name="Begin").first).to_be_visible(timeout=LONG_MS)
    still(page)
    tab_to(page, "^BUTTON Begin")
    page.keyboard.press("Tab")  # past lesson 0, which asks nothing to be drawn
    tab_to(page, "^BUTTON Begin")
    page.keyboard.press("Enter")
    taken = []
    for number, step in enumerate(lesson.steps, 1):
        expect(page.get_by_role("heading", name=step.title, exact=True)).to_be_visible()
        still(page)
        if step.question is not None:
            answer(page, step)
        tab_to(page, "^BUTTON .*Next")
        begin = time.monotonic()
        page.keyboard.press("Enter")
        expect(
            page.get_by_text(f"{number + 1} of {len(lesson.steps)}" if step is not lesson.steps[-1] else "The end")
        ).to_be_visible()
        still(page)
        taken.append(time.monotonic() - begin)
    assert statistics.median(taken) < SETTLED_S, taken
    expect(page.get_by_role("heading", name="Where you and")).to_be_visible()
    expect(page.get_by_text("Beyond chance your places held")).to_be_visible()
    with page.expect_download() as download:
        tab_to(page, "^BUTTON .*My answers")
        page.keyboard.press("Enter")
    assert download.value.suggested_filename == f"{NAME}_answers.json"
    page.goto(f"{server}/lessons")  # another session: the browser itself knows
    expect(page.get_by_text(f"{len(lesson.questions)} of {len(lesson.questions)} answered")).to_be_visible()


@pytest.mark.product
@pytest.mark.parametrize("name", sorted(files(), key=lambda name: name[0] == "0"))  # its model takes longest
def test_begin_opens_a_lesson_with_its_model_and_picture_and_no_step_is_empty(page, server, name):
    """What a visitor reads in the sidebar, which a click inside of the page does not draw; with a guess in between."""
    lesson, side = opened(name), page.get_by_test_id("stSidebar")

    def follows():
        expect(side.get_by_role("combobox", name="Image")).to_have_value(lesson.picture)
        expect(side.locator(".st-key-models").get_by_text(title(lesson.model), exact=True)).to_be_visible()

    page.goto(f"{server}/lessons?image=china&models=ViT+·+digits")
    page.locator(f".st-key-open_{name} button").click(timeout=LONG_MS)
    for number, step in enumerate(lesson.steps, 1):
        expect(page.get_by_role("heading", name=step.title, exact=True)).to_be_visible()
        shown = page.get_by_test_id("stMain")
        asks = f".st-key-lesson_ask_{number}" if step.question else f".st-key-lesson_look_{number}"
        expect(shown.locator(asks)).not_to_be_empty()
        expect(shown.get_by_text("this step has no answer")).to_have_count(0)
        follows()
        if step.question and step.question.kind == "number":
            shown.get_by_label(re.compile("^Your guess")).fill("1")
            shown.get_by_label(re.compile("^Your guess")).press("Enter")
            expect(shown.get_by_role("button", name="Guess again")).to_be_visible()
            if step.look is not None:
                figures = shown.locator(f".st-key-lesson_look_{number}").locator(FIGURES)
                expect(figures.first).to_be_visible(timeout=LONG_MS)
                still(page)
                assert figures.evaluate_all("all => Math.max(...all.map(each => each.clientHeight))") > 60
            follows()
        still(page)
        page.locator(".st-key-lesson_next button").click()
    expect(page.get_by_role("heading", name="Where you and")).to_be_visible()


def test_a_guess_on_a_telephone(phone, server):
    lesson = opened(NAME)
    number, step = next(
        (number, step) for number, step in lesson.questions if step.question and step.question.kind == "point"
    )
    phone.goto(f"{server}/lessons?lesson={NAME}&step={number}")
    expect(phone.get_by_role("heading", name=step.title, exact=True)).to_be_visible(timeout=LONG_MS)
    fits(phone)
    canvas = phone.locator("canvas[data-mode=point]")
    box = box_of(canvas)
    assert box["width"] > 300
    click_at(canvas, 0.2, 0.8)
    phone.get_by_role("button", name="This is my guess").click()
    expect(phone.get_by_text(re.compile("[Yy]our patch"))).to_be_visible()
    fits(phone)
    phone.reload()
    expect(phone.get_by_text(re.compile("[Yy]our patch"))).to_be_visible()
    phone.get_by_role("button", name="Next", exact=True).click()
    expect(phone.get_by_role("heading", name=lesson.steps[number].title, exact=True)).to_be_visible()
    fits(phone)
    phone.get_by_role("button", name="All lessons").click()
    expect(phone.get_by_text("1 of")).to_be_visible()
    fits(phone)
