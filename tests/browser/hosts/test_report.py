"""A picture of a saved report fills the screen, and nothing of it shrinks there."""

from playwright.sync_api import Page, expect

from tests.views.contract import subject
from vizkit.report.document import Entry, Report, html
from vizkit.report.item import Item
from vizkit.views.rollout import Rollout

WIDTH = "canvas => canvas.clientWidth"


def test_enlarging_makes_a_picture_larger(page: Page, tmp_path):
    entry = Entry(Item(Rollout(staged=True), "digits", "digits", ""))
    path = tmp_path / "report.html"
    path.write_text(html(Report("", (entry,)), [subject("digits_vit")]), encoding="utf-8")
    page.goto(path.as_uri())
    canvas, button = page.locator("canvas").first, page.locator(".enlarge")
    expect(canvas).to_be_visible()
    before = canvas.evaluate(WIDTH)
    button.click()
    expect(button).to_have_text("Back")
    page.wait_for_function("innerHeight === screen.height || document.fullscreenElement !== null")
    assert canvas.evaluate(WIDTH) > 1.3 * before
    button.click()
    expect(button).to_have_text("Enlarge")
