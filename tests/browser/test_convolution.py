"""The canvases of Slide and Feature maps: they answer by themselves, Python's proof and the address follow, and a saved
page has the same ones."""

import re

from playwright.sync_api import expect

import vizkit
from benchmarks.pages import LOOK
from tests.browser.steps import MAIN, ready

REMEMBER = """element => {
    window.texts = []
    const look = () => window.texts.push(element.textContent)
    new MutationObserver(look).observe(element, {childList: true, characterData: true, subtree: true})
}"""
"""What an element says from now on, in `texts`: a quick machine passes over what it says in between."""

HERE = "convolution?models=bundled:digits_cnn&image=china&slide_kernel=edges"


def move(page, name, key, times=1):
    page.get_by_role("slider", name=name, exact=True).focus()
    for _ in range(times):
        page.keyboard.press(key)


def test_a_slider_changes_the_picture_at_once_and_the_link_follows(page, server):
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


def test_a_saved_page_has_the_canvas(page, tmp_path):
    path = tmp_path / "slide.html"
    loaded = vizkit.load("bundled:digits_cnn")
    vizkit.show("slide", loaded, "sample:digit 3").save(path)
    page.goto(path.as_uri())
    proof = page.locator(".proof")
    expect(proof).to_have_text(re.compile("^✓ All 900 numbers"))
    move(page, "Padding p", "ArrowRight")
    expect(proof).to_have_text("1024 numbers, computed here.")
