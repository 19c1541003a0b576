"""Journeys through the Distillation page: type logits and warm them, teacher and student, two tokens, a telephone."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.steps import LONG_MS, MAIN, box_of, fits, ready

TYPED = "distillation?logits_of=typed+logits&models=bundled:digits_vit&image=digit+3"
PAIR = "distillation?distillation_view=Teacher+and+student&models=bundled:insects_deit&image=water+strider"
TOKENS = "distillation?distillation_view=Two+tokens&models=bundled:insects_deit&image=mayfly+nymph"


def bars(page: Page, index: int) -> Locator:
    return page.locator(f"{MAIN} .class-bars").nth(index)


def turned(page: Page, presses: int) -> None:
    slider = page.locator(f"{MAIN} .scrubber input")
    slider.focus()
    for _ in range(abs(presses)):
        page.keyboard.press("ArrowRight" if presses > 0 else "ArrowLeft")


@pytest.mark.rest
def test_typed_logits_and_a_temperature_of_ones_own(page: Page, server: str):
    page.goto(f"{server}/{TYPED}")
    ready(page)
    expect(bars(page, 0)).to_contain_text("99.7 %")
    yours = bars(page, 1)
    expect(yours).to_contain_text("83 %")
    place = box_of(yours)
    turned(page, -1)
    expect(yours).to_contain_text("88 %")  # T = 2.5
    assert box_of(yours) == place  # drawn anew where it was
    page.wait_for_url("**temperature=2.5**")  # the server is told
    ready(page)
    expect(yours).to_contain_text("88 %")
    field = page.locator(".st-key-logits input")
    field.fill("cow = 17, car = 0, ox = 11")  # read while it is typed, without Enter
    expect(bars(page, 0)).to_contain_text("cow")
    field.fill("cow = 17, car = zero")
    expect(page.get_by_text("“car = zero” is not a number")).to_be_visible()
    field.fill("cow = 17, ox = 11")
    expect(bars(page, 0)).to_contain_text("ox")
    page.get_by_text("Log scale").click()
    expect(bars(page, 0)).to_contain_text("10⁻⁶")


def test_every_temperature_is_in_the_browser(page: Page, server: str):
    """Turned without the server: nothing is sent to it while the hand is on the slider."""
    page.goto(f"{server}/{PAIR}")
    ready(page)
    expect(page.get_by_text("CNN · insects, on the same image").first).to_be_visible()
    for index in range(5):  # the teacher, both tokens, their mean, the network alone
        expect(bars(page, index)).to_contain_text("water strider")
    page.context.set_offline(True)
    turned(page, 3)
    expect(page.get_by_text("At T = 6 the divergence from the teacher").first).to_be_visible()
    page.context.set_offline(False)


@pytest.mark.rest
def test_an_earlier_address_of_the_two_tokens_opens_the_five_answers(page: Page, server: str):
    page.goto(f"{server}/{TOKENS}")
    expect(page).not_to_have_url(re.compile("Two.tokens"))  # what a page opens on is not in its address
    ready(page)
    expect(page.get_by_text("All answer “mayfly nymph”, which is right.").first).to_be_visible(timeout=LONG_MS)
    for index in range(5):
        expect(bars(page, index)).to_contain_text("mayfly nymph")
    page.get_by_text("The two tokens: where they attend").click()
    expect(page.get_by_text("Where the distillation token attends")).to_be_visible(timeout=LONG_MS)


@pytest.mark.product
@pytest.mark.parametrize("address", [TYPED, PAIR])
def test_a_phone_shows_them_without_scrolling_sideways(phone: Page, server: str, address: str):
    phone.goto(f"{server}/{address}")
    ready(phone)
    expect(bars(phone, 0)).to_be_visible()
    fits(phone)
    menu = box_of(phone.get_by_test_id("stMainMenuButton"))
    assert menu["x"] + menu["width"] <= 390, "beside the longest words of the sidebar's button"
    if address == PAIR:
        left, right = (box_of(bars(phone, at)) for at in (0, 1))
        assert left["y"] == right["y"], "the teacher beside the distillation token"
    widths = phone.locator(f"{MAIN} .class-bars, {MAIN} .js-plotly-plot").evaluate_all(
        "all => all.map(e => e.clientWidth)"
    )
    assert max(widths) <= 390
    # Names of bars take the colour of the page: light on a dark one.
    colour = bars(phone, 0).locator(".name").last.evaluate("e => getComputedStyle(e).color")
    assert min(int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(",")) > 150, colour
