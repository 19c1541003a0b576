"""The field that is played, on a page of the app: the browser turns it by itself and says where it stopped."""

import json

import pytest
from playwright.sync_api import expect

from tests.browser.steps import MAIN, click_at, ready, still
from vizkit.figure.canvas.scripts import SCRIPTS, mounted
from vizkit.ui.widgets.stage import HERE

MODELS = "models=bundled:digits_vit&models=bundled:digits_swin&image=digit+3"
CANVAS = f"{MAIN} canvas[role='application']"
DRAG = "(slider, at) => { slider.value = at; slider.dispatchEvent(new Event('input')) }"  # the hand is still on it
# On the page, however far it is scrolled: a click scrolls to what it clicks.
PLACE = """canvas => {
  const { x, y, width, height } = canvas.getBoundingClientRect()
  return [x, y + document.querySelector("[data-testid='stMain']").scrollTop, width, height]
}"""


def lines(page):
    """What the two maps are of."""
    return [article.locator("p").first.inner_text() for article in page.locator(f"{MAIN} article").all()]


def step_of(page, words):
    """Both models stand there."""
    for number in range(2):
        expect(page.locator(f"{MAIN} article").nth(number).locator("p").first).to_contain_text(words)


@pytest.fixture
def rollout(page, server):
    page.goto(f"{server}/rollout?{MODELS}")
    ready(page)
    step_of(page, "layers 1 to 6 of 6")
    return page


def test_a_slider_turns_all_models_before_it_is_let_go(rollout):
    slider = rollout.get_by_role("slider", name="Up to layer")
    for at in (0, 3, 1):
        slider.evaluate(DRAG, at)
        assert [line.split(" ·")[0] for line in lines(rollout)] == [f"layers 1 to {at + 1} of 6"] * 2  # at once
        assert "rollout_depth" not in rollout.url
    slider.dispatch_event("change")
    rollout.wait_for_url("**rollout_depth=2**")
    still(rollout)
    step_of(rollout, "layers 1 to 2 of 6")
    rollout.reload()
    ready(rollout)
    step_of(rollout, "layers 1 to 2 of 6")
    expect(rollout.locator(".scrubber b")).to_have_text("2 of 6")


@pytest.mark.rest
def test_a_click_while_it_plays_keeps_the_step(rollout):
    rollout.get_by_role("slider", name="Up to layer").press("Home")
    rollout.wait_for_url("**rollout_depth=1**")
    rollout.get_by_role("button", name="Play").click()
    step_of(rollout, "layers 1 to 3 of 6")
    click_at(rollout.locator(CANVAS).first, 0.9, 0.1)
    expect(rollout.get_by_text("what reaches the patch at row 1, column 8").first).to_be_visible()
    assert not any("layers 1 to 1 of" in line or "layers 1 to 2 of" in line for line in lines(rollout))
    step_of(rollout, "layers 1 to 6 of 6")
    expect(rollout.get_by_role("button", name="Play")).to_be_visible()
    still(rollout)
    assert "rollout_depth" not in rollout.url  # the last is usual
    step_of(rollout, "layers 1 to 6 of 6")


@pytest.mark.rest
def test_a_small_map_turns_at_once_and_is_told(rollout):
    third = rollout.locator(f"{MAIN} figure canvas").nth(2)
    third.scroll_into_view_if_needed()
    places = [rollout.locator(CANVAS).nth(number).evaluate(PLACE) for number in range(2)]
    third.click()
    step_of(rollout, "layers 1 to 3 of 6")
    expect(rollout.locator(".scrubber b")).to_have_text("3 of 6")
    rollout.wait_for_url("**rollout_depth=3**")
    still(rollout)
    assert [rollout.locator(CANVAS).nth(number).evaluate(PLACE) for number in range(2)] == places


@pytest.mark.rest
def test_a_setting_keeps_the_step(rollout):
    rollout.locator(f"{MAIN} figure canvas").nth(1).click()
    rollout.wait_for_url("**rollout_depth=2**")
    rollout.get_by_role("radio", name="max", exact=True).click()
    rollout.wait_for_url("**rollout_fusion=max**")
    still(rollout)
    step_of(rollout, "layers 1 to 2 of 6")


@pytest.mark.rest
def test_steps_that_do_not_come_with_the_page_are_asked_for(page, server):
    """The weights of all windows and heads are too many to have them all: each block is drawn by the server, the next
    when the last has come."""
    page.goto(f"{server}/swin?swin_view=Window&models=bundled:insects_swin&swin_block=4")
    ready(page)
    said = page.locator(".scrubber b")
    expect(said).to_have_text("4 of 6")
    page.get_by_role("button", name="Play").click()
    expect(said).to_have_text("6 of 6")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    page.wait_for_url("**swin_block=6**")
    ready(page)


def test_the_step_is_drawn_where_the_scrubber_comes_later(page):
    """The page gives no order in which its elements are made; the stage alone knows its step by itself."""
    field = {"name": "depth", "key": "depth", "label": "Layer", "help": "", "values": [1, 2], "value": None}
    frames = [[[{"kind": "line", "text": f"layer {value}"}]] for value in field["values"]]
    data = {"book": json.dumps({"titles": [""], "field": field, "frames": frames, "pool": []}), "value": 2}
    page.set_content(SCRIPTS["vizkit_stage"].html)
    script = "\n".join([SCRIPTS["vizkit_stage"].code, mounted([]), (HERE / "stage_element.js").read_text("utf-8")])
    page.evaluate(
        "async ([script, data]) => (await import(URL.createObjectURL(new Blob([script], { type: 'text/javascript' }))))"
        ".default({ data, parentElement: document, setTriggerValue: () => {} })",
        [script, data],
    )
    expect(page.get_by_text("layer 2", exact=True)).to_be_visible()
