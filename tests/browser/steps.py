"""Steps that journeys have in common: wait until a page stands still, choose a view."""

import re

from playwright.sync_api import TimeoutError, expect

from vizkit.ui.shell import PAGES
from vizkit.ui.views import package_of

TRIES = 10  # of a click
MAIN = "[data-testid='stMain']"
PHONE_PX = 390
RAN = "[data-testid='stApp'][data-test-script-state='notRunning']"
LONG_MS = 120_000  # a first picture, on a machine with other work
# What was sent is in the page, laid out and painted.
STILL = """() => new Promise(done => requestIdleCallback(
  () => requestAnimationFrame(() => requestAnimationFrame(done)), {timeout: 2000}))"""


def still(page):
    """No run is under way, and what it sent is painted. After a click this may still be the run before it: wait first
    for something that only the new run shows."""
    expect(page.locator(RAN)).to_be_visible(timeout=LONG_MS)
    page.evaluate(STILL)


def ready(page):
    """A page has been drawn to its end, where it says how to read it."""
    expect(page.locator(RAN)).to_be_visible(timeout=LONG_MS)
    expect(page.locator(f"{MAIN} [data-testid='stExpander']").last).to_be_visible(timeout=LONG_MS)
    still(page)


def choose(page, title):
    """A view of the page. Its own line under the buttons says that the run which draws it has begun."""
    (stem,) = re.findall(r"^https?://[^/]+/(\w+)", page.url)
    (line,) = (view.line for view in package_of(stem).VIEWS if view.title == title)
    pick(page, f"{stem}_view", title)
    expect(page.locator(MAIN).get_by_text(line, exact=True)).to_be_visible(timeout=LONG_MS)
    ready(page)


def go_to(page, title):
    """Another page, through the navigation at the top: those with a section lie in its menu."""
    section = next(name for name, pages in PAGES.items() if title in [each for _, each, _ in pages])
    if section:
        page.get_by_test_id("stTopNavSection").filter(has_text=section).click()
        page.get_by_role("menuitem", name=title, exact=True).click()
    else:
        page.get_by_test_id("stTopNavLink").filter(has_text=title).click()
    expect(page.get_by_role("heading", name=title, exact=True, level=1)).to_be_visible(timeout=LONG_MS)


def pick(page, key, name):
    """A button of a segmented control; whoever calls waits for what it changes."""
    group = page.locator(f".st-key-{key}")
    group.get_by_role("radio", name=name, exact=True).or_(group.get_by_role("button", name=name, exact=True)).click()


def fits(phone):
    """Nothing is wider than the telephone, options and the line to the next page are whole, and every picture has its
    words."""
    still(phone)
    assert phone.evaluate("document.documentElement.scrollWidth") <= PHONE_PX
    groups = phone.locator(MAIN).get_by_role("radiogroup")
    assert groups.evaluate_all("all => all.every(one => one.scrollWidth <= one.clientWidth)")
    leads = phone.locator("[data-testid='stPageLink'] p").all()
    assert all(lead.evaluate("line => line.scrollWidth <= line.parentElement.clientWidth") for lead in leads)
    expect(phone.locator("img:not([alt])")).to_have_count(0)


def box_of(shown):
    """Where it lies in the window, in pixels. While a run draws it anew it lies nowhere for a moment."""
    for _ in range(TRIES):
        expect(shown).to_be_visible(timeout=LONG_MS)
        if box := shown.bounding_box():
            return box
    raise AssertionError(f"{shown} is drawn anew all the time")


def click_at(canvas, x, y):
    """Clicks at these shares of the canvas's width and height, which change while a run of the page draws it.

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
