"""A visitor judges three models on a zip of digits, clicks a cell of the confusion matrix, and saves the report."""

import re
import zipfile

import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.browser.steps import MAIN, box_of, ready
from vizkit.datasets.opening import open_set

LONG_MS = 120_000  # a process that imports torch, on a machine with other work
MODELS = "&".join(f"models=bundled:digits_{kind}" for kind in ("vit", "swin", "cnn"))


@pytest.fixture(scope="module")
def zipped(tmp_path_factory):
    """Digits under their own names; of the nines every second one lies among the fours, so that all models err."""
    home = tmp_path_factory.mktemp("zip")
    digits = open_set("digits", "test", images=80)
    with zipfile.ZipFile(home / "мои цифры.zip", "w") as file:
        for row, (rgb, target) in enumerate(digits):
            label = "4" if target == 9 and row % 2 else digits.labels[target]
            Image.fromarray(rgb).save(home / "one.png")
            file.write(home / "one.png", f"{label}/digit {row}.png")
    return home / "мои цифры.zip"


def test_from_a_zip_to_the_saved_report(page, server, zipped):
    page.set_default_timeout(LONG_MS)
    page.goto(f"{server}/evaluate?{MODELS}&image=digit+3&eval_data=a+zip+file&eval_images=0")
    page.locator(".st-key-eval_zip input[type='file']").set_input_files(zipped)
    expect(page.get_by_text("80 images of 10 classes")).to_be_visible(timeout=LONG_MS)
    ready(page)
    page.get_by_role("button", name="Evaluate: 3 models").click()
    expect(page.get_by_text("80 of 80 images, hardest first")).to_be_visible(timeout=LONG_MS)
    expect(page.get_by_text("right most often")).to_be_visible()
    expect(page.locator(f"{MAIN} [data-testid='stPlotlyChart']").nth(2)).to_be_visible()  # a calibration or two
    ready(page)  # a chart that is drawn anew between the pointer and the click has no cell under it

    # A cell that is no picker's first choice: sixes that were answered six.
    matrix = page.locator(f"{MAIN} [data-testid='stPlotlyChart']").nth(1)
    matrix.click(trial=True)  # it is in view and stands still
    column, row = (box_of(matrix.locator(f".{axis}axislayer-above text").get_by_text("6", exact=True)) for axis in "xy")
    cell = column["x"] + column["width"] / 2, row["y"] + row["height"] / 2
    page.mouse.move(*cell)
    expect(matrix.locator(".hoverlayer .hovertext")).to_have_count(1)  # Plotly tells a click only of what it hovers
    page.mouse.click(*cell)
    expect(page).to_have_url(re.compile("eval_label=6&eval_answer=6|eval_answer=6&eval_label=6"), timeout=LONG_MS)
    ready(page)
    expect(page.get_by_text(re.compile(r"^\d+ of 80 images"))).to_be_visible()
    expect(page.get_by_role("img", name="Image of 6", exact=True).first).to_be_visible()
    expect(page.locator(f"{MAIN} img:not([alt])")).to_have_count(0)

    page.get_by_role("button", name="Save").click()
    with page.expect_download() as saving:
        page.get_by_role("button", name="Page (HTML)").click()
    report = saving.value.path().read_text(encoding="utf-8")
    assert "digits_swin" in report
    assert re.search('data:image/(jpeg|webp|png);base64,|"/9j/|UklGR|iVBORw', report)
    assert not re.search(r"""(src|href)=["']?https?:""", report)  # nothing comes from elsewhere
    with page.expect_download() as saving:
        page.get_by_role("button", name="Every answer (CSV)").click()
    assert len(saving.value.path().read_text(encoding="utf-8").splitlines()) == 81

    page.keyboard.press("Escape")
    page.get_by_role("button", name="Open in Explore").first.click()
    expect(page.get_by_role("heading", name="Explore", exact=True, level=1)).to_be_visible(timeout=LONG_MS)
    expect(page).to_have_url(re.compile("upload=[0-9a-f]{64}"), timeout=LONG_MS)
    ready(page)
