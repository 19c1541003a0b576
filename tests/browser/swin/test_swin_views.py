"""The Swin page's views of a window and of merging, clicked and on a phone."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import MAIN, click_at, ready
from tests.browser.swin.test_swin import CANVAS, LOOK

HERE = "swin?models=bundled:insects_swin&image=mayfly+nymph"


def click(page: Page, x: float, y: float, canvas: int = 0) -> None:
    click_at(page.locator(CANVAS).nth(canvas), x, y)


def test_a_token_is_asked_what_it_sees_in_its_window(page: Page, server: str):
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


def test_numbers_stand_in_the_cells_of_the_weights(page: Page, server: str):
    """A heat map writes no customdata into its cells, only a dash: and the weights are coloured by doublings."""
    page.goto(f"{server}/{HERE}&swin_view=Window")
    weights = page.locator(".heatmap-label", has_text=re.compile(r"^\d+\.\d$"))
    expect(weights.first).to_be_attached()
    written = page.locator(".heatmap-label").all_text_contents()
    assert not {"-", "–", "NaN"} & {*map(str.strip, written)}


@pytest.mark.rest
def test_the_table_of_the_bias_follows_the_pointer_and_a_click(page: Page, server: str):
    """Pointing chooses the key, a click the query, a small table the head."""
    page.goto(f"{server}/{HERE}&swin_view=Window&window_part=table+of+the+bias&swin_block=1")
    ready(page)
    said, table = page.locator(f"{MAIN} output").last, page.locator(CANVAS)
    expect(said).to_contain_text("Query row 2, column 3, key")  # row 9, column 3 of the image, in its window of 7 × 7
    table.hover(position={"x": 5, "y": 30})
    expect(said).to_contain_text("Query row 2, column 3, key row 1, column 1: the query lies 1 row below and 2 columns")
    expect(said).to_contain_text("entry 100 of 169")  # (1 + 6) · 13 + (2 + 6) + 1
    table.click(position={"x": 330, "y": 350})
    expect(said).to_contain_text("Query row 7, column 7")
    expect(page.get_by_text("the query is row 14, column 7")).to_be_visible()
    page.get_by_role("button", name="head 2").click()
    expect(page).to_have_url(re.compile("window_head=2"))
