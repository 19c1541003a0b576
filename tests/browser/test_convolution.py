"""The canvases of Slide and Feature maps: they answer by themselves, Python's proof and the address follow, and a saved
page has the same ones."""

import re

import pytest
from playwright.sync_api import Page, expect

import vizkit
from benchmarks.pages import LOOK
from tests.browser.steps import MAIN, box_of, fits, ready

REMEMBER = """element => {
    window.texts = []
    const look = () => window.texts.push(element.textContent)
    new MutationObserver(look).observe(element, {childList: true, characterData: true, subtree: true})
}"""
"""What an element says from now on, in `texts`: a quick machine passes over what it says in between."""

HERE = "convolution?models=bundled:digits_cnn&image=china&slide_kernel=edges"


def move(page: Page, name: str, key: str, times: int = 1) -> None:
    page.get_by_role("slider", name=name, exact=True).focus()
    for _ in range(times):
        page.keyboard.press(key)


def test_a_slider_changes_the_picture_at_once_and_the_link_follows(page: Page, server: str):
    page.goto(f"{server}/{HERE}")
    ready(page)
    canvas, formula, proof = (page.locator(f"{MAIN} {name}") for name in ("canvas.output", ".formula", ".proof"))
    before = canvas.evaluate(LOOK)
    proof.evaluate(REMEMBER)
    move(page, "Padding p", "ArrowRight", 2)
    assert canvas.evaluate(LOOK) != before
    expect(formula).to_have_text(re.compile(r"⌊\(32 \+ 2·2 − 1·\(3 − 1\) − 1\) / 1⌋ \+ 1 = 34$"))
    expect(proof).to_have_text(re.compile("^✓ All 1156 numbers"))
    assert "… 1156 numbers computed here; PyTorch’s follow." in page.evaluate("texts")  # before the proof came
    expect(page).to_have_url(re.compile("slide_padding=2"))
    move(page, "Size f", "ArrowRight", 2)
    move(page, "Stride s", "ArrowRight")
    move(page, "Dilation d", "End")
    expect(formula).to_have_text(re.compile(r"⌊\(32 \+ 2·2 − 3·\(7 − 1\) − 1\) / 2⌋ \+ 1 = 9$"))
    expect(proof).to_have_text(re.compile("^✓ All 81 numbers"))
    page.goto(page.url)
    ready(page)
    expect(formula).to_have_text(re.compile("= 9$"))


def test_a_phone_has_the_sliders_in_two_columns(phone: Page, server: str):
    phone.goto(f"{server}/{HERE}")
    ready(phone)
    fits(phone)
    first, second = (box_of(phone.get_by_role("slider", name=name)) for name in ("Size f", "Stride s"))
    assert first["y"] == second["y"]


@pytest.mark.rest
def test_an_edited_weight_is_in_the_link_until_it_is_undone(page: Page, server: str):
    page.goto(f"{server}/{HERE}")
    ready(page)
    weight = page.get_by_role("textbox", name="Weight in row 2, column 2")
    weight.fill("9")
    weight.press("Enter")
    expect(page).to_have_url(re.compile("slide_numbers=edges"))
    undo = page.get_by_role("button", name="Undo the changes")
    undo.click()
    expect(weight).to_have_value("8")
    expect(page).not_to_have_url(re.compile("slide_numbers"))


@pytest.mark.rest
def test_a_click_on_a_map_chooses_the_unit(page: Page, server: str):
    page.goto(f"{server}/{HERE}&convolution_view=Feature maps&maps_layer=1")
    ready(page)
    page.locator(f"{MAIN} .grid canvas").nth(1).click(position={"x": 5, "y": 5})
    expect(page).to_have_url(re.compile("maps_at=2%2C2|maps_at=2,2|maps_at=3"))
    expect(page).to_have_url(re.compile("maps_channel="))


def test_a_saved_page_has_the_canvas(page: Page, tmp_path):
    path = tmp_path / "slide.html"
    loaded = vizkit.load("bundled:digits_cnn")
    vizkit.show("slide", loaded, "sample:digit 3").save(path)
    page.goto(path.as_uri())
    proof = page.locator(".proof")
    expect(proof).to_have_text(re.compile("^✓ All 900 numbers"))
    move(page, "Padding p", "ArrowRight")
    expect(proof).to_have_text("1024 numbers, computed here.")
