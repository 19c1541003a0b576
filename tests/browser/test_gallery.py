"""A photograph of one's own meets a banner, and the gallery says what can be had."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.steps import LONG_MS, box_of, fits, still

BUNDLED = "models=bundled:digits_vit&models=bundled:insects_cnn"
SIDEBAR = "[data-testid='stSidebar']"
BODY = "[role='dialog']"
BANNER = "shows one of them"


def opened(page: Page) -> None:
    """The gallery's window, with all its models."""
    page.locator(f"{SIDEBAR} .st-key-gallery button").click()
    expect(page.locator(BODY).get_by_role("button", name="SigLIP ViT-B/16")).to_be_visible(timeout=LONG_MS)
    still(page)


def upload(page: Page, folder: Path) -> None:
    photo = folder / "rocket.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)).save(photo)
    page.locator(".st-key-uploads input[type=file]").set_input_files(photo)
    expect(page.get_by_text(BANNER)).to_contain_text("rocket.png", timeout=LONG_MS)
    still(page)


def test_a_photograph_meets_a_banner_and_the_gallery_a_way_on(page: Page, server: str, tmp_path: Path):
    page.goto(f"{server}/?{BUNDLED}&image=china")
    still(page)
    expect(page.get_by_text(BANNER)).to_have_count(0)  # a sample
    upload(page, tmp_path)
    page.get_by_role("button", name="Add ViT-S/16, for photographs").click()
    expect(page.get_by_text("are not on this machine and cannot be fetched")).to_have_count(1, timeout=LONG_MS)
    still(page)
    opened(page)
    body = page.locator(BODY)
    expect(body).to_contain_text("knows 12 drawn insects")
    expect(body).to_contain_text("88 MB")
    body.get_by_role("button", name="Swin-T", exact=True).click()
    expect(body.get_by_text("cannot be fetched")).to_be_visible(timeout=LONG_MS)
    body.get_by_role("button", name="ViT · insects").click()
    expect(body).to_have_count(0, timeout=LONG_MS)
    expect(page.locator(f"{SIDEBAR} [data-testid='stMultiSelect']")).to_contain_text("ViT · insects", timeout=LONG_MS)
    still(page)


@pytest.mark.rest
def test_the_gallery_fits_a_telephone(phone: Page, server: str, tmp_path: Path):
    phone.goto(f"{server}/?{BUNDLED}&image=china")
    still(phone)
    upload(phone, tmp_path)
    fits(phone)
    phone.get_by_test_id("stExpandSidebarButton").click()
    opened(phone)
    box = box_of(phone.locator(BODY))
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    fits(phone)


@pytest.mark.rest
def test_on_a_telephone_the_arrow_names_what_lies_behind_it(phone: Page, server: str):
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
