"""Nothing on any page makes the browser of a visitor call another host, whatever the names in a run are."""

import re

import pytest
from playwright.sync_api import TimeoutError, expect

from tests import hostile
from tests.browser.conftest import serving

LONG_MS = 300_000
PLACES = ("", "train?train_view=Watch", "compare?compare_view=Predictions", "relevance", "architecture",
          "evaluate?eval_data=digits", "distillation")  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server whose runs carry hostile names in every file."""
    root = tmp_path_factory.mktemp("runs")
    hostile.run(root, "vit", "digits_vit", 10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIZKIT_RUNS", str(root))
        with serving(tmp_path_factory.mktemp("server")) as address:
            yield address


def test_no_request_leaves_for_another_host(chromium, server):
    context = chromium.new_context(viewport={"width": 1440, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(LONG_MS)
    elsewhere = []
    page.on("request", lambda request: request.url.startswith((server, "data:", "blob:"))
            or elsewhere.append(request.url))  # fmt: skip
    page.on("dialog", lambda dialog: elsewhere.append(dialog.message))
    page.on("pageerror", lambda error: elsewhere.append(str(error)))
    page.goto(server)
    expect(page.locator("[data-testid='stTopNav']")).to_be_visible(timeout=LONG_MS)
    expect(page.locator("link[rel='shortcut icon']")).to_have_attribute("href", re.compile("^data:image/svg"))
    for place in PLACES:
        page.goto(f"{server}/{place}{'&' if '?' in place else '?'}image=digit+3")
        ran = page.locator("[data-testid='stApp'][data-test-script-state='notRunning']")
        # A run that goes on would close the list, and whether one has begun yet only its first words tell.
        expect(page.locator("[data-testid='stMain'] h1").first).to_be_visible(timeout=LONG_MS)
        expect(ran).to_be_visible(timeout=LONG_MS)
        choose_the_hostile_run(page)
        page.keyboard.press("Escape")
        expect(ran).to_be_visible(timeout=LONG_MS)
        expect(page.locator("[data-testid='stSidebar'] [data-testid='stMultiSelect']").get_by_text("run:").first
               ).to_be_visible(timeout=LONG_MS)  # fmt: skip
        expect(page.locator("img[src*='evil']")).to_have_count(0)
    context.close()
    assert elsewhere == []


def choose_the_hostile_run(page):
    """Once more where the page ran again just then, as it does after its address has changed: that closes the list."""
    field = page.locator(".st-key-models input").first
    option = page.get_by_role("option").filter(has_text=hostile.HOST).first
    for patience_s in (3, 5, 10, 20, 60):
        field.click()
        field.fill("run:")
        try:
            return option.click(timeout=1000 * patience_s)
        except TimeoutError:
            if patience_s == 60:
                raise
