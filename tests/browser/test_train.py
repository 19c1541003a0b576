"""A visitor trains a small model, leaves, comes back, reloads, and looks inside what was trained."""

import re
import shutil

from playwright.sync_api import expect

from tests.browser.steps import MAIN, fits, go_to, ready
from vizkit.views import bundled

LONG_MS = 300_000  # a process that imports torch, on a machine with other work


def enter(page, key, text, said):
    """`said`: what the command beside the form says of it, which only the next run does."""
    field = page.locator(f".st-key-{key} input").first
    field.click()
    field.fill(text)
    field.press("Enter")
    expect(page.locator(f"{MAIN} [data-testid='stCode']").first).to_contain_text(said)
    ready(page)


def turn_to(page, name):
    go_to(page, name)
    ready(page)


def test_from_the_form_to_the_picker(page, server):
    page.set_default_timeout(LONG_MS)
    page.goto(f"{server}/train?models=bundled:digits_cnn&image=digit+3&train_view=Start")
    ready(page)
    enter(page, "train_data", "digits", "--data digits")
    enter(page, "field_model", "digits_cnn", "--model digits_cnn")
    page.locator(f"{MAIN} details summary", has_text="More").first.click()
    enter(page, "field_images", "96", "--images 96")
    enter(page, "field_epochs", "9", "--epochs 9")
    expect(page.get_by_text("96 to learn from")).to_be_visible(timeout=LONG_MS)
    page.get_by_role("button", name="Start training").click()
    expect(page.get_by_role("button", name="Stop training")).to_be_visible(timeout=LONG_MS)
    expect(page).to_have_url(re.compile("run=digits_cnn-digits"), timeout=LONG_MS)

    turn_to(page, "Patches")  # the run goes on without its page
    turn_to(page, "Train")
    done = page.get_by_text(re.compile("test images right")).first  # a quick machine may be there already
    expect(page.locator(f"{MAIN} [data-testid='stProgress']").or_(done).first).to_be_visible(timeout=LONG_MS)
    page.reload()
    ready(page)
    expect(done).to_be_visible(timeout=LONG_MS)
    expect(page.locator(f"{MAIN} [data-testid='stPlotlyChart']")).to_have_count(3, timeout=LONG_MS)
    expect(page.get_by_role("button", name="Stop training")).to_have_count(0, timeout=LONG_MS)
    expect(page.get_by_text(re.compile(r"^Of \d+ test images .* after step"))).to_be_visible(timeout=LONG_MS)

    page.get_by_role("button", name="Look inside on its own images").click()
    expect(page).to_have_url(re.compile(r"/(explore)?\?.*models=run(:|%3A)digits_cnn-digits"), timeout=LONG_MS)
    ready(page)
    expect(page.locator(f"{MAIN} canvas[role='application']").first).to_be_visible(timeout=LONG_MS)


def test_the_recipe_that_is_shown_is_that_of_the_task(page, server):
    page.goto(f"{server}/train?train_view=Start")
    ready(page)
    shown = page.get_by_role("combobox", name="Recipe")
    expect(shown).to_have_value("quick")
    page.get_by_role("radio", name="Fine-tune a model").click()
    expect(shown).to_have_value("fine-tune")
    expect(page.get_by_text("a third of the rate from scratch")).to_be_visible()


def test_a_view_turns_over_the_steps_of_a_run(page, phone, server, home):
    shutil.copytree(bundled.RECORDED_FOLDER, home / "runs" / "learned", dirs_exist_ok=True)
    page.goto(f"{server}/rollout?models=run:learned&image=digit+3")
    ready(page)
    page.get_by_text("Over training", exact=True).click()
    steps = page.get_by_role("slider", name="After step")
    expect(steps).to_have_value("13", timeout=LONG_MS)  # the last of fourteen
    expect(page).to_have_url(re.compile("after_step=990"))
    stage = page.locator(f"{MAIN} [class*='_stage1']").first
    expect(stage).to_be_visible(timeout=LONG_MS)  # all steps are there
    ready(page)
    said = page.get_by_text(re.compile("Half of what the class token takes")).first
    last = said.inner_text()
    steps.press("Home")
    expect(said).not_to_have_text(last)
    expect(page).to_have_url(re.compile("after_step=1(&|$)"))
    early = said.inner_text()
    phone.goto(page.url)
    ready(phone)
    expect(phone.get_by_text(early).first).to_be_visible(timeout=LONG_MS)
    fits(phone)
