"""Journeys through the anatomy pages: patches, positions, attention, convolution."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.canvas import click_at
from tests.browser.steps import MAIN, choose, fits, ready

MODELS = "models=bundled:digits_vit&models=bundled:digits_swin&image=digit+3"


def click(page: Page, label: str, x: float, y: float) -> None:
    """On the first canvas whose label begins so: the view before has canvases too, until the next run has ended."""
    click_at(page.locator(f"{MAIN} canvas[role='application'][aria-label^='{label}']").first, x, y)


def test_patches_from_the_cut_to_the_cost(page: Page, server: str):
    page.goto(f"{server}/patches?{MODELS}")
    ready(page)
    click(page, "Click a patch", 0.05, 0.05)
    expect(page.get_by_text("Patch 1", exact=False).first).to_be_visible()
    choose(page, "Compare in depth")
    click(page, "Similarity", 0.9, 0.9)
    expect(page.locator(f"{MAIN} output").first).to_contain_text("row 8, column 8 of 8 × 8 · most similar")
    page.get_by_role("slider", name="After block").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("blocks.1").first).to_be_visible()
    choose(page, "Cost")
    expect(page.get_by_text("196").first).to_be_visible()


def test_positions_from_the_experiment_to_sinusoids(page: Page, server: str):
    page.goto(f"{server}/positions?{MODELS}")
    ready(page)
    expect(page.get_by_text("without positions the outputs are the same in both orders")).to_be_visible()
    expect(page.get_by_text("Positions removed").first).to_be_visible()
    choose(page, "Relative")
    window, said = page.locator(f"{MAIN} canvas.window"), page.locator(f"{MAIN} .bias output")
    click_at(window, 0.1, 0.1)
    page.wait_for_url("**bias_query=1**")
    size = window.evaluate("canvas => canvas.clientWidth")
    window.hover(position={"x": 0.9 * size, "y": 0.9 * size})  # the farthest key, of 4 × 4: the first of 49 entries
    expect(said).to_contain_text("key in row 4, column 4 (3 below, 3 to the right): entry 1 of 49 adds")
    page.locator(f"{MAIN} .bias nav button").nth(1).click()
    page.wait_for_url("**rope_head=2**")
    ready(page)
    expect(page.get_by_text("Table of head 2, the query in the middle")).to_be_visible()
    choose(page, "Learned")
    click(page, "Similarity", 0.3, 0.3)
    expect(page.locator(f"{MAIN} output").first).to_contain_text("row 3, column 3 of 8 × 8 · most similar")
    expect(page.get_by_text("a learned table of positions: ViT · digits")).to_be_visible()
    choose(page, "Sinusoids")
    expect(page.locator(f"{MAIN} .js-plotly-plot")).to_have_count(5)


def test_patches_are_moved_by_hand(page: Page, server: str):
    """Dragged, clicked and by the keyboard; the answer follows, the link keeps it, and Undo puts it back."""
    page.goto(f"{server}/positions?{MODELS}&shuffle_seed=0")
    ready(page)
    expect(page.get_by_text("Nothing is moved, and the answer is “3”.").first).to_be_visible()
    picture = page.locator(f"{MAIN} .shuffle canvas").first
    width = picture.evaluate("canvas => canvas.clientWidth")
    side = (width - 10) / 2
    at = lambda row, column: {"x": width - side + (column - 0.5) * side / 8, "y": (row - 0.5) * side / 8}  # noqa: E731
    picture.drag_to(picture, source_position=at(1, 1), target_position=at(4, 5))
    page.wait_for_url("**shuffle_swaps=1-29**")
    expect(page.get_by_text("With 2 patches at other places").first).to_be_visible()
    picture.click(position=at(2, 1))
    picture.click(position=at(8, 8))
    page.wait_for_url("**shuffle_swaps=1-29+9-64**")
    picture.press("Enter")  # where the pointer is, and one to the left
    picture.press("ArrowLeft")
    picture.press("Enter")
    page.wait_for_url("**shuffle_swaps=1-29+9-64+64-63**")
    expect(page.get_by_text("With 5 patches at other places").first).to_be_visible()
    page.reload()
    ready(page)
    expect(picture).to_have_attribute("data-swaps", "1-29 9-64 64-63")
    page.get_by_role("button", name="Undo the swaps").first.click()
    expect(page.get_by_text("Nothing is moved, and the answer is “3”.").first).to_be_visible()
    assert "shuffle_swaps" not in page.url


def test_attention_from_one_head_to_the_mask(page: Page, server: str):
    page.goto(f"{server}/attention?attention_view=Walk-through&{MODELS}&layer=2&walk_query=patch")
    ready(page)
    walk = page.locator(f"{MAIN} .walk")
    expect(walk).to_have_attribute("data-step", "0")
    for step in range(1, 10):
        walk.get_by_role("button", name="Next").click()
        expect(walk).to_have_attribute("data-step", str(step))
        expect(walk.locator("output")).to_contain_text(f"{step + 1}  ")
    expect(walk.get_by_role("button", name="Next")).to_be_disabled()
    expect(walk.get_by_role("button", name="Play")).to_have_count(0)  # this tab wants no motion
    walk.get_by_role("button", name="3 Score").click()
    before = walk.get_attribute("data-score")
    click(page, "The walk", 0.1, 0.9)
    expect(walk).to_have_attribute("data-key", "row 8, column 1")
    score, total = walk.get_attribute("data-score"), walk.get_attribute("data-sum")
    assert (score, score != before) == (total, True)  # what the products add up to
    assert float(walk.get_attribute("data-difference")) < 1e-5  # weights computed here from those of the model
    page.keyboard.press("ArrowUp")  # on the photograph: another key
    expect(walk).to_have_attribute("data-key", "row 7, column 1")
    walk.locator(".numbers").hover(position={"x": 300, "y": 20})  # a number of q
    expect(walk.locator(".from")).to_contain_text("from step 2: the query's number in channel")
    page.wait_for_url("**walk_step=3**")
    page.wait_for_url("**walk_key=50**")  # [cls], then row 7 of 8
    page.reload()
    ready(page)
    expect(walk).to_have_attribute("data-step", "2")
    expect(walk).to_have_attribute("data-key", "row 7, column 1")
    walk.get_by_role("button", name="click sets the query").click()
    click(page, "The walk", 0.9, 0.1)
    expect(walk.get_by_text("query: row 1, column 8")).to_be_visible()
    choose(page, "Explorer")
    expect(page.get_by_role("img", name="Attention matrix with its patches on the axes")).to_be_visible()
    choose(page, "Statistics")
    expect(page.locator(f"{MAIN} .js-plotly-plot").first).to_be_visible()
    choose(page, "Masked")
    expect(page.locator(f"{MAIN} .js-plotly-plot")).to_have_count(2)


def test_a_kernel_plays_steps_and_is_edited(page: Page, server: str):
    page.emulate_media(reduced_motion="no-preference")
    try:
        page.goto(f"{server}/convolution?{MODELS}")
        ready(page)
        walk = page.locator(f"{MAIN} .slide")
        expect(walk).to_have_attribute("data-filled", "900")
        assert float(walk.get_attribute("data-difference")) < 1e-5  # computed here, against PyTorch
        walk.get_by_role("button", name="Play").click()
        expect(walk).not_to_have_attribute("data-filled", re.compile("^(900|1)$"))
        walk.get_by_role("button", name="Pause").click()
        grown, at = walk.get_attribute("data-filled"), walk.get_attribute("data-at")
        walk.get_by_role("button", name="Step ▶").click()
        expect(walk).to_have_attribute("data-filled", str(int(grown) + 1))
        assert walk.get_attribute("data-at") != at
        click(page, "Input of", 0.5, 0.5)
        expect(walk).to_have_attribute("data-filled", "900")
        before, place = walk.get_attribute("data-sum"), walk.get_attribute("data-at")
        assert before == walk.get_attribute("data-value")
        weight = walk.get_by_label("Weight in row 1, column 1")
        weight.fill("40")
        weight.press("Enter")
        expect(walk).not_to_have_attribute("data-sum", before)
        expect(walk.get_by_role("button", name="Undo")).to_be_visible()  # Python has computed it too
        expect(walk.locator(".proof")).to_contain_text("All 900 numbers")
        assert (walk.get_attribute("data-at"), float(walk.get_attribute("data-difference")) < 1e-5) == (place, True)
        walk.get_by_role("button", name="Undo").click()
        expect(walk).to_have_attribute("data-sum", before)
        page.goto(f"{server}/convolution?{MODELS}&slide_kernel=max+pooling")
        ready(page)
        expect(walk).to_have_attribute("data-count", "256")
        expect(walk.locator(".total")).to_contain_text("the largest of 4")
        assert float(walk.get_attribute("data-difference")) == 0
    finally:
        page.emulate_media(reduced_motion="reduce")


def test_a_unit_of_a_feature_map_shows_its_field_and_its_origin(page: Page, server: str):
    page.goto(f"{server}/convolution?models=bundled:digits_cnn&image=digit+3&convolution_view=Feature+maps")
    ready(page)
    maps = page.locator(f"{MAIN} .maps")
    click_at(maps.locator(".grid canvas").nth(1), 0.05, 0.95)
    expect(maps.locator(".said")).to_contain_text("row 8, column 1")
    expect(maps.locator(".said")).to_contain_text("it can see")
    channel, row, column = (int(part) + 1 for part in maps.get_attribute("data-unit").split(","))
    expect(page.get_by_text(f"Channel {channel}, row {row}, column {column}", exact=True)).to_be_visible()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_text(f"Channel {channel}, row {row - 1}, column {column}", exact=True)).to_be_visible()


CONVOLUTION = ("convolution", "convolution?convolution_view=Feature+maps", "convolution?convolution_view=Norms")


POSITIONS = ("positions", *(f"positions?positions_view={view}" for view in ("Kinds", "Learned", "Relative")))


@pytest.mark.parametrize("address", ["patches", *POSITIONS, "attention", *CONVOLUTION])
def test_a_phone_shows_them_without_scrolling_sideways(phone: Page, server: str, address: str):
    phone.goto(f"{server}/{address}{'&' if '?' in address else '?'}{MODELS}")
    ready(phone)
    fits(phone)
    expect(phone.locator("canvas:not([aria-label])")).to_have_count(0)
