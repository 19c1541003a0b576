"""Journeys through rollout and relevance: a patch's row, its growth, a class, a slow map, the curves of trust."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.canvas import click_at
from tests.browser.steps import MAIN, choose, fits, ready

MODELS = "models=bundled:digits_vit&models=bundled:digits_swin&image=digit+3"


def test_rollout_from_the_class_to_a_patch_and_through_the_layers(page: Page, server: str):
    page.goto(f"{server}/rollout?{MODELS}")
    ready(page)
    expect(page.get_by_text("layers 1 to 6 of 6 · row of the class token")).to_be_visible()
    click_at(page.locator(f"{MAIN} canvas[role='application']").first, 0.9, 0.1)
    expect(page.get_by_text("row of the patch at row 1, column 8").first).to_be_visible()
    expect(page.locator(f"{MAIN} output").first).to_contain_text("row 1, column 8 of 8 × 8 draws")
    page.locator(f"{MAIN} figure canvas").nth(1).click()
    expect(page.get_by_text("layers 1 to 2 of 6").first).to_be_visible()
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_text("layers 1 to 4 of 6").first).to_be_visible()
    expect(page.get_by_text("layers 1 to 6 of 6").first).to_be_visible()
    expect(page.get_by_role("button", name="Play")).to_be_visible()  # no longer Pause
    ready(page)


def test_relevance_from_a_class_to_the_curves(page: Page, server: str):
    page.goto(f"{server}/relevance?{MODELS.split('&')[0]}&image=digit+3")
    ready(page)
    expect(page.locator(f"{MAIN} figure canvas")).to_have_count(9)  # a large one and eight small ones
    page.get_by_role("button", name="Rollout", exact=False).first.click()
    expect(page.locator(f"{MAIN} figure b").first).to_have_text("Rollout")
    page.locator(".st-key-class_a input").click()
    page.keyboard.type("8")
    page.keyboard.press("Enter")
    expect(page.get_by_text("it predicts")).to_be_visible()
    ready(page)
    page.get_by_role("button", name="More").click()
    page.locator(".st-key-slow_maps input").click()
    page.get_by_role("option", name="Patch ablation", exact=True).click()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page.locator(f"{MAIN} figure canvas")).to_have_count(10, timeout=60_000)
    ready(page)
    choose(page, "Trust")
    expect(page.locator(f"{MAIN} .js-plotly-plot")).to_have_count(2, timeout=60_000)
    expect(page.locator(".st-key-stop_trust")).to_have_count(0, timeout=120_000)
    expect(page.get_by_text("What each score tells")).to_be_visible()
    ready(page)


@pytest.mark.parametrize("address", ["rollout", "relevance", "relevance?relevance_view=Trust&trust_scores=ROAD"])
def test_a_phone_shows_them_without_scrolling_sideways(phone: Page, server: str, address: str):
    phone.goto(f"{server}/{address}{'&' if '?' in address else '?'}{MODELS}")
    ready(phone)
    expect(phone.locator(f"{MAIN} figure canvas").first).to_be_visible(timeout=60_000)
    expect(phone.locator(".st-key-stop_trust")).to_have_count(0, timeout=120_000)
    fits(phone)
    canvases = f"{MAIN} [data-testid^='stBidiComponent'] canvas"  # others are Streamlit's own tables
    assert phone.locator(f"{canvases}[aria-label]").count() > 0
    expect(phone.locator(f"{canvases}:not([aria-label])")).to_have_count(0)
