"""Journeys through the Architecture page: a flow that opens, and each special view from its button to a click."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import MAIN, choose, click_at, fits, ready

CANVAS = f"{MAIN} canvas[role='application']"


def add_first(page: Page) -> None:
    """The sentence, and the button that adds a model for this view."""
    expect(page.get_by_text("None of your models")).to_be_visible()
    page.get_by_role("button", name="Add it to your models").first.click()
    expect(page.get_by_text("None of your models")).to_be_hidden(timeout=120_000)
    expect(page.locator(f"{MAIN} [data-testid='stExpander']").last).to_be_visible(timeout=120_000)
    ready(page)


def click(page: Page, x: float, y: float) -> None:
    click_at(page.locator(CANVAS).first, x, y)


@pytest.mark.product(first=0)
def test_a_flow_opens_to_its_numbers(page: Page, server: str):
    page.goto(
        f"{server}/architecture?models=bundled:digits_vit&models=bundled:digits_swin&image=digit+3&architecture_view=Flow"
    )
    ready(page)
    flows = page.locator(f"{MAIN} ol[aria-label]")
    expect(flows).to_have_count(2)
    box = flows.first.locator("details", has_text="blocks.0 to 5")
    expect(box.get_by_text("multiply–adds each")).to_be_hidden()
    box.locator("summary").click()
    expect(box.get_by_text("multiply–adds each")).to_be_visible()
    expect(box.get_by_text(f"{12 * 65 * 96**2 + 2 * 65**2 * 96:,}")).to_be_visible()
    expect(flows.first.locator("details")).to_have_count(4)
    page.get_by_text("Every block by itself").click()
    expect(flows.first.locator("details")).to_have_count(9)
    expect(page).to_have_url(re.compile("flow_every=true"))


def test_two_scales_from_the_button_to_another_alpha(page: Page, server: str):
    page.goto(f"{server}/architecture?models=bundled:digits_cnn&image=digit+3")
    ready(page)
    choose(page, "Dual-scale")
    add_first(page)
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


@pytest.mark.product(first=0)
def test_tokens_grow_fewer_and_a_click_follows_one(page: Page, server: str):
    page.goto(f"{server}/architecture?models=bundled:digits_cnn&image=digit+3&architecture_view=Gradual+reduction")
    ready(page)
    add_first(page)
    expect(page.get_by_text("At first:")).to_be_visible()
    own = page.get_by_text("its token, row 1, column 1")
    expect(own).to_have_count(0)
    click(page, 0.01, 0.01)
    expect(own).to_have_count(4)
    expect(page.get_by_text("Products of attention by block").first).to_be_visible()


@pytest.mark.product(first=0)
def test_words_inside_patches(page: Page, server: str):
    page.goto(f"{server}/architecture?models=bundled:digits_cnn&image=flower&architecture_view=TNT")
    ready(page)
    add_first(page)
    click(page, 0.5, 0.9)
    expect(page.get_by_text(re.compile(r"Outer: row 1[34], column 7 attends to 196 patches"))).to_be_visible()
    expect(page.locator(f"{MAIN} figure")).to_have_count(16)


@pytest.mark.product(first=0)
def test_the_code_beside_its_numbers(page: Page, server: str):
    page.goto(f"{server}/architecture?models=bundled:digits_vit&image=digit+3&architecture_view=From+parts")
    ready(page)
    marked = page.locator(".code pre button[aria-pressed='true']")
    expect(marked).to_contain_text("weights = scores.softmax")
    page.locator(".code .all button", has_text="query").click()
    expect(marked).to_contain_text("query, key, value =")
    expect(page).to_have_url(re.compile("parts_line=13"))
    expect(page.locator(".code figure b")).to_have_text(["query", "key", "value"])
    page.locator(".code pre button", has_text="mixed = weights").click()
    expect(page.locator(".code figure b")).to_have_text(["mixed"])
    expect(page).to_have_url(re.compile("parts_line=17"))
    page.reload()
    expect(marked).to_contain_text("mixed = weights @ value")
    expect(page.get_by_text("MultiHeadSelfAttention of block 1")).to_be_visible()
    page.get_by_role("slider", name="Block").press("ArrowRight")
    expect(page.get_by_text("MultiHeadSelfAttention of block 2")).to_be_visible()


@pytest.mark.product(first=0)
def test_a_click_opens_a_part_of_the_block(page: Page, server: str):
    page.goto(f"{server}/architecture?models=bundled:digits_vit&image=digit+3")
    ready(page)
    part = page.get_by_role("button", name="MLP inside: Between")
    expect(part).to_have_attribute("aria-pressed", "false")
    part.click()
    expect(page.get_by_text("MLP inside: token × channel, 65 × 384")).to_be_visible()
    expect(part).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(re.compile("block_part=MLP"))


@pytest.mark.product
@pytest.mark.parametrize(
    ("view", "model"),
    [
        ("Block", "bundled:digits_swin"),
        ("Flow", "bundled:digits_swin"),
        ("Dual-scale", "random:dual_scale_tiny"),
        ("Gradual+reduction", "random:gradual_reduction_tiny"),
        ("Is+it+worth+it?", "bundled:digits_vit"),
        ("TNT", "random:tnt_s_patch16_224"),
        ("From+parts", "bundled:digits_vit"),
    ],
)
def test_a_phone_shows_it_without_scrolling_sideways(phone: Page, server: str, view: str, model: str):
    phone.goto(f"{server}/architecture?models={model}&image=flower&architecture_view={view}")
    ready(phone)
    expect(phone.locator(f"{MAIN} [data-testid='stExpander']").last).to_be_visible(timeout=120_000)
    fits(phone)
    own = f"{MAIN} [data-testid^='stBidiComponent'] canvas"  # others are Streamlit's own tables
    expect(phone.locator(f"{own}:not([aria-label])")).to_have_count(0)
