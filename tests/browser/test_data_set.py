"""A journey through the page Data set: a lasso around pictures, one of them opened on another page, a label mended; and
how quickly ten thousand points turn."""

import csv
import json

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.steps import LONG_MS, MAIN, box_of, ready
from vizkit.figure.canvas.scripts import mounted
from vizkit.figure.evaluation.points import by_kind, packed

POINTS = f"{MAIN} [class*='vizkit_points']"
SLOW_MS = 50  # three frames of a screen: a machine that does other work beside it
TURN = """() => new Promise(done => {
  const gaps = [], seen = plane.getBoundingClientRect(), times = 60
  let before, count = 0
  plane.focus()
  const step = now => {
    if (before) gaps.push(now - before)
    before = now
    if (count++ > times) return done(gaps)
    const at = { clientX: seen.left + 300, clientY: seen.top + 200, deltaY: count < times / 2 ? -12 : 12 }
    plane.dispatchEvent(new WheelEvent('wheel', { ...at, cancelable: true }))
    requestAnimationFrame(step)
  }
  requestAnimationFrame(step)
})"""


def lasso(page, x0, y0, x1, y1):
    """Around a rectangle, in shares of the canvas."""
    plane = page.locator(f"{POINTS} canvas.plane")
    plane.scroll_into_view_if_needed()
    plane.click(trial=True)
    box = box_of(plane)
    corners = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in ((x0, y0), (x1, y0), (x1, y1))]
    corners.append((corners[0][0], corners[2][1]))
    page.mouse.move(*corners[0])
    page.mouse.down()
    for corner in corners[1:]:
        page.mouse.move(*corner, steps=4)
    page.mouse.up()


def test_a_lasso_a_picture_on_another_page_and_a_mended_label(page, server, tmp_path):
    page.goto(f"{server}/data_set?models=bundled:digits_vit&data_set=digits")
    expect(page.locator(f"{POINTS} canvas.plane[data-named='10']")).to_be_visible(timeout=LONG_MS)
    expect(page.locator(f"{POINTS} canvas.plane[data-seen='300']")).to_be_visible(timeout=LONG_MS)
    ready(page)
    lasso(page, 0.02, 0.02, 0.98, 0.98)
    expect(page.locator(f"{POINTS} canvas.plane[data-chosen='300']")).to_be_visible()
    expect(page.locator(f"{MAIN} p").filter(has_text="300 images chosen")).to_be_visible(timeout=LONG_MS)
    page.locator(f"{POINTS} canvas.plane").press("Escape")
    expect(page.locator(MAIN).get_by_text("ViT · digits is right on")).to_be_visible(timeout=LONG_MS)
    ready(page)
    first = page.get_by_role("button", name="Open in Explore").first
    digit = page.locator(f"{MAIN} figure b").first.inner_text()
    first.click()
    expect(page.get_by_role("heading", name="Explore", exact=True, level=1)).to_be_visible(timeout=LONG_MS)
    expect(page.get_by_text(f"{digit}, ").first).to_be_attached(timeout=LONG_MS)
    page.goto(f"{server}/data_set?data_set_view=Suspects")
    mend = page.get_by_role("button", name="Mend: ").first
    expect(mend).to_be_visible(timeout=LONG_MS)
    ready(page)
    mend.click()
    expect(page.get_by_text("1 decided")).to_be_visible()
    suggested = page.get_by_role("button", name="Mend: ").count()
    assert suggested > 2
    page.get_by_role("button", name=f"Mend all {suggested - 1} labels here as suggested").click()
    expect(page.get_by_text(f"{suggested} decided")).to_be_visible()
    expect(page.get_by_role("button", name="No suggested label here is left to decide")).to_be_disabled()
    expect(page.locator(f"{MAIN} [data-testid='stSlider']", has_text="Page of images")).to_be_visible()
    ready(page)
    page.locator(f"{MAIN} [data-testid='stPopover'] button").last.click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Suspects and decisions (CSV)").click()
    saved.value.save_as(tmp_path / "suspects.csv")
    rows = list(csv.DictReader((tmp_path / "suspects.csv").read_text(encoding="utf-8").splitlines()))
    assert sum(bool(row["decision"]) for row in rows) == suggested


@pytest.mark.rest
def test_ten_thousand_points_turn_smoothly(page, tmp_path):
    chance, count = np.random.default_rng(0), 10_000
    kind = chance.integers(0, 12, count)
    xy = (chance.normal(size=(12, 2))[kind] * 4 + chance.normal(size=(count, 2))).astype(np.float32)
    small = np.full((count, 48, 48, 3), 120, np.uint8)
    names = [f"class {number}" for number in range(12)]
    data = packed(xy, small, by_kind(kind, names, "label"), [f"image {at}" for at in range(count)], [""] * count, "")
    (tmp_path / "points.html").write_text(
        f"<div id='host' style='width:900px'></div><script>{mounted(['vizkit_points'])}\n"
        "const host = document.getElementById('host').attachShadow({ mode: 'open' }), one = scripts.vizkit_points\n"
        "host.append(Object.assign(document.createElement('style'), { textContent: one.css }))\n"
        "host.append(document.createRange().createContextualFragment(one.html))\n"
        f"one.draw({{ data: {json.dumps(data | {'label': 'Points'})}, parentElement: host, setStateValue: () => 0 }})\n"
        "const plane = host.querySelector('canvas')</script>"
    )
    page.goto(f"file://{tmp_path}/points.html")
    expect(page.locator("canvas.plane[data-drawn='dots']")).to_be_visible()
    assert np.median(page.evaluate(TURN)) < SLOW_MS
