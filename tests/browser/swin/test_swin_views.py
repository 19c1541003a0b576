"""The Swin page's views of a window and of merging, clicked and on a phone."""

import re

from playwright.sync_api import expect

from tests.browser.steps import MAIN, click_at, ready
from tests.browser.swin.test_swin import CANVAS, LOOK

HERE = "swin?models=bundled:insects_swin&image=mayfly+nymph"


def click(page, x, y, canvas=0):
    click_at(page.locator(CANVAS).nth(canvas), x, y)


def test_a_token_is_asked_what_it_sees_in_its_window(page, server):
    page.goto(f"{server}/{HERE}&swin_view=Window")
    ready(page)
    click(page, 0.9, 0.9)
    expect(page.get_by_text("row 13, column 13 · window 4 of 4 · 33 of 49 keys masked")).to_be_visible()
    cards = page.locator(CANVAS)
    expect(cards).to_have_count(3)
    assert len({card.evaluate(LOOK) for card in cards.all()}) == 3
    # Hovering over one card moves the query in all of them, without a round trip.
    cards.nth(1).hover(position={"x": 20, "y": 20})
    for said in page.locator(f"{MAIN} output").all()[:3]:  # below them are those of the small maps
        expect(said).to_contain_text("row 1, column")


def test_numbers_stand_in_the_cells_of_the_weights(page, server):
    """A heat map writes no customdata into its cells, only a dash: and the weights are coloured by doublings."""
    page.goto(f"{server}/{HERE}&swin_view=Window")
    weights = page.locator(".heatmap-label", has_text=re.compile(r"^\d+\.\d$"))
    expect(weights.first).to_be_attached()
    written = page.locator(".heatmap-label").all_text_contents()
    assert not {"-", "–", "NaN"} & {*map(str.strip, written)}
