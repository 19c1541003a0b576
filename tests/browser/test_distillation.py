"""Journeys through the Distillation page: type logits and warm them, teacher and student, a telephone."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.steps import MAIN, fits, ready

TYPED = "distillation?logits_of=typed+logits&models=bundled:digits_vit&image=digit+3"
PAIR = "distillation?distillation_view=Teacher+and+student&models=bundled:digits_vit&image=water+strider"
DIGITS = "&teacher=digits_cnn&students=digits_vit"


def bars(page: Page, index: int) -> Locator:
    return page.locator(f"{MAIN} .class-bars").nth(index)


def press(page: Page, key: str, widget: str) -> None:
    page.locator(f".st-key-{widget} input").focus()
    page.keyboard.press(key)


def test_typed_logits_and_a_temperature_of_ones_own(page: Page, server: str):
    page.goto(f"{server}/{TYPED}")
    ready(page)
    expect(bars(page, 0)).to_contain_text("0.997")
    yours = bars(page, 3)
    expect(yours).to_contain_text("0.423")
    place = yours.bounding_box()
    press(page, "ArrowLeft", "temperature")
    expect(yours).to_contain_text("0.481")  # T = 8
    assert yours.bounding_box() == place  # drawn anew where it was
    assert "temperature=8" in page.url
    field = page.locator(".st-key-logits input")
    field.fill("cow = 17, car = 0, ox = 11")  # read while it is typed, without Enter
    expect(bars(page, 0)).to_contain_text("cow")
    field.fill("cow = 17, car = zero")
    expect(page.get_by_text("“car = zero” is not a number")).to_be_visible()
    expect(page.locator(f"{MAIN} [data-testid='stAlert']")).to_have_count(1)
    expect(bars(page, 0)).to_contain_text("ox")  # the last that could be read
    page.get_by_text("Log scale").click()
    expect(bars(page, 0)).to_contain_text("10⁻⁶")


def test_teacher_and_students_and_many_pictures(page: Page, server: str):
    page.goto(f"{server}/{PAIR}")
    ready(page)
    for name in ("Teacher: CNN · insects", "Why T²", "Soft distillation over T and λ"):
        expect(page.get_by_text(name).first).to_be_visible()
    for index in range(3):  # soft labels and soft predictions
        expect(bars(page, index)).to_contain_text("water strider")
    before = page.locator(f"{MAIN} table").inner_text()
    press(page, "ArrowRight", "loss_temperature")
    expect(page.locator(f"{MAIN} table")).not_to_have_text(before)
    expect(page.get_by_text("T = 4.").first).to_be_visible()
    page.goto(f"{server}/{PAIR}{DIGITS}&label=8".replace("water+strider", "digit+3"))
    ready(page)
    label = page.locator(".st-key-label input")
    expect(label).to_have_value("8")  # the link's
    page.locator(".st-key-image input").first.click()
    page.get_by_role("option", name="digit 7").click()
    expect(label).to_have_value("7")  # a label belongs to its image
    page.goto(f"{server}/{PAIR}{DIGITS}&distil_over=many+pictures&distil_set=digits&distil_images=50")
    ready(page)
    expect(page.get_by_text("mean over 50 pictures")).to_be_visible(timeout=60_000)
    page.goto(f"{server}/{PAIR}&students=digits_vit")
    ready(page)
    expect(page.get_by_text("their answers cannot be compared")).to_be_visible()


@pytest.mark.parametrize("address", [TYPED, PAIR])
def test_a_phone_shows_them_without_scrolling_sideways(phone: Page, server: str, address: str):
    phone.goto(f"{server}/{address}")
    ready(phone)
    expect(bars(phone, 0)).to_be_visible()
    fits(phone)
    widths = phone.locator(f"{MAIN} .class-bars, {MAIN} .js-plotly-plot").evaluate_all(
        "all => all.map(e => e.clientWidth)"
    )
    assert max(widths) <= 390
    # Names of bars take the colour of the page: light on a dark one.
    colour = bars(phone, 0).locator(".name").last.evaluate("e => getComputedStyle(e).color")
    assert min(int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(",")) > 150, colour
