"""Nothing on any page makes the browser of a visitor call another host, whatever the names in a run are; and what a
forged one sends changes nothing."""

import re
import shutil
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import TimeoutError, expect

from tests import hostile
from tests.browser.conftest import serving, watched
from tests.browser.steps import MAIN, click_at, go_to, ready
from tests.browser.sticky_proxy import balancing
from tests.browser.test_explore import CARD

LONG_MS = 300_000
PLACES = (
    "",
    "compare",
    "relevance",
    "architecture",
    "evaluate?eval_data=digits",
    "distillation",
)
READ_NO_MODEL = (f"train?train_view=Watch&run={quote(f'{hostile.NAME}vit', safe='')}",)


@pytest.fixture
def hostile_run(home):
    """Among the runs of the server one that carries hostile names in every file."""
    run = hostile.run(home / "runs", "vit", "digits_vit", 10)
    yield
    shutil.rmtree(run.path)


@pytest.fixture
def elsewhere(page, server):
    """The requests of the page to other hosts, and the dialogs that it opens."""
    found = []

    def note_request(request):
        if not request.url.startswith((server, "data:", "blob:")):
            found.append(request.url)

    def note_dialog(dialog):
        found.append(dialog.message)
        dialog.dismiss()

    page.on("request", note_request)
    page.on("dialog", note_dialog)
    yield found
    page.remove_listener("request", note_request)
    page.remove_listener("dialog", note_dialog)


@pytest.mark.rest
@pytest.mark.usefixtures("hostile_run")
def test_no_request_leaves_for_another_host(page, server, elsewhere):
    page.goto(server)
    expect(page.locator("[data-testid='stTopNav']")).to_be_visible(timeout=LONG_MS)
    expect(page.locator("link[rel='shortcut icon']")).to_have_attribute("href", re.compile("^data:image/svg"))
    for place in (*PLACES, *READ_NO_MODEL):
        page.goto(f"{server}/{place}{'&' if '?' in place else '?'}image=digit+3")
        ran = page.locator("[data-testid='stApp'][data-test-script-state='notRunning']")
        # A run that goes on would close the list, and whether one has begun yet only its first words tell.
        expect(page.locator("[data-testid='stMain'] h1").first).to_be_visible(timeout=LONG_MS)
        expect(ran).to_be_visible(timeout=LONG_MS)
        if place in PLACES:
            choose_the_hostile_run(page)
            page.keyboard.press("Escape")
            expect(ran).to_be_visible(timeout=LONG_MS)
            chosen = page.locator("[data-testid='stSidebar'] [data-testid='stMultiSelect']").get_by_text("run:")
            expect(chosen.first).to_be_visible(timeout=LONG_MS)
        else:
            expect(page.locator("[data-testid='stMain']").get_by_text(hostile.HOST).first).to_be_visible(
                timeout=LONG_MS
            )
        expect(page.locator("img[src*='evil']")).to_have_count(0)
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


# ---- a forged message ------------------------------------------------------------------------------------------------
CLICKED = re.compile(rb'"point":\[([^\]]{9,})\]')


def test_a_forged_place_breaks_no_page(chromium, server):
    """On its way to the server a click becomes a place that is none, in as many bytes."""
    forged = []

    def forge(clicked):
        forged.append(clicked[1])
        return b'"point":[' + b"NaN,1e9".ljust(len(clicked[1])) + b"]"

    def between(browser):
        behind = browser.connect_to_server()
        browser.on_message(lambda said: behind.send(CLICKED.sub(forge, said) if isinstance(said, bytes) else said))

    context = chromium.new_context(viewport={"width": 1440, "height": 1000})
    with watched(context.new_page()) as page:
        page.route_web_socket(re.compile("_stcore/stream"), between)
        page.goto(f"{server}/attention?models=ViT+%C2%B7+digits&image=digit+3")
        ready(page)
        page.keyboard.down("Shift")  # chooses the query in every step
        click_at(page.locator(f"{MAIN} canvas.photo"), 0.3217, 0.7331)
        page.keyboard.up("Shift")
        ready(page)
        assert len(forged) == 1
        assert "at=" not in page.url
        go_to(page, "Explore")
        expect(page.locator(f"{MAIN} canvas[role='application']").first).to_be_visible(timeout=LONG_MS)
        ready(page)
        click_at(page.locator(f"{MAIN} canvas[role='application']").first, 0.1234, 0.8765)
        ready(page)
        assert len(forged) == 2
        expect(page.get_by_test_id("stException")).to_have_count(0)
        assert "at=" not in page.url
    context.close()


# ---- two servers behind a balancer: a visitor stays on one, and both show the runs of one folder ---------------------
BUNDLED = Path(__file__).parents[2] / "vizkit" / "bundled" / "digits_vit"


@pytest.fixture
def other_server(home, tmp_path, monkeypatch):
    """Beside the server of all journeys one with the same runs, one of them new to both."""
    shared = home / "runs" / "shared"
    shutil.copytree(BUNDLED, shared)
    (shared / "status.json").write_text('{"state": "done"}')
    monkeypatch.setenv("VIZKIT_RUNS", str(home / "runs"))
    with serving(tmp_path) as address:
        yield address
    shutil.rmtree(shared)


def visit(page, address):
    """Open Explore on a run of the shared folder; gives the addresses that were answered with an error."""
    failed = []
    page.on("response", lambda answer: failed.append(f"{answer.status} {answer.url}") if answer.status >= 400 else None)
    page.goto(f"{address}/?models=run:shared&image=digit+3")
    ready(page)
    return failed


@pytest.mark.rest
def test_two_visitors_two_servers_one_folder_of_runs(chromium, server, other_server, tmp_path):
    photo = tmp_path / "mine.png"
    Image.fromarray(np.random.default_rng(5).integers(0, 256, (60, 80, 3), dtype=np.uint8)).save(photo)
    ports = [int(address.rpartition(":")[2]) for address in (server, other_server)]
    with balancing(ports) as (address, visitors):
        contexts = [chromium.new_context() for _ in ports]
        pages = [context.new_page() for context in contexts]
        failed = [visit(page, address) for page in pages]
        assert visitors == [1, 1]
        for page in pages:  # an upload has to reach the server that holds the session
            page.locator(".st-key-uploads input[type=file]").set_input_files(photo)
            expect(page.locator(".st-key-strip button[aria-pressed=true]")).to_have_attribute("title", "mine.png")
            expect(page.locator(f"{CARD} canvas").first).to_be_visible()
        assert visitors == [1, 1]
        assert failed == [[], []]
        for context in contexts:
            context.close()
