"""Every view on a telephone, dark: nothing is wider than the screen, and each canvas that answers has a name."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from tests.browser.steps import LONG_MS, MAIN, fits, ready, still
from vizkit.ui.shell import PAGES
from vizkit.ui.views import package_of

MODELS = ["bundled:digits_vit", "bundled:digits_swin"]
OTHERS = {
    "architecture": ["bundled:digits_swin", "random:dual_scale_tiny", "random:gradual_reduction_tiny"],
    "compare": ["bundled:insects_vit", "bundled:insects_swin", "bundled:insects_cnn"],
    "train": ["bundled:digits_cnn"],
}
SETTINGS = {  # what is wider than a view as it opens
    "positions": {"positions_view": "What positions know", "models": ["bundled:insects_swin"]},
    "relevance": {"relevance_view": "Trust", "trust_scores": "ROAD"},
    "swin": {"swin_view": "Window", "window_part": "table of the bias"},
    "convolution": {"convolution_view": "What makes deep networks trainable", "trainable": "norms"},
    "architecture": {"models": ["random:tnt_s_patch16_224"]},
}
SHOWN = ("compare", "data_set", "sequences", "super_resolution", "swin")
"""Pages on which canvases without a name only show something, whose words stand beside them."""
ADDRESSES = [
    (stem, {f"{stem}_view": view.title} if len(views) > 1 else {})
    for pages in PAGES.values()
    for stem, *_ in pages
    for views in [package_of(stem).VIEWS if stem not in ("report", "lessons") else ()]
    for view in views
]


@pytest.mark.product
@pytest.mark.parametrize(
    "stem, query",
    [*ADDRESSES, *SETTINGS.items()],
    ids=lambda each: each if isinstance(each, str) else "".join(map(str, each.values())),
)
def test_a_view_fits(phone, server, stem, query):
    given = {"models": OTHERS.get(stem, MODELS), "image": "digit 3", "data_set": "digits", **query}
    phone.goto(f"{server}/{stem}?{urlencode(given, doseq=True)}")
    ready(phone)
    expect(phone.get_by_role("button", name="Stop", exact=True)).to_have_count(0, timeout=2 * LONG_MS)
    ready(phone)
    fits(phone)
    answers = "[role='application']" if stem in SHOWN else ""
    own = f"{MAIN} [data-testid^='stBidiComponent'] canvas{answers}"  # others are Streamlit's own tables
    expect(phone.locator(f"{own}:not([aria-label])")).to_have_count(0)


@pytest.mark.rest
def test_on_a_telephone_the_arrow_names_what_lies_behind_it(phone, server):
    shown = """words => {
      const arrow = document.querySelector('[data-testid=stExpandSidebarButton]')
      return arrow && getComputedStyle(arrow, '::after').content.replaceAll('"', '').trim() === words
    }"""
    phone.goto(server)
    phone.evaluate("localStorage.clear()")  # an earlier journey opened the sidebar, and Streamlit remembers it
    for address, words in (("report", "Pages"), ("evaluate", "Pages, models"), ("", "Pages, images, models")):
        phone.goto(f"{server}/{address}")
        phone.wait_for_function(shown, arg=words)
        still(phone)
