"""Clicks on the canvases, whose place and size are still changing while a run of the page draws them."""

from playwright.sync_api import Locator, TimeoutError

TRIES = 10


def click_at(canvas: Locator, x: float, y: float) -> None:
    """Clicks at these shares of the canvas's width and height.

    A canvas that a run draws anew may have another size a moment later: a click beside it is tried again with the new
    size. The caller names the canvas so well that it is not that of the view before.
    """
    for tried in range(1, TRIES + 1):
        canvas.click(trial=True)  # waits until it stands still
        width, height = canvas.evaluate("canvas => [canvas.clientWidth, canvas.clientHeight]")
        try:
            return canvas.click(position={"x": x * width, "y": y * height}, timeout=3_000)
        except TimeoutError:
            if tried == TRIES:
                raise
