"""A visitor enlarges a picture: the bar, a place, another reference, the link."""

import re

from playwright.sync_api import Page, expect

from tests.browser.steps import MAIN, ready


def opened(page: Page, server: str, more: str = ""):
    page.goto(f"{server}/super_resolution?{more}")
    ready(page)
    canvas = page.locator(f"{MAIN} .enlarge")
    expect(canvas).to_have_attribute("data-taken", re.compile(r"\d+,\d+"), timeout=60_000)
    return canvas


def test_a_click_finds_where_the_texture_comes_from_and_the_link_keeps_it(page: Page, server: str):
    canvas = opened(page, server)
    box = canvas.locator("canvas").first.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 60, box["y"] + 120)
    expect(canvas).not_to_have_attribute("data-at", "12,12")
    at, taken = canvas.get_attribute("data-at"), canvas.get_attribute("data-taken")
    expect(page).to_have_url(re.compile(r"sr_at=\d"))
    again = opened(page, page.url.partition("/super_resolution")[0], page.url.partition("?")[2])
    expect(again).to_have_attribute("data-at", str(at))
    expect(again).to_have_attribute("data-taken", str(taken))


def test_arrow_keys_choose_a_place(page: Page, server: str):
    canvas = opened(page, server)
    canvas.locator("canvas").first.press("ArrowRight")
    expect(canvas).to_have_attribute("data-at", "12,13")
    canvas.locator("canvas").first.press("ArrowUp")
    expect(canvas).to_have_attribute("data-at", "11,13")
    expect(page.locator(f"{MAIN} .says")).to_contain_text("Row 12, column 14 takes its texture")
