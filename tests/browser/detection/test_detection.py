"""A visitor of Detection: a box or a place shows where it looks; another scene of the strip."""

import base64
import re

import numpy as np
from playwright.sync_api import expect

from tests.browser.steps import MAIN, box_of, ready
from vizkit.views.blocks import Canvas
from vizkit.views.detection.boxes import Boxes
from vizkit.views.subject import Subject, no_model, no_picture

PANELS = f"{MAIN} .panels"
PIXEL = """(canvas, [x, y]) =>
    [...canvas.getContext('2d').getImageData(x * canvas.width, y * canvas.height, 1, 1).data]"""
CROWDED = 9  # a scene in which boxes lie over one another


def opened(page, server, more=""):
    page.goto(f"{server}/detection?{more}")
    ready(page)
    panels = page.locator(PANELS)
    expect(panels.locator("canvas").first).to_be_visible(timeout=60_000)
    return panels


def drawn(panels, place):
    return panels.locator("canvas").nth(place).evaluate("canvas => canvas.toDataURL()")


def test_another_box_shows_where_its_query_looked_and_the_link_keeps_it(page, server):
    panels = opened(page, server, "det_score=0.05")
    expect(panels.locator("canvas")).to_have_count(3)  # found, the attention of the surest box, its relevance
    first, before = panels.get_attribute("data-shown"), drawn(panels, 1)
    panels.locator("canvas").first.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"det_query=\d+"))
    ready(page)
    expect(panels).not_to_have_attribute("data-shown", first or "")
    after, chosen, linked = drawn(panels, 1), panels.get_attribute("data-shown"), page.url.partition("?")[2]
    assert after != before
    again = opened(page, server, linked)
    expect(again).to_have_attribute("data-shown", chosen or "")
    assert drawn(again, 1) == after


def test_pointing_at_a_pixel_shows_the_query_of_its_mask_whatever_box_lies_there(page, server):
    sent = next(
        each for each in Boxes(scene=CROWDED).show(Subject(no_model, no_picture())) if isinstance(each, Canvas)
    ).data
    (masks,) = sent["panels"][0]["regions"]
    which = np.frombuffer(base64.b64decode(masks["values"]), np.uint8).reshape(masks["grid"])
    inner = np.pad(which, 2)  # two pixels from every border, so that a step of the mouse stays inside
    inside = np.all([inner[2 + y : 162 + y, 2 + x : 162 + x] == which for y in (-2, 2) for x in (-2, 2)], axis=0)
    boxes = [each for each in sent["panels"][0]["frames"] if each["id"] >= 0 and not each["faint"]]

    def smallest(x, y):
        at = [each for each in boxes if each["box_xyxy"][0] <= x <= each["box_xyxy"][2]]
        at = [each for each in at if each["box_xyxy"][1] <= y <= each["box_xyxy"][3]]
        areas = {(b[2] - b[0]) * (b[3] - b[1]): each["id"] for each in at for b in [each["box_xyxy"]]}
        return areas[min(areas)] if areas else -1

    places = (((column + 0.5) / 160, (row + 0.5) / 160) for row, column in np.argwhere(inside & (which > 0)))
    owners = ((x, y, masks["ids"][which[int(y * 160), int(x * 160)] - 1]) for x, y in places)
    owners = [*owners]
    x, y, query = next(one for one in owners if one[2] not in (smallest(*one[:2]), sent["chosen"]))
    far = next(one[:2] for one in owners if one[2] not in (query, sent["chosen"]))
    panels = opened(page, server, f"det_scene={CROWDED}")
    canvas = panels.locator("canvas").first
    box, before = box_of(canvas), canvas.evaluate(PIXEL, far)
    canvas.hover(position={"x": x * box["width"], "y": y * box["height"]})
    expect(panels).to_have_attribute("data-shown", str(query))
    assert canvas.evaluate(PIXEL, far) != before, "other masks stand back"


def test_where_boxes_lie_over_one_another_those_that_can_be_read_have_their_names(page, server):
    canvas = opened(page, server, f"det_scene={CROWDED}").locator("canvas").first
    expect(canvas).to_have_attribute(
        "data-named", re.compile("^midge larva 83 % · badly placed, ")
    )  # the chosen one first
    names = str(canvas.get_attribute("data-named")).split(", ")
    assert sum("missed" in name or " · " not in name for name in names) == 5, "every insect, missed or found"


def test_a_scene_of_the_strip_is_opened(page, server):
    opened(page, server)
    page.get_by_role("button", name="scene 4, all right", exact=True).click()  # without insects
    expect(page).to_have_url(re.compile("det_scene=4"))
    expect(page.locator(MAIN)).to_contain_text("Scene 4: no insect to find")
    expect(page.get_by_test_id("stException")).to_have_count(0)
