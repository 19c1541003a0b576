"""Two servers behind a balancer: a visitor stays on one, and both show the runs of one folder."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import serving
from tests.browser.sticky_proxy import balancing
from tests.browser.test_explore import CARD, ready

BUNDLED = Path(__file__).parents[2] / "vizkit" / "bundled" / "digits_vit"


@pytest.fixture
def other_server(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Beside the server of all journeys one with the same runs, one of them new to both."""
    shared = home / "runs" / "shared"
    shutil.copytree(BUNDLED, shared)
    (shared / "status.json").write_text('{"state": "done"}')
    monkeypatch.setenv("VIZKIT_RUNS", str(home / "runs"))
    with serving(tmp_path) as address:
        yield address
    shutil.rmtree(shared)


def visit(page: Page, address: str) -> list[str]:
    """Open Explore on a run of the shared folder; gives the addresses that were answered with an error."""
    failed: list[str] = []
    page.on("response", lambda answer: failed.append(f"{answer.status} {answer.url}") if answer.status >= 400 else None)
    page.goto(f"{address}/?models=run:shared&image=digit+3")
    ready(page)
    return failed


def test_two_visitors_two_servers_one_folder_of_runs(chromium: Browser, server: str, other_server: str, tmp_path: Path):
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
