"""What the executed notebook shows, in a page as a notebook has it: it draws, and answers a click."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.canvas import click_at
from tests.browser.test_standalone import CANVAS, PIXELS
from tests.test_notebook import execute, html_of


@pytest.fixture(scope="module")
def outputs(tmp_path_factory) -> str:
    """The address of a page with all HTML outputs below one another, as one notebook has them."""
    folder = tmp_path_factory.mktemp("notebook")
    path = folder / "outputs.html"
    divisions = "".join(f"<div class='output'>{text}</div>" for text in html_of(execute(folder)))
    path.write_text(f"<!doctype html><meta charset='utf-8'><body>{divisions}</body>", encoding="utf-8")
    return path.as_uri()


def test_outputs_draw_and_a_click_moves_the_cursor_of_all(page: Page, outputs: str):
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(outputs)
    trained, yours = (page.locator(".output").nth(i) for i in range(2))
    for output in (trained, yours):
        expect(output.locator("output").first).to_contain_text("attends")
    before = trained.locator(CANVAS).evaluate(PIXELS)
    click_at(trained.locator(CANVAS), 0.02, 0.98)
    expect(trained.locator("output").first).to_contain_text("row 14, column 1 attends")
    expect(yours.locator("output").first).to_contain_text("row 6, column 1 attends")
    assert trained.locator(CANVAS).evaluate(PIXELS) != before
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
