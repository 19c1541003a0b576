"""The Swin page's views of a window, its reach, merging, cost and of a ViT beside it, clicked and on a phone."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import MAIN, click_at, fits, ready
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


@pytest.mark.product(first=0)
def test_a_token_of_the_last_stage_is_asked_what_can_reach_it(page: Page, server: str):
    page.goto(f"{server}/{HERE}&swin_view=Reach")
    ready(page)
    click(page, 0.05, 0.05)
    expect(page.get_by_text("the token in row 1, column 1 of the last stage's 7 × 7")).to_be_visible()
    click(page, 0.95, 0.5)
    expect(page.get_by_text("the token in row 4, column 7 of the last stage's 7 × 7")).to_be_visible()


@pytest.mark.product(first=0)
def test_reach_is_played_in_the_browser(page: Page, server: str):
    page.goto(f"{server}/{HERE}&swin_view=Reach&reach_block=1")
    ready(page)
    expect(page.get_by_text("25 % of the image can reach this token")).to_be_visible()
    page.get_by_role("slider", name="After block", exact=True).last.focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("50 % of the image can reach this token")).to_be_visible()


@pytest.mark.product(first=0)
def test_measuring_shows_progress_and_stops(page: Page, server: str):
    page.goto(f"{server}/{HERE}&swin_view=Cost")
    ready(page)
    expect(page.get_by_text("These times come with vizkit")).to_be_visible()
    page.get_by_role("button", name="Measure on this machine").click()
    stop = page.get_by_test_id("stMainBlockContainer").get_by_role("button", name="Stop")
    stop.click()
    expect(stop).to_have_count(0)
    expect(page.get_by_role("button", name="Measure on this machine")).to_be_visible()


@pytest.mark.product
@pytest.mark.parametrize("view", ["Window", "Reach", "Merging", "Cost", "Beside+a+ViT"])
def test_a_phone_shows_it_without_scrolling_sideways(phone: Page, server: str, view: str):
    phone.goto(f"{server}/{HERE}&swin_view={view}")
    ready(phone)
    fits(phone)
    expect(phone.locator("canvas[role='application']:not([aria-label])")).to_have_count(0)
