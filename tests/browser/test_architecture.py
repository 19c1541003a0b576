"""Journeys through the Architecture page: a network whose blocks open, and two architectures with coarser tokens."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.steps import MAIN, choose, click_at, ready

CANVAS = f"{MAIN} canvas[role='application']"


def add_first(page, what):
    """The sentence, and the button that adds a model for this view."""
    expect(page.get_by_text(f"None of your models is {what}")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Add (it|Dual)")).first.click()
    expect(page.get_by_text(f"None of your models is {what}")).to_be_hidden(timeout=120_000)
    expect(page.locator(f"{MAIN} [data-testid='stExpander']").last).to_be_visible(timeout=120_000)
    ready(page)


def click(page, x, y):
    click_at(page.locator(CANVAS).first, x, y)


@pytest.mark.rest
def test_a_click_on_a_block_opens_it_and_one_on_a_box_its_tensor(page, server):
    page.goto(f"{server}/architecture?models=bundled:digits_vit&models=bundled:digits_swin&image=digit+3")
    ready(page)
    networks = page.locator(f"{MAIN} section[aria-label*='from the image'] ol")
    expect(networks).to_have_count(2)
    second = networks.first.get_by_role("button", name="block 2: ")
    second.hover(position={"x": 20, "y": 40})
    expect(page.locator(f"{MAIN} output").filter(has_text=re.compile(r"^row \d, column \d: "))).to_be_visible()
    expect(page.get_by_text(f"{12 * 65 * 96**2 + 2 * 65**2 * 96:,} multiply–adds")).to_be_visible()
    second.click()
    expect(page.get_by_text("Block 2 of ViT · digits")).to_be_visible()
    expect(second).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(re.compile("network_block=3"))
    part = page.get_by_role("button", name="MLP inside: Between")
    part.click()
    expect(page.get_by_text("MLP inside: token × channel, 65 × 384")).to_be_visible()
    expect(part).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(re.compile("block_part=MLP"))
    networks.last.get_by_role("button", name="block 1: ").click()
    expect(page.get_by_text("Block 1 of Swin · digits")).to_be_visible()
    expect(page).to_have_url(re.compile("net=2"))


def test_two_scales_from_the_button_to_another_alpha(page, server):
    page.goto(f"{server}/architecture?models=bundled:digits_cnn&image=digit+3")
    ready(page)
    choose(page, "Coarser tokens")
    add_first(page, "a dual-scale ViT")
    click(page, 0.02, 0.02)
    expect(page.get_by_text("Coarse patch 1 stands beside fine patches 1, 2,")).to_be_visible()
    expect(page.get_by_text("Merged attention of block 3, α = 0.50")).to_be_visible()
    slider = page.get_by_role("slider", name="α")
    slider.press("ArrowLeft")  # turned in the browser: the map, the answers and the scores
    expect(page.get_by_text("Merged attention of block 3, α = 0.45")).to_be_visible()
    expect(page.get_by_text("0.45 · fine + 0.55 · coarse")).to_be_visible()
    slider.press("ArrowLeft")
    expect(page.get_by_text(re.compile("α = 0.42, the model’s own"))).to_be_visible()
    expect(page).to_have_url(re.compile("dual_alpha=0.4"))
