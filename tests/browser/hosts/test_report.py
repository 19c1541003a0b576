"""A picture of a saved report fills the screen, and nothing of it shrinks there."""

import pytest
from playwright.sync_api import expect

from tests.views.contract import subject
from vizkit.report.document import Entry, Report, html
from vizkit.report.item import Item
from vizkit.views.relevance.maps import Maps
from vizkit.views.rollout import Rollout

WIDTH = "canvas => canvas.clientWidth"


@pytest.mark.parametrize("shown", [Rollout(staged=True), Maps(staged=True)], ids=["map", "tile"])
def test_enlarging_makes_a_picture_larger(page, tmp_path, shown):
    entry = Entry(Item(shown, "digits", "digits", ""))
    path = tmp_path / "report.html"
    path.write_text(html(Report("", (entry,)), [subject("digits_vit")]), encoding="utf-8")
    page.goto(path.as_uri())
    canvas, button = page.locator("canvas").first, page.locator(".enlarge")
    expect(canvas).to_be_visible()
    before = canvas.evaluate(WIDTH)
    assert before < 600, "figures of a report are about as large as each other"
    expect(page.locator("p i b").first).to_be_visible()  # a number on the bar
    button.click()
    expect(button).to_have_text("Back")
    page.wait_for_function("innerHeight === screen.height || document.fullscreenElement !== null")
    assert canvas.evaluate(WIDTH) > 1.3 * before
    button.click()
    expect(button).to_have_text("Enlarge")
