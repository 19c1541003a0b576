"""Journeys of a visitor on the Explore page, in a real browser."""

import itertools
import re

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

import vizkit
from tests.browser.conftest import serving, watched
from tests.browser.steps import LONG_MS, box_of, click_at, go_to, pick, still
from tests.browser.steps import ready as ready_view
from vizkit.analysis.attention.attention_map import attention_map, layers
from vizkit.datasets import samples
from vizkit.geometry import into_box
from vizkit.image import seen_box
from vizkit.percent import in_percent
from vizkit.ui.session.chosen import CENTRE

CARD = "[class*='st-key-explore'][class*='_stage']"
HEADS = "[class*='st-key-explore0'][class*='_stage'] canvas[aria-label*='all layers and heads']"
MODELS = "models=bundled:digits_vit&models=bundled:digits_swin"


def ready(page):
    """The script has ended and the cards are drawn."""
    still(page)
    expect(page.locator(f"{CARD} .map canvas").first).to_be_visible(timeout=60_000)
    still(page)


def point_in(loaded, rgb):
    """The middle of an image, in fractions of what the model sees of it."""
    height, width = rgb.shape[:2]
    return into_box(CENTRE, seen_box((height, width), loaded.preprocessing), (height, width))


def said(page, card=0):
    return page.locator(f"{CARD} .words output").nth(card).inner_text()


def pixels(page, card=0):
    return page.locator(f"{CARD} .map canvas").nth(card).evaluate("canvas => canvas.toDataURL()")


def click(page, x, y, card=0):
    click_at(page.locator(f"{CARD} .map canvas").nth(card), x, y)


def test_a_click_asks_all_models_at_their_own_grids(page, server):
    page.goto(f"{server}/?{MODELS}&image=digit+3")
    ready(page)
    before = pixels(page, 0), pixels(page, 1)
    click(page, 0.3, 0.8)
    expect(page.locator(f"{CARD} .words output").nth(0)).to_contain_text("row 7, column 3 of 8 × 8 gives")
    expect(page.locator(f"{CARD} .words output").nth(1)).to_contain_text(
        re.compile(r"row \d+, column \d+ of \d × \d gives")
    )
    assert pixels(page, 0) != before[0]
    assert pixels(page, 1) != before[1]
    expect(page).to_have_url(re.compile(r"at=0\.(29|30)\d*(,|%2C)0\.(79|80)"))


@pytest.mark.rest
def test_the_first_picture_moves_once_by_itself(chromium, server):
    """Not again in the same browser, and never where motion is not wanted."""
    address = f"{server}/?models=bundled:insects_vit&image=mayfly+nymph"
    for motion in ("reduce", "no-preference"):
        context = chromium.new_context(viewport={"width": 1440, "height": 1000}, reduced_motion=motion)
        page = context.new_page()
        page.add_init_script(
            "window.toured = []; addEventListener('vizkit-cursor', ({ detail }) => toured.push(detail.point))"
        )
        page.clock.install()
        for moves in (motion != "reduce", False):
            page.goto(address)
            ready(page)
            if moves:
                page.wait_for_function("toured.length && toured.at(-1) === null", timeout=LONG_MS)
                *points, _ = page.evaluate("toured")
                assert len(points) == 16  # along the insect, and back to where the cursor stands
                assert all(0 < share < 1 for point in points for share in point)
            else:
                page.clock.run_for(2000)  # it would have begun after 1.2 s
                assert page.evaluate("toured") == []
            expect(page.locator(f"{CARD} .words output")).to_contain_text("row 8, column 8 of 14 × 14")
        context.close()


@pytest.mark.rest
def test_the_hand_takes_over(chromium, server):
    page = chromium.new_context(viewport={"width": 1440, "height": 1000}, reduced_motion="no-preference").new_page()
    page.add_init_script(
        "window.toured = []; addEventListener('vizkit-cursor', ({ detail }) => toured.push(detail.point))"
    )
    page.clock.install()
    page.goto(f"{server}/?models=bundled:insects_vit&image=mayfly+nymph")
    ready(page)
    page.wait_for_function("toured.length > 1")
    page.locator(f"{CARD} .map canvas").hover(position={"x": 3, "y": 3})
    expect(page.locator(f"{CARD} .words output")).to_contain_text("row 1, column 1 of 14 × 14")
    count = page.evaluate("toured.length")
    page.clock.run_for(600)  # of which every step would take 220 ms
    assert page.evaluate("toured.length") == count
    page.context.close()


CHOSEN = """() => [...document.querySelectorAll("[data-testid='stMain'] input, [data-testid='stMain'] [role='radio']")]
  .map(each => [each.ariaLabel ?? each.innerText, each.type, each.value, each.checked ?? each.ariaChecked])"""


def copied(page):
    """The link that the button puts on the clipboard."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    still(page)
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator(".st-key-copy_link span[role=status]")).to_have_text(re.compile("^Copied"))
    return page.evaluate("navigator.clipboard.readText()")


def opens_the_same(page, chromium, canvas):
    """The copied link, in a browser that has never been here: every control and the picture."""
    link, chosen = copied(page), page.evaluate(CHOSEN)
    fresh = chromium.new_context(viewport=page.viewport_size, reduced_motion="reduce").new_page()
    try:
        with watched(fresh) as other:
            other.goto(link)
            expect(other.locator(canvas).first).to_be_visible(timeout=LONG_MS)
            other.wait_for_function(f"chosen => JSON.stringify(({CHOSEN})()) === JSON.stringify(chosen)", arg=chosen)
            still(other)
            assert other.evaluate(CHOSEN) == chosen
            drawn = "canvas => canvas.toDataURL()"
            assert other.locator(canvas).first.evaluate(drawn) == page.locator(canvas).first.evaluate(drawn)
            assert copied(other) == link
    finally:
        fresh.context.close()


@pytest.mark.rest
def test_a_copied_link_opens_three_pages_as_they_were_set(page, chromium, server):
    page.goto(f"{server}/explore?{MODELS}&image=digit+3")
    ready(page)
    click(page, 0.3, 0.8)
    page.get_by_role("button", name="More", exact=True).click()
    pick(page, "scale", "linear")
    pick(page, "draw", "map only")
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile("scale=linear"))
    opens_the_same(page, chromium, f"{CARD} .map canvas")
    page.goto(f"{server}/attention?{MODELS}&image=digit+3&attention_view=Explorer")
    ready_view(page)  # an address of an earlier version
    page.get_by_role("button", name="More", exact=True).click()
    page.locator(".st-key-value_weighted").get_by_text("Matrix weighted by values").click()
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile("value_weighted=true"))
    opens_the_same(page, chromium, "[class*='st-key-walk-through'] canvas")
    page.goto(f"{server}/swin?models=bundled:digits_swin&image=digit+3&swin_view=Merging")
    ready_view(page)
    pick(page, "merging_colours", "lengths")
    expect(page).to_have_url(re.compile("merging_colours=lengths"))
    opens_the_same(page, chromium, "[data-testid='stMain'] canvas")


def test_an_uploaded_photograph_is_shown_and_predicted(page, server, tmp_path):
    photo = tmp_path / "Foto café *1*.jpg"
    gradient = np.linspace(0, 255, 300 * 200).reshape(200, 300).astype(np.uint8)
    Image.fromarray(np.stack([gradient] * 3, -1)).save(photo)
    page.goto(f"{server}/?{MODELS}")
    ready(page)
    page.locator(".st-key-uploads input[type=file]").set_input_files(photo)
    expect(page.get_by_text("300 × 200 pixels")).to_be_visible()
    ready(page)
    expect(page.locator(f"{CARD} ol").first.locator("li")).to_have_count(5)
    page.goto(copied(page))  # a new session, which has no uploads
    expect(page.get_by_text("This link shows Foto café *1*.jpg, which is not here")).to_be_visible(timeout=LONG_MS)
    expect(page.locator(f"{CARD} .map canvas")).to_have_count(0)
    page.locator(".st-key-uploads input[type=file]").set_input_files(photo)
    ready(page)
    expect(page.get_by_text("300 × 200 pixels")).to_be_visible()


@pytest.mark.rest
def test_a_fresh_server_answers_a_deep_link(page, tmp_path):
    """Streamlit finds pages/ by itself until app.py has run once; the guard must send the first visitor through it."""
    with serving(tmp_path) as address:
        page.goto(f"{address}/explore?models=bundled:digits_cnn&image=flower")
        ready(page)
        expect(page.get_by_role("heading", name="Explore")).to_be_visible()
        expect(page.locator(".st-key-uploads")).to_be_visible()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.get_by_text("strength of features").first).to_be_visible()


SIZES = {"1366": (1366, 768), "1440": (1440, 900), "phone": (390, 844)}


def parts(page, selector):
    return page.locator(f"{CARD} {selector}").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().toJSON())"
    )


def apart(one, other):
    ends = (("left", "right"), ("top", "bottom"))
    return any(a[high] <= b[low] for low, high in ends for a, b in ((one, other), (other, one)))


@pytest.mark.rest
def test_first_steps_say_what_is_computed_and_cover_nothing(page, server):
    """Neither one another nor the picture nor the label of its colours, which follows the layer all the while."""
    size = page.viewport_size
    assert size is not None
    page.goto(f"{server}/?models=bundled:insects_vit&image=flower")
    ready(page)
    page.get_by_role("button", name="First steps").click()
    notes = page.locator(f"{CARD} aside p")
    expect(notes).to_have_count(3)
    for width, height in SIZES.values():
        page.set_viewport_size({"width": width, "height": height})
        still(page)
        boxes = [box for part in ("canvas", "aside p", "aside button", ".words > p") for box in parts(page, part)]
        assert len(boxes) == 7  # the map, the heads beside it, three notes, their button, the label of the colours
        assert all(apart(*pair) for pair in itertools.combinations(boxes, 2)), (width, boxes)
    page.set_viewport_size(size)
    expect(notes.nth(2)).to_have_text("3Hover over another patch, or play the layers above.")
    expect(
        page.get_by_text("What this patch attends to lies 17 pixels away on average in layer 1, 35 in layer 6.")
    ).to_be_visible()
    loaded, rgb = vizkit.load("bundled:insects_vit"), samples.picture("flower")
    point, recorded = point_in(loaded, rgb), layers(vizkit.trace(loaded, rgb))
    before, after = (in_percent(attention_map(recorded[at], point).places.max()) for at in (5, 4))
    assert after != before
    expect(notes.nth(1)).to_have_text(f"2Brightest: {before} of its attention")
    page.locator(".st-key-layer_play input").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_text("layer 5 of 6").first).to_be_visible(timeout=LONG_MS)
    still(page)
    expect(notes.nth(1)).to_have_text(f"2Brightest: {after} of its attention")
    page.get_by_role("button", name="Got it").click()
    expect(notes).to_have_count(0)


def test_a_view_that_is_drawn_anew_never_disappears_in_between(page, server):
    """What the view before left standing is hidden; what this one drew is not, once its next run has begun."""
    page.goto(f"{server}/?models=bundled:insects_vit&image=mayfly+nymph")
    ready(page)
    widths = page.evaluate(
        """card => {
          const picture = document.querySelector(card), styles = [...document.querySelectorAll('style')]
          return [picture, styles.find(each => each.textContent.includes('data-stale'))].map(each => {
            each.closest('[data-stale]').dataset.stale = 'true'  // as Streamlit marks what an earlier run has drawn
            return picture.clientWidth
          })
        }""",
        CARD,
    )
    assert widths[0] == 0 < widths[1]


def test_the_first_sight_follows_the_pointer_and_the_blocks(page, server):
    """As somebody who has never been here: patches that are alike, on a photograph, and all heads beside them."""
    page.goto(server)
    ready(page)
    expect(page.get_by_text("New here?")).to_be_visible()
    output = page.locator(f"{CARD} .words output").first
    expect(output).to_contain_text("of 18 × 18 · most similar", timeout=LONG_MS)
    expect(page.locator(HEADS)).to_be_visible()
    before, words, finding = pixels(page), output.inner_text(), page.locator(f"{CARD} strong").first.inner_text()
    page.locator(f"{CARD} .map canvas").first.hover(position={"x": 330, "y": 200})
    expect(output).not_to_have_text(words)
    expect(page.locator(f"{CARD} strong").first).not_to_have_text(finding)
    assert pixels(page) != before
    page.locator(".st-key-layer_play input").focus()
    page.keyboard.press("Home")
    expect(page.get_by_text("which patches are alike after block 1 of 12").first).to_be_visible(timeout=LONG_MS)
    still(page)
    box = box_of(page.locator(HEADS))
    tile = (box["width"] - 46) / 12  # as wide as a layer, beside the numbers of the heads
    click_at(page.locator(HEADS), (46 + 4.5 * tile) / box["width"], (22 + tile / 3) / box["height"])
    expect(page.get_by_text("layer 5 of 12 · head 1 of 6").first).to_be_visible(timeout=LONG_MS)


def test_the_first_minute(page, server, tmp_path):
    """Read the call-outs of attention, click, move the layer, bring a photograph, keep it."""
    insects = f"{server}/?models=bundled:insects_vit&models=bundled:insects_swin&image=mayfly+nymph"
    page.goto(insects)
    page.evaluate("localStorage.clear()")  # other journeys in this browser have been here
    page.goto(insects)
    ready(page)
    notes = page.locator(f"{CARD} aside p")
    expect(notes).to_have_count(3)
    expect(notes.nth(1)).to_contain_text("of its attention")
    page.get_by_role("button", name="Got it").click()
    expect(notes).to_have_count(0)
    page.reload()
    ready(page)
    expect(notes).to_have_count(0)  # once in a browser …
    page.get_by_role("button", name="First steps").click()
    expect(notes).to_have_count(3)  # … and whenever they are called for
    click(page, 0.6, 0.3)
    expect(notes).to_have_count(0)
    expect(page.locator(f"{CARD} .words output").first).to_contain_text("row 5, column 9 of 14 × 14 gives")
    before = pixels(page)
    page.locator(".st-key-layer_play input").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_text("layer 5 of 6").first).to_be_visible(timeout=LONG_MS)
    still(page)
    assert pixels(page) != before
    page.get_by_role("button", name="Enlarge").first.click()
    expect(page.locator("dialog canvas")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("dialog canvas")).to_have_count(0)
    photo = tmp_path / "rocket.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)).save(photo)
    page.locator(".st-key-uploads input[type=file]").set_input_files(photo)
    expect(page.get_by_text("knows photographs, without classes").first).to_be_visible(timeout=LONG_MS)
    ready(page)
    expect(page.locator(".st-key-strip button[aria-pressed=true]")).to_have_attribute("title", "rocket.png")
    page.locator(".st-key-strip button[title=china]").click()
    expect(page.get_by_text("640 × 427 pixels")).to_be_visible(timeout=LONG_MS)
    ready(page)
    page.locator(".st-key-gallery button").click()
    expect(page.get_by_role("dialog").get_by_role("button", name="ViT · digits")).to_be_visible(timeout=LONG_MS)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Save").first.click()
    add = page.get_by_role("button", name="Add to report").first
    expect(add).to_be_in_viewport()
    page.get_by_role("spinbutton", name="Width (mm)").first.fill("85")
    page.get_by_role("spinbutton", name="Width (mm)").first.press("Enter")
    still(page)
    expect(add).to_be_in_viewport()
    add.click()
    expect(page.get_by_text("Added: 1 figure")).to_be_visible()
    still(page)
    expect(add).to_be_in_viewport()
    go_to(page, "Report")
    expect(page.get_by_test_id("stMain").locator("iframe")).to_have_count(1, timeout=LONG_MS)


def test_a_reload_of_any_page_keeps_the_report(page, server):
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    page.goto(f"{server}/explore")
    ready_view(page)
    page.get_by_role("button", name="Save").first.click()
    page.get_by_role("button", name="Add to report").first.click()
    expect(page.get_by_text("Added: 1 figure")).to_be_visible()
    still(page)
    page.reload()
    ready_view(page)
    still(page)
    go_to(page, "Report")
    figure = page.get_by_test_id("stMain").locator("iframe")
    expect(figure).to_have_count(1, timeout=LONG_MS)
    still(page)
    page.get_by_role("button", name="Remove").click()
    begin = page.get_by_role("button", name="Begin with the example of 3 figures")
    expect(begin).to_be_visible(timeout=LONG_MS)
    still(page)
    page.reload()
    expect(begin).to_be_visible(timeout=LONG_MS)
    still(page)
    expect(begin).to_be_visible()  # what was removed does not come back
    assert asked == []
