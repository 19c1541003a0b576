"""Journeys through rollout and relevance: a patch's row, its growth, a class, a slow map, the curves of trust."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.steps import LONG_MS, MAIN, box_of, ready

COUNT_SENT = """() => { window.__sent = 0; const own = WebSocket.prototype.send
  WebSocket.prototype.send = function (...all) { window.__sent += 1; return own.apply(this, all) } }"""
MODELS = "models=bundled:digits_vit&models=bundled:digits_swin&image=digit+3"


def test_relevance_from_a_class_to_a_slow_map(page, server):
    page.goto(f"{server}/relevance?{MODELS.split('&')[0]}&image=digit+3")
    ready(page)
    expect(page.locator(f"{MAIN} figure canvas")).to_have_count(9)  # a large one and eight small ones
    page.get_by_role("button", name=re.compile("^Rollout")).click()
    expect(page.locator(f"{MAIN} figure b").first).to_have_text("Rollout")
    page.locator(".st-key-class_a input").click()
    page.keyboard.type("8")
    page.keyboard.press("Enter")
    expect(page.get_by_text("it predicts")).to_be_visible()
    ready(page)
    page.get_by_role("button", name="More", exact=True).click()
    page.locator(".st-key-slow_maps").get_by_role("button", name="Patch ablation", exact=True).click()
    page.keyboard.press("Escape")
    expect(page.locator(f"{MAIN} figure canvas")).to_have_count(10)
    ready(page)


@pytest.mark.rest
def test_the_maps_of_trust_race_through_the_steps_without_the_server(page, server):
    page.goto(f"{server}/relevance?models=bundled:insects_cnn&image=mayfly+nymph&relevance_view=Trust")
    ready(page)
    expect(page.locator("[class*='st-key-stop_trust']")).to_have_count(0, timeout=LONG_MS)
    race = page.locator(f"{MAIN} .race")
    expect(race.locator("figure")).to_have_count(4)  # three maps, and a random order
    expect(page.get_by_text("10 % of the places taken away")).to_be_visible(timeout=LONG_MS)
    expect(page.get_by_text("What each score tells")).to_be_visible(timeout=LONG_MS)
    before = race.locator("figure p span").first.text_content()
    page.evaluate(COUNT_SENT)
    milliseconds = page.locator(f"{MAIN} input[type='range']").last.evaluate(
        """slider => { const from = performance.now()
        for (let at = 0; at <= 20; at++) { slider.value = at; slider.dispatchEvent(new Event('input')) }
        return (performance.now() - from) / 21 }"""
    )
    assert page.evaluate("window.__sent") == 0
    assert milliseconds < 100  # 30 at rest
    expect(page.get_by_text("100 % of the places taken away")).to_be_visible()
    assert race.locator("figure p span").first.text_content() != before
    assert len(set(race.locator("figure p span").all_text_contents())) == 1  # all is erased in every lane
    race.locator("figure").last.click()
    expect(race.locator("figure[data-lit]")).to_have_count(1)
    expect(page.get_by_text("of the places taken away in a random order")).to_be_visible(timeout=LONG_MS)
    assert "relevance_lit" in page.url
    box = box_of(race.locator(".curves canvas"))
    page.mouse.click(box["x"] + 44 + (box["width"] - 58) / 2, box["y"] + 60)  # the middle of the axis
    expect(page.get_by_text("50 % of the places taken away")).to_be_visible(timeout=LONG_MS)
    ready(page)
