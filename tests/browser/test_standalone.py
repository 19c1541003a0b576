"""A saved page, opened from its file: it draws, answers clicks and keys, and its models share one cursor; and so do the
outputs of a notebook."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

import vizkit
from tests.browser.steps import PHONE_PX, click_at
from tests.views.contract import FITTING, subject
from vizkit.datasets import samples
from vizkit.hosts.page import document
from vizkit.traces import NotApplicable
from vizkit.views import VIEWS, class_of
from vizkit.views.subject import Subject

CANVAS = "canvas[role='application']"
DRAWN = """articles => {  // words and images of all models
  const hosts = root => [...root.querySelectorAll('*')].filter(each => each.shadowRoot)
  const within = root => [root, ...hosts(root).flatMap(({ shadowRoot }) => within(shadowRoot))]
  return articles.flatMap(within).flatMap(root => [root.textContent, ...[...root.querySelectorAll('canvas, img')]
    .map(each => each.src || each.toDataURL())])
}"""
PIXELS = """canvas => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.reduce(
  (sum, value, i) => (sum * 31 + value * (i % 97)) % 1000000007, 0)"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    picture = np.random.default_rng(0).integers(0, 256, (96, 96, 3), dtype=np.uint8)
    traces = [vizkit.trace(vizkit.load(f"bundled:digits_{name}"), picture) for name in ("vit", "swin")]
    path = tmp_path_factory.mktemp("saved") / "both.html"
    vizkit.save_html(path, *traces)
    return path.as_uri()


def test_a_click_moves_the_cursor_of_both_models(page, saved):
    page.goto(saved)
    expect(page.locator(CANVAS)).to_have_count(2)
    said = page.locator("output")
    expect(said.first).to_contain_text("gives")
    click_at(page.locator(CANVAS).first, 0.05, 0.95)
    expect(said.first).to_contain_text("row 8, column 1 of 8 × 8 gives")
    expect(said.nth(1)).to_contain_text(re.compile(r"column 1( of \d+ × \d+)? gives"))
    page.locator(CANVAS).first.focus()
    page.keyboard.press("ArrowUp")
    expect(said.first).to_contain_text("row 7, column 1 of 8 × 8 gives")


def test_layer_head_and_query_change_the_map(page, saved):
    page.goto(saved)
    canvas, lines = page.locator(CANVAS).first, page.locator("section > small:first-of-type")
    expect(lines.first).to_contain_text("layer 6 of 6 · mean of the heads")
    seen = [canvas.evaluate(PIXELS)]
    page.locator("label", has_text="Layer").locator("input").fill("1")
    expect(lines.first).to_contain_text("blocks.0.attn · layer 1 of 6")
    seen.append(canvas.evaluate(PIXELS))
    page.locator("label", has_text="Head").locator("select").select_option("2")
    expect(lines.first).to_contain_text("head 2 of 4 · weights in steps of 1/255 of the row's largest")
    seen.append(canvas.evaluate(PIXELS))
    page.locator("label", has_text="Query").locator("select").select_option("cls")
    expect(page.locator("output").first).to_contain_text("[cls] gives")
    seen.append(canvas.evaluate(PIXELS))
    assert len(set(seen)) == 4


def test_what_the_page_says_are_the_weights(page, saved):
    page.goto(saved)
    picture = np.random.default_rng(0).integers(0, 256, (96, 96, 3), dtype=np.uint8)
    trace = vizkit.trace(vizkit.load("bundled:digits_vit"), picture)
    click_at(page.locator(CANVAS).first, 0.05, 0.05)
    row = trace.attention[-1].weights[0].mean(0)[1]  # the first patch stands behind the class token
    best = int(row[1:].argmax())
    place = f"to row {best // 8 + 1}, column {best % 8 + 1}"
    expect(page.locator("output").first).to_contain_text(
        f"row 1, column 1 of 8 × 8 gives {100 * float(row[0]):.1f}"[:-2]
    )
    expect(page.locator("output").first).to_contain_text(place)


@pytest.mark.product
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_it_without_scrolling_sideways(chromium, saved, scheme):
    context = chromium.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    page.goto(saved)
    expect(page.locator("output").first).to_contain_text("gives")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    expect(page.locator("canvas:not([aria-label])")).to_have_count(0)
    context.close()


# ---- views ----------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def saved_view(tmp_path_factory):
    """A view's page for a ViT and a Swin, or for those of them for which it has a meaning, else for a CNN or a DeiT."""
    names = ("digits_vit", "digits_swin", "digits_cnn", "insects_deit")
    models = {name: vizkit.load(f"bundled:{name}") for name in names}
    picture = samples.picture("digit 3")

    def page_of(name):
        every = [Subject(lambda own=own: own, picture, image="digit 3", model=name) for name, own in models.items()]
        view, able, of = class_of(name)(), [], every[:2]
        for each in [subject(FITTING[name])] if name in FITTING else every:
            if able and each not in of:
                break
            try:
                list(view.show(each if not view.together else of))
                able.append(each)
            except NotApplicable:
                continue
        path = tmp_path_factory.mktemp("saved") / "view.html"
        path.write_text(document(view, of if view.together else able[:1] if view.alone else able), "utf-8")
        return path.as_uri()

    return page_of


@pytest.mark.product
@pytest.mark.parametrize("of_page, name", [(entry.page, name) for name, entry in VIEWS.items()])
def test_a_saved_view_opens_from_its_file(page, phone, saved_view, of_page, name):
    address, errors = saved_view(name), []
    for tab in (page, phone):
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.goto(address)
        expect(tab.locator("h1")).to_be_visible()
        expect(tab.locator("article").first).to_be_visible()
        assert tab.locator("article img, article canvas, article .strips, article .predict, article ol").count()
        assert errors == []
    assert phone.evaluate("document.documentElement.scrollWidth") <= PHONE_PX
    if (steps := page.locator(".scrubber input")).count():  # and is played
        seen = set()
        for at in ("0", "1", steps.get_attribute("max") or ""):
            steps.fill(at)
            expect(page.locator(".scrubber b")).to_have_text(re.compile(r"^\S+( of \S+)?$"))
            seen.add(str(page.locator("article").evaluate_all(DRAWN)))
        assert len(seen) > 1
        scrubber = page.locator(".scrubber")  # a canvas of its own may have steps too
        scrubber.get_by_role("button", name="Play").click()
        expect(scrubber.get_by_role("button", name="Pause")).to_be_visible()


def test_a_cell_of_the_scores_tells_its_products_without_a_server(page, saved_view):
    page.goto(saved_view("flow"))
    page.locator("canvas.cells").press("ArrowDown")
    expect(page.get_by_text(re.compile(r"the 24 products sum to −?[\d.]+, times 0.204 is"))).to_be_visible()


LINE = "article p"  # what is shown, above the map
STEPS = """async () => {  // milliseconds of the slowest step, each at its best, and in how many ways everything stands
  const hosts = root => [...root.querySelectorAll('*')].filter(each => each.shadowRoot)
  const within = root => hosts(root).flatMap(({ shadowRoot }) => [shadowRoot, ...within(shadowRoot)])
  const roots = within(document), slider = roots.map(root => root.querySelector('.scrubber input')).find(Boolean)
  const place = element => {
    const { x, y, width, height } = element.getBoundingClientRect()
    return [x, y, width, height].map(Math.round)
  }
  const took = [], places = new Set(), lines = new Set()
  for (let round = 0; round < 8; round++) for (let at = 0; at <= Number(slider.max); at++) {
    const from = performance.now()
    slider.value = at
    slider.dispatchEvent(new Event('input'))
    took[at] = Math.min(took[at] ?? Infinity, performance.now() - from)  // others on the machine only add
    lines.add(roots.map(root => root.querySelector('article p')).find(Boolean).textContent)
    await new Promise(requestAnimationFrame)
    places.add(JSON.stringify(roots.flatMap(root => [...root.querySelectorAll('canvas, h4, figure, li')]).map(place)))
  }
  return { slowest: Math.max(...took), places: places.size, lines: lines.size }
}"""


@pytest.fixture
def quiet(page):
    """A window whose page asks nothing of the network and says nothing on the console."""
    page.set_viewport_size({"width": 1440, "height": 1000})
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.on("request", lambda request: said.append(request.url) if request.url.startswith("http") else None)
    yield page
    page.set_viewport_size({"width": 1440, "height": 1000})
    assert said == []


def test_its_step_is_turned_in_the_browser(quiet, saved_view):
    page = quiet
    page.goto(saved_view("rollout"))
    line, step = page.locator(LINE).first, page.locator(".scrubber b")
    expect(line).to_contain_text("layers 1 to 6 of 6 · ")
    slider = page.get_by_role("slider", name="Up to layer")
    slider.fill("1")
    expect(line).to_contain_text("layers 1 to 2 of 6 · ")
    slider.press("ArrowLeft")
    expect(line).to_contain_text("layers 1 to 1 of 6 · ")
    assert slider.get_attribute("aria-valuetext") == "1 of 6"
    page.locator("figure canvas").nth(2).click()  # the strip of layers: the third
    expect(line).to_contain_text("layers 1 to 3 of 6 · ")
    expect(page.locator("article").nth(1).locator("p").first).to_contain_text("layers 1 to 3 of 6")
    expect(step).to_have_text("3 of 6")
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(step).to_have_text("6 of 6")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_a_step_is_quick_and_moves_nothing(quiet, saved_view):
    quiet.goto(saved_view("rollout"))
    expect(quiet.locator(LINE).first).to_contain_text("layers 1 to 6 of 6")
    for width in (1440, 390):
        quiet.set_viewport_size({"width": width, "height": 900})
        measured = quiet.evaluate(STEPS)
        assert (measured["lines"], measured["places"]) == (6, 1), width
        assert measured["slowest"] < 30, measured


def test_one_cursor_for_all_its_maps(quiet, saved_view):
    quiet.goto(saved_view("explore"))
    said = quiet.locator("article output[aria-live]").filter(has_text=" gives ")  # of the large maps
    expect(said.first).to_contain_text("row 5, column 5")  # the middle
    quiet.locator(CANVAS).first.hover(position={"x": 5, "y": 5})
    for each in (said.first, said.nth(1)):
        expect(each).to_contain_text("row 1, column 1")
    click_at(quiet.locator(CANVAS).first, 0.7, 0.05)
    quiet.mouse.move(0, 0)
    expect(said.first).to_contain_text("row 1, column 6")
    quiet.get_by_role("slider").press("ArrowRight")  # the cursor stays from step to step
    expect(said.first).to_contain_text("row 1, column 6")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_its_colours_are_those_of_the_reader(chromium, saved_view, scheme):
    context = chromium.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    page.goto(saved_view("rollout"))
    ink = page.locator(LINE).first.evaluate("each => getComputedStyle(each).color")
    frame = page.locator(CANVAS).first.evaluate(  # a colour that a canvas can read
        "each => getComputedStyle(each).getPropertyValue('--st-primary-color').trim()"
    )
    assert (ink, frame) == {"light": ("rgb(22, 24, 43)", "#4338ca"), "dark": ("rgb(232, 234, 246)", "#818cf8")}[scheme]
    context.close()
