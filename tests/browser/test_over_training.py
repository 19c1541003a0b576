"""A visitor plays a run's view over its training: the browser turns it, the link opens the same step."""

import re
import shutil
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.steps import LONG_MS, MAIN, fits, ready
from vizkit.views import bundled


def test_a_view_turns_over_the_steps_of_a_run(page: Page, phone: Page, server: str, home: Path):
    shutil.copytree(bundled.RECORDED_FOLDER, home / "runs" / "learned", dirs_exist_ok=True)
    page.goto(f"{server}/rollout?models=run:learned&image=digit+3")
    ready(page)
    page.get_by_text("Over training", exact=True).click()
    steps = page.get_by_role("slider", name="After step")
    expect(steps).to_have_value("13", timeout=LONG_MS)  # the last of fourteen
    expect(page).to_have_url(re.compile("after_step=990"))
    stage = page.locator(f"{MAIN} .st-key-rollout0_run-learned_stage1, {MAIN} [class*='_stage1']").first
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
