"""How long a step of a played field takes, which is turned in the browser."""

import shutil
import tempfile
from pathlib import Path

from benchmarks.pages import report
from tests.browser.conftest import FLAGS, serving
from tests.browser.steps import MAIN, ready

MODELS = "models=bundled:insects_vit&models=bundled:insects_swin&image=mayfly+nymph"
TURNED = (
    ("explore", "Layer", MODELS),
    ("rollout", "Up to layer", MODELS),
    ("rollout", "Up to layer", "models=random:vit_base_patch16_224&image=china"),
    ("patches?patches_view=Cut", "Step", MODELS),
    ("distillation?distillation_view=Teacher+and+student", "Temperature T", MODELS),
)
# Milliseconds that every step keeps the page busy, and until the next picture of the screen.
TURN = """async slider => {
  const busy = [], painted = []
  for (let round = 0; round < 8; round++) for (let at = 0; at <= Number(slider.max); at++) {
    const begun = performance.now()
    slider.value = at
    slider.dispatchEvent(new Event('input'))
    busy.push(performance.now() - begun)
    await new Promise(requestAnimationFrame)
    painted.push(performance.now() - begun)
  }
  return [busy, painted]
}"""


def run() -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as address:
        executable = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 1000}, reduced_motion="reduce")
        for path, label, of in TURNED:
            page.goto(f"{address}/{path}{'&' if '?' in path else '?'}{of}")
            ready(page)
            page.locator(f"{MAIN} article").first.wait_for()
            busy, painted = page.get_by_role("slider", name=label, exact=True).evaluate(TURN)
            name = f"{path.rpartition('=')[2]}, {of.partition('&')[0].partition('=')[2]}"
            report(f"{name}: step, busy", busy)
            report(f"{name}: step → painted", painted)
        browser.close()
