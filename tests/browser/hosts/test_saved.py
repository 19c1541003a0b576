"""Every view that is played, saved as a page and opened from disk: each end of its field shows another picture."""

import pytest
from playwright.sync_api import Page, expect

from tests.views.contract import given, subject
from vizkit.hosts.page import document
from vizkit.views import VIEWS, class_of
from vizkit.views.controls import controls

MODELS = {
    "swin": "digits_swin",
    "relative positions": "digits_swin",
    "two tokens": "insects_deit",
}  # what a view needs; else the ViT
PLAYED = [  # what a canvas of its own plays has a test of its own
    name for name in VIEWS if any(each.plays and not each.inside for each in controls(class_of(name)).values())
]


@pytest.mark.parametrize("name", PLAYED)
def test_a_saved_page_is_played(page: Page, tmp_path, name):
    view, of = class_of(name)(), subject(MODELS.get(VIEWS[name].needs, "digits_vit"))
    several = given(view, of)
    path = tmp_path / "saved.html"
    path.write_text(document(view, several if isinstance(several, list) else [of]), encoding="utf-8")
    failed = []
    page.on("pageerror", lambda error: failed.append(error))
    page.on("request", lambda request: None if request.url == path.as_uri() else failed.append(request.url))
    page.goto(path.as_uri())
    slider = page.locator(".scrubber input[type=range]")
    expect(slider).to_be_visible()
    ends = [seen_at(page, value) for value in (slider.get_attribute("min"), slider.get_attribute("max"))]
    assert ends[0] != ends[1]
    assert failed == []


def seen_at(page: Page, value: str | None) -> bytes:
    page.locator(".scrubber input[type=range]").fill(value or "0")
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.locator("section").first.screenshot(animations="disabled")
