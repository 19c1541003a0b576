"""The walk-through in a page without a server: it opens at the step that was set, and its steps are played."""

from playwright.sync_api import expect

from tests.views.contract import subject
from vizkit.hosts.page import document
from vizkit.views.attention.walkthrough import WalkThrough


def test_a_saved_walk_is_played(page, tmp_path):
    path = tmp_path / "walk.html"
    path.write_text(document(WalkThrough(step=3), [subject("digits_vit")]), encoding="utf-8")
    failed = []
    page.on("pageerror", lambda error: failed.append(error))
    page.emulate_media(reduced_motion="no-preference")
    page.goto(path.as_uri())
    try:
        play_to_the_end(page)
    finally:
        page.emulate_media(reduced_motion="reduce")
    assert failed == []


def play_to_the_end(page):
    walk = page.locator(".walk")
    expect(walk).to_have_attribute("data-step", "2")
    expect(walk).to_have_attribute("data-sum", walk.get_attribute("data-score") or "?")
    assert float(walk.get_attribute("data-difference") or "1") < 1e-5
    walk.get_by_role("button", name="9 Project").click()
    walk.get_by_role("button", name="Play").click()
    expect(walk).to_have_attribute("data-step", "9")
    expect(walk).to_have_attribute("data-done", "true")
    expect(walk.get_by_role("button", name="click sets the query")).to_have_count(0)  # nobody would answer
    before = walk.get_attribute("data-key") or "?"
    walk.locator(".photo").click(position={"x": 20, "y": 20})
    expect(walk).not_to_have_attribute("data-key", before)
