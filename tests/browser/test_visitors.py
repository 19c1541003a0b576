"""Nothing on any page makes the browser of a visitor call another host, whatever the names in a run are."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Dialog, Page, Request, TimeoutError, expect

from tests import hostile

LONG_MS = 300_000
PLACES = ("", "train?train_view=Watch", "compare?compare_view=Predictions", "relevance", "architecture",
          "evaluate?eval_data=digits", "distillation")  # fmt: skip


@pytest.fixture
def hostile_run(home: Path) -> Iterator[None]:
    """Among the runs of the server one that carries hostile names in every file."""
    run = hostile.run(home / "runs", "vit", "digits_vit", 10)
    yield
    shutil.rmtree(run.path)


@pytest.fixture
def elsewhere(page: Page, server: str) -> Iterator[list[str]]:
    """The requests of the page to other hosts, and the dialogs that it opens."""
    found: list[str] = []

    def note_request(request: Request) -> None:
        if not request.url.startswith((server, "data:", "blob:")):
            found.append(request.url)

    def note_dialog(dialog: Dialog) -> None:
        found.append(dialog.message)
        dialog.dismiss()

    page.on("request", note_request)
    page.on("dialog", note_dialog)
    yield found
    page.remove_listener("request", note_request)
    page.remove_listener("dialog", note_dialog)


@pytest.mark.usefixtures("hostile_run")
def test_no_request_leaves_for_another_host(page: Page, server: str, elsewhere: list[str]):
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
    assert elsewhere == []


def choose_the_hostile_run(page: Page) -> None:
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
