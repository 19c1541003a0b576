"""Journeys through the Distillation page: type logits and warm them, teacher and student, two tokens, a telephone."""

import pytest
from playwright.sync_api import expect

from tests.browser.steps import MAIN, box_of, ready

TYPED = "distillation?logits_of=typed+logits&models=bundled:digits_vit&image=digit+3"
PAIR = "distillation?distillation_view=Teacher+and+student&models=bundled:insects_deit&image=water+strider"


def bars(page, index):
    return page.locator(f"{MAIN} .class-bars").nth(index)


def turned(page, presses):
    slider = page.locator(f"{MAIN} .scrubber input")
    slider.focus()
    for _ in range(abs(presses)):
        page.keyboard.press("ArrowRight" if presses > 0 else "ArrowLeft")


@pytest.mark.rest
def test_typed_logits_and_a_temperature_of_ones_own(page, server):
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


def test_every_temperature_is_in_the_browser(page, server):
    """Turned without the server: nothing is sent to it while the hand is on the slider."""
    page.goto(f"{server}/{PAIR}")
    ready(page)
    expect(page.get_by_text("CNN · insects, on the same image").first).to_be_visible()
    for index in range(3):  # the teacher, the distillation token, the network alone
        expect(bars(page, index)).to_contain_text("water strider")
    page.context.set_offline(True)
    turned(page, 3)
    expect(page.get_by_text("At T = 6 the distillation token").first).to_be_visible()
    page.context.set_offline(False)
