"""A journey through the Swin page: upload, choose a stage and a block, step through the shift, click a token."""

import io
import re

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

import vizkit
from tests.browser.steps import MAIN, choose, click_at, ready

CANVAS = f"{MAIN} canvas[role='application']"
STEPS = ("Grid", "Roll", "Windows", "Mask", "Attention", "Roll back")
# Every hundredth byte of what is drawn, as one number.
LOOK = """canvas => {
  const bytes = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data
  let sum = 0
  for (let i = 0; i < bytes.length; i += 101) sum = (sum * 31 + bytes[i]) % 1000000007
  return sum
}"""
# Milliseconds from pressing a step's button until the canvas stands at that step.
STEP = """([nav, canvas, step]) => new Promise(done => {
  const begun = performance.now()
  nav.querySelectorAll('button.step')[step].click()
  const look = () => canvas.dataset.at === String(step) ? done(performance.now() - begun) : requestAnimationFrame(look)
  requestAnimationFrame(look)
})"""


@pytest.fixture(autouse=True)
def moving(page):
    """The tokens roll before the visitor's eyes, as for everybody who has not switched motion off."""
    page.emulate_media(reduced_motion="no-preference")
    yield
    page.emulate_media(reduced_motion="reduce")


def step_to(page, step):
    nav, canvas = page.locator(f"{MAIN} nav").element_handle(), page.locator(CANVAS).element_handle()
    elapsed = page.evaluate(STEP, [nav, canvas, step])
    expect(page.locator(f"{MAIN} output").first).to_contain_text(f"{step + 1} {STEPS[step]}.")
    return elapsed


def photograph():
    """Oblong and without any symmetry."""
    rows, columns = np.mgrid[0:300, 0:400]
    rgb = np.stack([rows % 256, columns % 256, (rows * columns // 400) % 256], -1).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, "PNG")
    return buffer.getvalue()


def test_a_saved_page_plays_the_steps_and_turns_the_block(page, tmp_path):
    """The same canvas without a server; what only the model knows of other windows is not offered."""
    loaded = vizkit.load("bundled:insects_swin")
    path = tmp_path / "shift.html"
    vizkit.show("shifted-windows", loaded, "sample:mayfly nymph").save(path)
    page.goto(path.as_uri())
    canvas = page.locator("canvas[role='application']")
    expect(canvas).to_have_attribute("data-at", "0")
    before = canvas.evaluate(LOOK)
    page.get_by_role("button", name="3 Windows").click()
    expect(canvas).to_have_attribute("data-at", "2")
    windows = canvas.evaluate(LOOK)
    assert windows != before
    page.get_by_role("slider", name="Block").fill("0")
    expect(page.get_by_text("This block does not shift").first).to_be_attached()
    assert canvas.evaluate(LOOK) != windows


def test_from_an_upload_to_the_attention_of_a_token(page, server):
    page.goto(f"{server}/swin?models=bundled:insects_swin&swin_view=Stages")
    ready(page)
    expect(page.get_by_text("14 × 14 tokens of 8 pixels in 4 windows.")).to_be_visible()
    page.locator("input[type='file']").first.set_input_files(
        {"name": "mine.png", "mimeType": "image/png", "buffer": photograph()}
    )
    expect(page.get_by_text("400 × 300 pixels")).to_be_visible()
    choose(page, "Shift")
    block = page.locator(MAIN).get_by_role("slider", name="Block", exact=True)
    block.focus()
    page.keyboard.press("End")
    expect(page.get_by_text("one window, no shift").last).to_be_visible()
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
    expect(page.get_by_text("Block 4, number 4 of 4 in stage 1")).to_be_visible()
    ready(page)

    seen, times = set(), []
    for step in (0, 1, 2, 3, 4, 5):
        times.append(step_to(page, step))
        seen.add(page.locator(CANVAS).evaluate(LOOK))
    print("steps took", [f"{time:.0f} ms" for time in times])
    assert len(seen) == 6  # six different pictures
    expect(page).to_have_url(re.compile("shift_step=6"))

    canvas = page.locator(CANVAS)
    before = canvas.evaluate(LOOK)
    click_at(canvas, 0.4, 0.4)
    expect(page.locator(f"{MAIN} output").first).to_contain_text("where row 6, column 6 attends")
    assert canvas.evaluate(LOOK) != before
    canvas.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(f"{MAIN} output").first).to_contain_text("where row 6, column 7 attends")


@pytest.mark.rest
def test_the_page_opens_on_the_shift_and_plays_it_once(page, server):
    page.goto(f"{server}/swin?models=bundled:insects_swin")
    expect(page.locator(f"{MAIN} output").first).to_contain_text("6 Roll back.")
    expect(page).to_have_url(re.compile("shift_step=6"))
    expect(page.locator(f"{MAIN} nav button.play")).to_have_text("▶ Play")
    step_to(page, 0)
    choose(page, "Stages")
    choose(page, "Shift")
    expect(page.locator(CANVAS)).to_have_attribute("data-at", "0")
    expect(page.locator(f"{MAIN} nav button.play")).to_have_text("▶ Play")


@pytest.mark.product
def test_it_does_not_play_for_who_wants_no_motion(page, server):
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{server}/swin?models=bundled:insects_swin")
    ready(page)
    expect(page.locator(CANVAS)).to_have_attribute("data-at", "0")
    expect(page.locator(f"{MAIN} nav button.play")).to_have_text("▶ Play")
