"""Journeys to published tables beside models here, and to accuracy by number of images; a telephone."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.steps import MAIN, fits, pick, ready
from tests.ui.test_data_size import trained

PUBLISHED, SIZE = (
    "evaluate?evaluate_view=Published&models=bundled:insects_vit&models=bundled:insects_swin",
    "distillation?distillation_view=Does+it+help%3F&gain_shows=every+network",
)


@pytest.fixture(scope="module")
def with_runs(home: Path, server: str) -> Iterator[str]:
    """The server finds runs of the experiment, made by hand."""
    runs = home / "runs" / "data_size"
    trained(runs)
    trained(runs, ("CNN", "ViT"), seed=1, plus=0.02)
    yield server
    shutil.rmtree(runs)


def chart(page: Page, index: int) -> Locator:
    return page.locator(f"{MAIN} [data-testid='stPlotlyChart'] .js-plotly-plot").nth(index)


def choose(page: Page, key: str, option: str) -> None:
    page.locator(f".st-key-{key} input").first.click()
    page.get_by_role("option", name=option).click()


@pytest.mark.rest
def test_tables_are_filtered_and_models_laid_beside(page: Page, with_runs: str):
    page.goto(f"{with_runs}/{PUBLISHED}")
    ready(page)
    expect(chart(page, 0)).to_contain_text("ViT · insects")
    expect(chart(page, 0)).not_to_contain_text("Swin-B")
    expect(chart(page, 1)).to_contain_text("Swin-B 384")
    expect(chart(page, 1)).to_contain_text("Multiply–adds (G)")
    pick(page, "compare_against", "Parameters")
    expect(chart(page, 0)).to_contain_text("Parameters (M)")
    expect(chart(page, 1)).to_contain_text("Parameters (M)")
    choose(page, "published", "Detection")
    expect(chart(page, 1)).to_contain_text("DETR-DC5-R101")
    choose(page, "published", "ImageNet-1K")


@pytest.mark.rest
def test_accuracy_against_data_size(page: Page, with_runs: str):
    page.goto(
        f"{with_runs}/{SIZE}&size_seed=0&size_epochs=300+images&size_runs=insects:easy+·+100+to+12,000+images+·+yours"
    )
    ready(page)
    for words in ("CNN", "MLP", "ViT", "DeiT soft, all", "Swin", "chance 8.3 %", "12,000"):
        expect(chart(page, 0)).to_contain_text(words)
    expect(page.get_by_text("With 100 images the CNN leads")).to_be_visible()
    page.get_by_text("By epoch: learned, or learned by heart?").click()
    expect(chart(page, 1)).to_contain_text("epoch")
    expect(page.get_by_text("On validation images: 300 images")).to_be_visible()
    page.locator(".st-key-size_seed input").fill("1")
    page.locator(".st-key-size_seed input").press("Enter")
    expect(page.get_by_text("31 runs to train.")).to_be_visible()
    expect(page.get_by_role("button", name="Go on")).to_be_visible()
    expect(page.get_by_text("10 of 41 runs done")).to_be_visible()


@pytest.mark.product
@pytest.mark.parametrize("address", [PUBLISHED, SIZE])
def test_a_phone_shows_them_without_scrolling_sideways(phone: Page, with_runs: str, address: str):
    phone.goto(f"{with_runs}/{address}")
    ready(phone)
    expect(chart(phone, 0)).to_be_visible()
    fits(phone)
    assert chart(phone, 0).evaluate("e => e.clientWidth") <= 390
    text = "ViT" if address == PUBLISHED else "chance"
    colour = chart(phone, 0).locator("text", has_text=text).first.evaluate("e => getComputedStyle(e).fill")
    assert min(int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(",")) > 150, colour
