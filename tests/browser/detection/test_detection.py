"""A visitor of Detection: a box is clicked and shows where its query looked; a scene without insects."""

import re

from playwright.sync_api import Page, expect

from tests.browser.steps import MAIN, fits, ready

PANELS = f"{MAIN} .panels"


def opened(page: Page, server: str, more: str = ""):
    page.goto(f"{server}/detection?{more}")
    ready(page)
    panels = page.locator(PANELS)
    expect(panels.locator("canvas").first).to_be_visible(timeout=60_000)
    return panels


def test_another_box_shows_where_its_query_looked_and_the_link_keeps_it(page: Page, server: str):
    panels = opened(page, server, "det_score=0.05")
    expect(panels.locator("canvas")).to_have_count(3)  # the picture, the attention of the surest box, its relevance
    attention = panels.locator("canvas").nth(1)
    expect(attention).to_have_attribute("aria-label", re.compile("looked"))
    before = attention.evaluate("canvas => canvas.toDataURL()")
    panels.locator("canvas").first.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"det_query=\d+"))
    ready(page)
    assert attention.evaluate("canvas => canvas.toDataURL()") != before
    after, linked = attention.evaluate("canvas => canvas.toDataURL()"), page.url.partition("?")[2]
    again = opened(page, server, linked).locator("canvas")
    expect(again).to_have_count(3)
    assert again.nth(1).evaluate("canvas => canvas.toDataURL()") == after


def test_nothing_found_is_a_sentence(page: Page, server: str):
    panels = opened(page, server, "det_score=0.95&det_scene=4")  # a scene without insects
    expect(panels.locator(".says")).to_contain_text("No insect to find, no box too many")
    expect(panels.locator("canvas")).to_have_count(1)
    expect(page.get_by_test_id("stException")).to_have_count(0)


def test_it_fits_a_telephone(phone: Page, server: str):
    opened(phone, server)
    fits(phone)
