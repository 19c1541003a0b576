"""Every view saved as a page opens from its file, draws, plays where it has a step, and fits a phone."""

import pytest
from playwright.sync_api import Page, expect

import vizkit
from vizkit.datasets import samples
from vizkit.hosts.page import document
from vizkit.traces import NotApplicable
from vizkit.views import VIEWS, class_of
from vizkit.views.subject import Subject

CANVAS = "canvas[role='application']"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A view's page for a ViT and a Swin, or for those of them for which it has a meaning."""
    models = {name: vizkit.load(f"bundled:digits_{name}", device="cpu") for name in ("vit", "swin")}
    picture = samples.picture("digit 3")

    def page_of(name: str) -> str:
        of = [Subject(lambda own=own: own, picture, image="digit 3", model=name) for name, own in models.items()]
        view, able = class_of(name)(), []
        for each in of:
            try:
                list(view.show(each if not view.together else of))
                able.append(each)
            except NotApplicable:
                continue
        path = tmp_path_factory.mktemp("saved") / "view.html"
        path.write_text(document(view, of if view.together else able[:1] if view.alone else able), "utf-8")
        return path.as_uri()

    return page_of


@pytest.mark.parametrize("name", VIEWS)
def test_a_saved_view_opens_from_its_file(page: Page, saved, name: str):
    page.goto(saved(name))
    expect(page.locator("h1")).to_be_visible()
    expect(page.locator("article").first).to_be_visible()
    assert page.locator("article img, article canvas").count()
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_its_step_is_turned_in_the_browser(page: Page, saved):
    page.goto(saved("rollout"))
    expect(page.locator("article p").first).to_have_text("layers 1 to 6 of 6 · row of the class token")
    page.locator("input[type='range']").fill("1")
    expect(page.locator("article p").first).to_have_text("layers 1 to 2 of 6 · row of the class token")
    page.locator("figure canvas").nth(2).click()  # the strip of layers: the third
    expect(page.locator("article p").first).to_have_text("layers 1 to 3 of 6 · row of the class token")
    expect(page.locator("form b")).to_have_text("3 of 6")
    page.get_by_role("button", name="Play").click()
    expect(page.locator("form b")).to_have_text("6 of 6")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
