"""A photograph of one's own meets a banner, and the gallery says what can be had."""

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.browser.steps import LONG_MS, still

BUNDLED = "models=bundled:digits_vit&models=bundled:insects_cnn"
SIDEBAR = "[data-testid='stSidebar']"
BODY = "[role='dialog']"
BANNER = "shows one of them"


def opened(page):
    """The gallery's window, with all its models."""
    page.locator(f"{SIDEBAR} .st-key-gallery button").click()
    expect(page.locator(BODY).get_by_role("button", name="SigLIP ViT-B/16")).to_be_visible(timeout=LONG_MS)
    still(page)


def upload(page, folder):
    photo = folder / "rocket.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)).save(photo)
    page.locator(".st-key-uploads input[type=file]").set_input_files(photo)
    expect(page.get_by_text(BANNER)).to_contain_text("rocket.png", timeout=LONG_MS)
    still(page)


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
