"""Sequences in a browser: a date is rewritten, words are followed, one is forced."""

import re

from playwright.sync_api import Page, expect

from tests.browser.steps import MAIN, fits, ready

DAY = "2 0 2 6 - 1 1 - 2 1 [END]"


def open_translate(page: Page, server: str, more: str = "") -> None:
    page.goto(f"{server}/sequences?{more}")
    ready(page)
    expect(page.locator(f"{MAIN} .translate")).to_have_attribute("data-written", re.compile("END"))


def test_a_word_is_followed_forced_and_let_go(page: Page, server: str):
    open_translate(page, server)
    canvas = page.locator(f"{MAIN} .translate")
    expect(canvas).to_have_attribute("data-written", DAY)
    page.locator(".word[data-side='out'][data-index='3']").click()
    expect(canvas).to_have_attribute("data-step", "3")
    expect(page).to_have_url(re.compile("word=3"))
    page.get_by_role("button", name="Step ▶").click()
    expect(canvas).to_have_attribute("data-step", "4")
    page.locator(".word[data-side='in'][data-index='5']").hover()
    expect(canvas).to_have_attribute("data-focus", "in 5")
    page.locator(".next button").nth(1).click()
    expect(canvas).not_to_have_attribute("data-written", DAY)
    expect(page).to_have_url(re.compile("force=2"))
    written = canvas.get_attribute("data-written")
    page.goto(page.url)
    ready(page)
    expect(canvas).to_have_attribute("data-written", str(written))
    page.get_by_role("button", name="Undo the forced words").click()
    expect(canvas).to_have_attribute("data-written", DAY)


def test_a_head_is_chosen_and_stays_in_the_link(page: Page, server: str):
    open_translate(page, server)
    page.get_by_role("button", name="Decoder → source 1, head 2").click()
    expect(page).to_have_url(re.compile(r"heads=[^&]*cross\.0\.1"))
    page.goto(page.url)
    ready(page)
    chosen = page.get_by_role("button", name="Decoder → source 1, head 2")
    expect(chosen).to_have_attribute("aria-pressed", "true")


def test_a_typed_date_is_rewritten_and_anything_else_gets_a_sentence(page: Page, server: str):
    open_translate(page, server)
    text = page.get_by_role("textbox", name="Any date")
    text.fill("20 july 1969")
    text.press("Enter")
    expect(page.locator(f"{MAIN} .translate")).to_have_attribute("data-written", "1 9 6 9 - 0 7 - 2 0 [END]")
    text.fill("yesterday <b>")
    text.press("Enter")
    expect(page.locator(MAIN).get_by_text("never read “yesterday”")).to_be_visible()


def test_a_phone_has_room_for_the_arcs(phone: Page, server: str):
    open_translate(phone, server)
    fits(phone)
