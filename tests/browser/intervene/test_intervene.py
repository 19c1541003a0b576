"""Intervene in a browser: patches are painted, heads switched, and all of it taken back."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.steps import MAIN, box_of, ready

HERE = "intervene?models=bundled:digits_vit&image=digit 3&edits=none"


def test_switches_are_heard_go_into_the_link_and_come_back(page, server):
    page.goto(f"{server}/{HERE}")
    ready(page)
    canvas, switches = page.locator(f"{MAIN} .switches canvas"), page.locator(f"{MAIN} .switches")
    box = box_of(canvas)
    canvas.hover(position={"x": 0.3 * box["width"], "y": 0.5 * box["height"]})
    page.mouse.down()
    canvas.hover(position={"x": 0.7 * box["width"], "y": 0.5 * box["height"]})
    page.mouse.up()
    expect(switches).not_to_have_attribute("data-hidden", "0")
    expect(page).to_have_url(re.compile("edits=blind"))
    page.get_by_role("button", name="Layer 2, head 1").click()
    expect(page).to_have_url(re.compile("heads%3A2.1%3D0"))
    expect(page.locator(MAIN).get_by_text(" hidden and head 1 of layer 2 off, the answer")).to_be_visible()
    page.goto(page.url)
    ready(page)
    expect(switches).to_have_attribute("data-off", "1")
    page.get_by_role("button", name="Reset").click()
    expect(switches).to_have_attribute("data-hidden", "0")
    expect(page).to_have_url(re.compile("edits=none"))
    page.get_by_role("button", name="Undo").click()
    expect(switches).to_have_attribute("data-off", "1")


def test_what_is_needed_most_is_guessed_before_it_is_shown(page, server):
    page.goto(f"{server}/intervene?models=bundled:digits_vit&image=digit 3")
    ready(page)
    switches, show = page.locator(f"{MAIN} .switches"), page.get_by_role("button", name="Show which")
    expect(switches).to_have_attribute("data-off", "0")
    expect(page.locator(MAIN).get_by_text("Which head does it need most?")).to_be_visible()
    expect(show).to_be_hidden()
    page.get_by_role("button", name="Layer 2, head 1").click()
    expect(page).to_have_url(re.compile("edits=heads%3A2.1%3D0"))
    expect(page).to_have_url(re.compile("tried=heads"))
    expect(switches).to_have_attribute("data-off", "1")
    expect(page.locator(MAIN).get_by_text(re.compile("^head 1 of layer 2 off: "))).to_be_visible()
    show.click()
    expect(page.locator(MAIN).get_by_text("none of the 24 heads costs the answer more")).to_be_visible()
    expect(show).to_be_hidden()
    page.get_by_role("button", name="Reset").click()
    expect(page).not_to_have_url(re.compile("tried=heads"))


def test_patches_are_erased_and_exchanged_and_taken_back(page, server):
    page.goto(f"{server}/{HERE}&brush=Erase")
    ready(page)
    canvas = page.locator(f"{MAIN} .switches canvas")
    box = box_of(canvas)
    middle = {"x": 0.5 * box["width"] + 3, "y": 0.5 * box["height"] + 3}
    canvas.click(position=middle)
    expect(page).to_have_url(re.compile("edits=pixels%3A8x8%3Aerase%3D36$|edits=pixels%3A8x8%3Aerase%3D36&"))
    page.locator(MAIN).get_by_role("radio", name="Exchange").click()
    expect(page.locator(f"{MAIN} .switches")).to_have_attribute("data-tool", "Exchange")
    canvas.click(position={"x": 3, "y": 3})
    canvas.click(position=middle)
    expect(page).to_have_url(re.compile("swap%3D0-36"))
    page.get_by_role("button", name="Undo").click()
    expect(page).not_to_have_url(re.compile("edits=[^&]*swap"))
    expect(page).to_have_url(re.compile("tried=[^&]*swap"))


@pytest.mark.rest
def test_a_smallest_set_is_searched_for_and_stopped(page, server):
    page.goto(
        f"{server}/intervene?models=bundled:insects_deit&image=digit 3&intervene_view=Smallest set"
        "&smallest_goal=flip the answer"
    )
    stop = page.locator(MAIN).get_by_role("button", name="Stop")  # of a search that began by itself, and soon ends
    stop.dispatch_event("click")
    expect(page.locator(MAIN).get_by_text("Stopped; what was computed is kept.")).to_be_visible()
