"""A journey through Compare: three models, five photographs, the table, its file; then one map, and the strength."""

import csv
import re

import numpy as np
from PIL import Image
from playwright.sync_api import expect

from tests.browser.steps import MAIN, ready

MODELS = "models=bundled:insects_vit&models=bundled:insects_swin&models=bundled:insects_cnn"
GRID = f"{MAIN} [class*='st-key-compare-maps_grid']"
COLUMNS, IMAGES = f"{GRID} header.column b", f"{GRID} header.row button"


def photographs(folder, count=5):
    """Insects drawn for this test, in five shapes."""
    from vizkit.datasets import insects

    files = []
    for index in range(count):
        rgb = insects.draw(index, split="test", size_px=160, seed=9).picture
        files.append(folder / f"photo {index + 1}.png")
        Image.fromarray(np.pad(rgb, ((0, 20 * index), (0, 0), (0, 0)), mode="edge")).save(files[-1])
    return files


def add(page, name):
    box = page.locator(".st-key-models input")
    box.click()
    box.type(name)
    page.keyboard.press("Enter")
    expect(page.locator(f"{COLUMNS}").get_by_text(name)).to_be_visible(timeout=60_000)
    ready(page)


def test_three_models_and_five_photographs_to_a_saved_table(page, server, tmp_path):
    page.goto(f"{server}/compare?models=bundled:insects_vit")
    ready(page)
    add(page, "Swin · insects")
    add(page, "CNN · insects")
    page.locator(".st-key-uploads input[type=file]").set_input_files(photographs(tmp_path))
    expect(page.locator(IMAGES)).to_have_count(5)
    ready(page)
    expect(page.locator(COLUMNS)).to_have_text([re.compile(f"^{kind} · insects ") for kind in ("ViT", "Swin", "CNN")])
    expect(page.locator(f"{GRID} figure:has(li)")).to_have_count(15)
    expect(page.locator(f"{GRID} li")).to_have_count(75)
    expect(page.locator(f"{GRID} header.row small").first).to_contain_text("gree")
    page.locator(f"{MAIN} [data-testid='stPopover'] button").last.click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="All answers (CSV)").click()
    saved.value.save_as(tmp_path / "answers.csv")
    lines = list(csv.DictReader((tmp_path / "answers.csv").read_text(encoding="utf-8").splitlines()))
    assert {line["image"] for line in lines} == {f"photo {n}.png" for n in range(1, 6)}
    assert {line["model"] for line in lines} == {f"{kind} · insects" for kind in ("ViT", "Swin", "CNN")}
    shown = page.locator(f"{GRID} li span").first.inner_text()
    first = next(line for line in lines if line["image"] == "photo 1.png" and line["rank"] == "1")
    assert first["class"] == shown
    page.keyboard.press("Escape")
    page.locator(IMAGES).nth(1).click()
    expect(page.locator(".st-key-image input")).to_have_value("photo 2.png")
    ready(page)
    expect(page.locator(f"{GRID} header:has(button[aria-pressed='true']) b")).to_have_text("photo 2.png")
    expect(page.locator(IMAGES)).to_have_count(5)


def test_words_of_charts_are_light_on_a_dark_telephone(phone, server):
    phone.goto(f"{server}/compare?compare_view=Cost&{MODELS}")
    ready(phone)
    text = phone.locator(f"{MAIN} .js-plotly-plot text", has_text="ViT").first
    colour = text.evaluate("each => getComputedStyle(each).fill")
    assert min(map(int, re.findall(r"\d+", colour))) > 150, colour
