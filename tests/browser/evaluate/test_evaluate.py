"""A visitor judges three models on a zip of digits, clicks a cell of the confusion matrix, and saves the report."""

import re
import zipfile
from contextlib import suppress

import pytest
from PIL import Image
from playwright.sync_api import Page, TimeoutError, expect

from tests.browser.steps import MAIN, box_of, fits, ready
from vizkit.datasets.opening import open_set

LONG_MS = 120_000  # a process that imports torch, on a machine with other work
TABLE = f"{MAIN} [data-testid='stDataFrame']"
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


def test_from_a_zip_to_the_saved_report(page: Page, server: str, zipped):
    page.set_default_timeout(LONG_MS)
    page.goto(f"{server}/evaluate?{MODELS}&image=digit+3&eval_data=a+zip+file&eval_images=0")
    page.locator(".st-key-eval_zip input[type='file']").set_input_files(zipped)
    expect(page.get_by_text("80 images of 10 classes")).to_be_visible(timeout=LONG_MS)
    ready(page)
    page.get_by_role("button", name="Evaluate: 3 models").click()
    expect(page.get_by_text("80 of 80 images, hardest first")).to_be_visible(timeout=LONG_MS)
    expect(page.get_by_text("right most often")).to_be_visible()
    expect(page.locator(f"{MAIN} [data-testid='stPlotlyChart']").nth(2)).to_be_visible()  # a calibration or two

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


@pytest.mark.rest
def test_stopped_it_goes_on_and_a_reload_finds_it(page: Page, server: str):
    page.set_default_timeout(LONG_MS)
    page.goto(f"{server}/evaluate?{MODELS}&image=digit+3&eval_data=digits&eval_images=0")
    ready(page)
    page.get_by_role("button", name="Evaluate: 3 models").click()
    stop, again = page.get_by_role("button", name="Stop"), page.get_by_role("button", name="Go on: 3 models")
    yours = page.locator(".st-key-evaluated input")
    begun = page.get_by_role("button", name=re.compile("^(Evaluate|Go on): "))
    expect(begun).to_have_count(0, timeout=LONG_MS)
    page.reload()  # the process does not notice
    ready(page)
    with suppress(TimeoutError):  # a quick machine may be done before it is clicked
        stop.click(timeout=3_000)
    all_answers = page.locator(".st-key-evaluated input[value^='yours: digits, 359']")
    expect(stop).to_have_count(0, timeout=LONG_MS)
    expect(again.or_(all_answers).first).to_be_visible(timeout=LONG_MS)  # the run that took Stop away has drawn
    ready(page)
    if again.is_visible():
        again.click()
    expect(yours).to_have_value(re.compile("^yours: digits, 359"), timeout=LONG_MS)
    expect(stop.or_(begun)).to_have_count(0, timeout=LONG_MS)
    page.reload()
    expect(yours).to_have_value(re.compile("^yours: digits, 359"), timeout=LONG_MS)
    ready(page)
    expect(begun).to_have_count(0)


@pytest.mark.rest
def test_a_detector_from_its_button_to_a_kind_of_mistake(page: Page, server: str):
    page.set_default_timeout(LONG_MS)
    page.goto(f"{server}/detection?detection_view=Many+scenes&eval_scenes_data=scenes&eval_scenes_images=12")
    page.get_by_role("button", name="Evaluate: 1 model").click()
    expect(page.get_by_text("of 12 scenes have a mistake")).to_be_visible(timeout=LONG_MS)
    ready(page)
    strip = page.get_by_role("button", name=re.compile(r"^scene \d+, \d+ mistakes?$"))
    number = strip.nth(1).get_attribute("aria-label").split()[1].rstrip(",")
    strip.nth(1).click()
    expect(page.get_by_text(f"Said of scene {number}: right blue, wrong red", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile(rf"eval_scene={number}\b"))
    ready(page)

    bar = page.locator(f"{MAIN} [data-testid='stPlotlyChart']").first.locator(".barlayer .point").nth(2)
    bar.scroll_into_view_if_needed()
    box = box_of(bar)
    page.mouse.move(box["x"] + 4, box["y"] + box["height"] / 2)
    expect(page.locator(".hoverlayer .hovertext").first).to_be_visible()
    page.mouse.click(box["x"] + 4, box["y"] + box["height"] / 2)
    expect(page).to_have_url(re.compile("eval_mistake=said"))
    expect(page.get_by_text("have the mistake “said twice”")).to_be_visible()
    ready(page)
    page.set_viewport_size({"width": 390, "height": 844})
    fits(page)
