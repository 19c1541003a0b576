"""Intervene in a browser: patches are painted, heads switched, and all of it taken back."""

import re

from playwright.sync_api import Page, expect

from tests.browser.steps import MAIN, fits, ready

HERE = "intervene?models=bundled:digits_vit&image=digit 3"


def test_switches_are_heard_go_into_the_link_and_come_back(page: Page, server: str):
    page.goto(f"{server}/{HERE}")
    ready(page)
    canvas, switches = page.locator(f"{MAIN} .switches canvas"), page.locator(f"{MAIN} .switches")
    box = canvas.bounding_box()
    assert box is not None
    canvas.hover(position={"x": 0.3 * box["width"], "y": 0.5 * box["height"]})
    page.mouse.down()
    canvas.hover(position={"x": 0.7 * box["width"], "y": 0.5 * box["height"]})
    page.mouse.up()
    expect(switches).not_to_have_attribute("data-hidden", "0")
    expect(page).to_have_url(re.compile("edits=blind"))
    page.get_by_role("button", name="Layer 2, head 1").click()
    expect(page).to_have_url(re.compile("heads%3A2.1%3D0"))
    expect(page.locator(MAIN).get_by_text("With 2 changes the answer")).to_be_visible()
    page.goto(page.url)
    ready(page)
    expect(switches).to_have_attribute("data-off", "1")
    page.get_by_role("button", name="Reset").click()
    expect(switches).to_have_attribute("data-hidden", "0")
    expect(page).not_to_have_url(re.compile("edits="))
    page.get_by_role("button", name="Undo").click()
    expect(switches).to_have_attribute("data-off", "1")


def test_a_phone_has_the_picture_above_the_heads(phone: Page, server: str):
    phone.goto(f"{server}/{HERE}")
    ready(phone)
    fits(phone)
