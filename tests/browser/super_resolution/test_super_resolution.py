"""A visitor enlarges a picture: the bar, a place, uploads, the whole picture, the link, a telephone."""

import re

import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.browser.steps import LONG_MS, MAIN, box_of, fits, ready, still

PIXELS = "canvas.getContext('2d')"


def opened(page, server, more=""):
    page.goto(f"{server}/super_resolution?{more if 'image=' in more else f'image=mayfly+nymph&{more}'}")
    ready(page)
    canvas = page.locator(f"{MAIN} .enlarge")
    expect(canvas).to_have_attribute("data-taken", re.compile(r"\d+,\d+"))
    return canvas


def enlarged(root):
    """(left, top, width) of the enlarged picture in the window."""
    box = box_of(root.locator("canvas").first)
    return box["x"] + float(root.get_attribute("data-left")), box["y"] + 24, float(root.get_attribute("data-width"))


def test_a_click_finds_where_the_texture_comes_from_and_the_link_keeps_it(page, server):
    canvas = opened(page, server)
    first = canvas.get_attribute("data-at")
    left, top, width = enlarged(canvas)
    page.mouse.click(left + 0.8 * width, top + 0.2 * width)
    expect(canvas).not_to_have_attribute("data-at", str(first))
    at, taken = canvas.get_attribute("data-at"), canvas.get_attribute("data-taken")
    expect(page).to_have_url(re.compile(r"sr_place=\d"))
    again = opened(page, page.url.partition("/super_resolution")[0], page.url.partition("?")[2])
    expect(again).to_have_attribute("data-at", str(at))
    expect(again).to_have_attribute("data-taken", str(taken))


@pytest.mark.rest
def test_the_bar_is_dragged_and_shows_the_other_picture(page, server):
    root = opened(page, server, "sr_place=13,13")
    left, top, side = enlarged(root)
    canvas = root.locator("canvas").first
    shown = f"(canvas, x) => Array.from({PIXELS}.getImageData(x - 20, canvas.height * .6, 40, 40).data)"
    box = box_of(canvas)
    at = left - box["x"] + 0.55 * side
    before = canvas.evaluate(shown, at)
    page.mouse.move(left + side * 4.5 / 8, top + 30)  # through the framed place
    page.mouse.down()
    page.mouse.move(left + side * 0.65, top + 30, steps=4)
    expect(root).to_have_attribute("data-bar", re.compile(r"0\.6[45]"))
    assert canvas.evaluate(shown, at) != before  # blurred: now it lies left of the bar
    page.mouse.move(left + side / 8, top + 30)
    page.mouse.up()
    expect(root).to_have_attribute("data-bar", re.compile(r"0\.1[23]"))
    page.mouse.move(left + side / 2, top + 30)
    expect(root).to_have_attribute("data-bar", re.compile(r"0\.1[23]"))
    expect(root).to_have_attribute("data-at", "12,12")  # a drag chooses no place


@pytest.mark.rest
def test_the_reference_is_dragged_and_the_arrow_follows(page, server):
    enlarge = opened(page, server)
    canvas = enlarge.locator("canvas").first
    canvas.press("ArrowRight")
    expect(page).to_have_url(re.compile("sr_place="))
    taken = str(enlarge.get_attribute("data-taken"))
    canvas.press("Shift+ArrowRight")  # by one place, four pixels
    expect(page).to_have_url(re.compile("sr_moved=4"))
    expect(enlarge).not_to_have_attribute("data-taken", taken, timeout=LONG_MS)
    chosen = str(enlarge.get_attribute("data-at"))
    box = box_of(canvas)
    page.mouse.move(box["x"] + box["width"] - 150, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 120, box["y"] + 100, steps=3)
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"sr_moved=(?!4\b)\d+"))
    expect(enlarge).to_have_attribute("data-at", chosen)


@pytest.mark.rest
def test_of_a_whole_picture_the_part_on_show_comes_at_once_and_the_rest_at_a_press(page, server):
    page.goto(f"{server}/super_resolution?super_resolution_view=Whole+picture&image=midge+larva")  # an old address
    ready(page)
    expect(page).to_have_url(re.compile("sr_side=as"))
    every = page.get_by_role("button", name="Enlarge all 25 tiles")
    expect(every).to_be_visible(timeout=LONG_MS)  # when what is on show is there
    root = page.locator(f"{MAIN} .enlarge")
    canvas = root.locator("canvas").first
    expect(page.get_by_text("The part on show, 720 × 416 pixels")).to_be_visible()
    canvas.press("PageDown")
    expect(root).to_have_attribute("data-bar", re.compile(r"0\.(3[89]|4|5)"))
    every.click()
    expect(every).to_have_count(0, timeout=LONG_MS)
    expect(page.get_by_text("896 × 896 pixels: neighbouring")).to_be_visible(timeout=LONG_MS)
    canvas.click(position={"x": 20, "y": 44})  # on the input: another part is shown
    expect(page).to_have_url(re.compile(r"sr_spot=\d"))
    still(page)
    page.get_by_role("button", name="Save").click()
    taken = page.get_by_role("button", name="All pixels (PNG)")
    with page.expect_download() as download:
        taken.click()
    with Image.open(download.value.path()) as picture:
        assert picture.size == (896, 896)


def test_a_phone_shows_the_picture_below_its_finding(phone, server):
    box = box_of(opened(phone, server).locator("canvas").first)
    assert box["y"] < 0.6 * phone.viewport_size["height"]
    fits(phone)
    phone.locator(MAIN).get_by_role("button", name="More", exact=True).click()
    expect(phone.get_by_text("Laid over the result")).to_be_visible()
    fits(phone)
