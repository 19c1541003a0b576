"""Journeys through the anatomy pages: patches, positions, attention, convolution."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.steps import MAIN, box_of, choose, click_at, ready

MODELS = "models=bundled:digits_vit&models=bundled:digits_swin&image=digit+3"


def click(page, label, x, y):
    """On the first canvas whose label begins so: the view before has canvases too, until the next run has ended."""
    click_at(page.locator(f"{MAIN} canvas[role='application'][aria-label^='{label}']").first, x, y)


def test_patches_from_the_cut_to_the_cost(page, server):
    page.goto(f"{server}/patches?{MODELS}&patches_step=5")
    ready(page)
    click(page, "Click a patch", 0.05, 0.05)
    expect(page.get_by_text("patch 1: row 1, column 1", exact=True).first).to_be_visible()
    ready(page)
    cut = page.locator(f"{MAIN} canvas[data-step]").first
    page.get_by_role("slider", name="Step").last.focus()
    page.keyboard.press("ArrowLeft")
    expect(cut).to_have_attribute("data-step", "4.75")
    page.get_by_role("slider", name="Patch size").first.focus()
    page.keyboard.press("ArrowRight")
    expect(
        page.get_by_text("8 × 8 px: 16 patches + [cls] = 17 tokens, 289 pairs").first
    ).to_be_visible()  # of 32 pixels a side
    page.wait_for_url("**patch_size=8**")


def test_attention_from_one_head_to_statistics(page, server):
    page.goto(f"{server}/attention?attention_view=Walk-through&{MODELS}&layer=2&walk_query=patch")
    ready(page)
    walk = page.locator(f"{MAIN} .walk")
    expect(walk).to_have_attribute("data-step", "5")  # softmax
    walk.get_by_role("button", name="1 Patch").click()
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
    matrix = page.get_by_label("The matrix of this head")
    matrix.hover(position={"x": 60, "y": 1})
    expect(page.get_by_text(re.compile(r"^\[cls\] → .+: [<> \d.]+ %"))).to_be_visible()
    matrix.press("ArrowDown")  # the next row's token asks
    expect(walk.get_by_text("query: row 2, column 1")).to_be_visible()
    matrix.click(position={"x": 60, "y": 1})
    expect(walk.get_by_text("query: [cls]")).to_be_visible()
    page.get_by_label("in all layers and heads").press("ArrowRight")
    expect(page.get_by_text(re.compile("layer 3 of 6 · head . of 4 · query"))).to_be_visible()
    choose(page, "Statistics")
    expect(page.locator(f"{MAIN} .js-plotly-plot").first).to_be_visible()


@pytest.mark.rest
def test_a_kernel_plays_steps_and_is_edited(page, server):
    page.emulate_media(reduced_motion="no-preference")
    try:
        page.goto(f"{server}/convolution?{MODELS}&slide_kernel=edges")
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


@pytest.mark.rest
def test_a_unit_of_a_feature_map_shows_its_field_and_its_origin(page, server):
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


@pytest.mark.rest
def test_patches_are_dragged_and_the_answer_follows(page, server):
    page.goto(f"{server}/positions?{MODELS}&shuffle_share=0")
    ready(page)
    canvas = page.locator(f"{MAIN} canvas[data-swaps]").first
    expect(page.get_by_text("All patches are in order").first).to_be_visible()
    width = box_of(canvas)["width"]
    cell = min(430, width if width < 400 else 0.62 * (width - 18)) / 8  # as order.js lays it out
    canvas.drag_to(
        canvas,
        source_position={"x": 0.5 * cell, "y": 0.5 * cell},
        target_position={"x": 3.5 * cell, "y": 2.5 * cell},
    )
    expect(canvas).to_have_attribute("data-swaps", "1-20")
    expect(page.get_by_text("when 2 patches stand at other places").first).to_be_visible()
    expect(page.get_by_text("Without positions both orders give the same outputs").first).to_be_visible()
    assert "shuffle_swaps=1-20" in page.url
    page.get_by_role("button", name="Undo").first.click()
    expect(page.get_by_text("All patches are in order").first).to_be_visible()


# Of a window of 4 × 4 whose query is its first: whether each place is coloured as the entry below and right of the
# middle of the table, which has 7 × 7.
SAME_COLOURS = """canvas => {
  const pen = canvas.getContext('2d'), ratio = devicePixelRatio, room = Math.min(380, (canvas.clientWidth - 40) / 2)
  const colour = (left, column, row, cells) => String(pen.getImageData(
    ratio * (left + (column + .5) * room / cells), ratio * (22 + (row + .5) * room / cells), 1, 1).data)
  return Array.from({ length: 16 }, (_, place) => [Math.floor(place / 4), place % 4]).map(
    ([row, column]) => colour(0, column, row, 4) === colour(room + 40, 3 + column, 3 + row, 7))
}"""


# Whether the small table of the chosen head has the colours of the large one, of 7 × 7.
SMALL_AND_LARGE = """canvas => {
  const pen = canvas.getContext('2d'), ratio = devicePixelRatio, room = Math.min(380, (canvas.clientWidth - 40) / 2)
  const small = canvas.getRootNode().querySelector('[aria-pressed=true] canvas').getContext('2d')
  return Array.from({ length: 49 }, (_, at) => [Math.floor(at / 7), at % 7]).every(([row, column]) => String(
    pen.getImageData(ratio * (room + 40 + (column + .5) * room / 7), ratio * (22 + (row + .5) * room / 7), 1, 1).data
  ) === String(small.getImageData(column, row, 1, 1).data))
}"""


@pytest.mark.rest
def test_a_key_of_a_window_marks_its_entry_of_the_table(page, server):
    bias = "swin_view=Window&window_part=table+of+the+bias&swin_block=1"
    page.goto(f"{server}/swin?{bias}&models=bundled:digits_swin&image=digit+3")
    ready(page)
    canvas = page.locator(f"{MAIN} canvas[data-entry]")
    canvas.click(position={"x": 5, "y": 30})  # the first of the window is the query now
    expect(canvas).to_have_attribute("data-query", "0")
    ready(page)  # the answer chooses the key that gains most
    canvas.hover(position={"x": 6, "y": 31})
    expect(canvas).to_have_attribute("data-entry", "24")  # of 7 × 7 the middle: the pointer is on its own place
    canvas.focus()
    page.keyboard.press("ArrowRight")
    expect(canvas).to_have_attribute("data-entry", "23")  # the query lies one column left of the key
    assert page.evaluate(SAME_COLOURS, canvas.element_handle()) == [True] * 16  # the outlined part is the window
    page.get_by_role("button", name="head 2").click()
    expect(canvas).to_have_attribute("data-head", "2")  # at once; the sentence comes with Python's answer
    expect(page.get_by_text("In head 2 the bias alone")).to_be_visible()
    expect(page).to_have_url(re.compile("window_head=2"))
    expect(canvas).to_have_attribute("data-query", "0")  # the query stays
    assert page.evaluate(SMALL_AND_LARGE, canvas.element_handle())
    assert page.evaluate(SAME_COLOURS, canvas.element_handle()) == [True] * 16
