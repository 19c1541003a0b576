"""How long a visitor waits: start → first picture, slider → figure, click → picture, in Chromium."""

import shutil
import statistics
import tempfile
import time
from pathlib import Path

from PIL import Image

from tests.browser.conftest import FLAGS, serving
from tests.browser.steps import click_at, go_to, ready, still

# Some thousand of the canvas's bytes as one number: cheap enough to look at in every frame.
LOOK = """canvas => {
  const bytes = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data
  let sum = 0
  for (let i = 0; i < bytes.length; i += 397) sum = (sum * 31 + bytes[i]) % 1000000007
  return sum
}"""
LONGEST_MS = 20_000  # where nothing changes at all
# Resolves with the milliseconds from now until the canvas shows other pixels.
UNTIL_CHANGED = f"""canvas => ({{ done: new Promise(resolve => {{
  const sample = {LOOK}, before = sample(canvas), start = performance.now()
  const late = () => performance.now() - start > {LONGEST_MS}
  const look = () =>
    late() || sample(canvas) !== before ? resolve(performance.now() - start) : requestAnimationFrame(look)
  requestAnimationFrame(look)
}}) }})"""
# Milliseconds until a canvas shows other pixels, or words, pictures or the look of anything on the page or in the
# canvas's own shadow tree change.
UNTIL_SEEN = f"""canvas => ({{ done: new Promise(resolve => {{
  const sample = {LOOK}, before = sample(canvas)
  const start = performance.now()
  const seen = new MutationObserver(() => end())
  const end = () => {{ seen.disconnect(); resolve(performance.now() - start) }}
  const watched = {{ subtree: true, childList: true, characterData: true, attributeFilter: ['style', 'class', 'open'] }}
  for (const root of [document.body, canvas.getRootNode()]) seen.observe(root, watched)
  const late = () => performance.now() - start > {LONGEST_MS}
  const look = () => late() || sample(canvas) !== before ? end() : requestAnimationFrame(look)
  requestAnimationFrame(look)
}}) }})"""
CANVAS = "[class*='_stage'] canvas"  # of what the models have computed, not of the recording
# Milliseconds from pressing a step's button on the Swin page until its animation has come to rest.
STEP = """([nav, canvas, step]) => new Promise(done => {
  const begun = performance.now()
  nav.querySelectorAll('button.step')[step].click()
  const look = () => canvas.dataset.at === String(step) ? done(performance.now() - begun) : requestAnimationFrame(look)
  requestAnimationFrame(look)
})"""
HEADS = "[data-testid='stMain'] canvas[aria-label*='all layers and heads']"
ANY_CANVAS = "[data-testid='stMain'] canvas[role='application']"


def run() -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        executable = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            with serving(Path(folder)) as address:
                page.goto(address)
                first = drawn(page, ANY_CANVAS, start)
                live = drawn(page, CANVAS, start)
                page.wait_for_timeout(3000)
                print(f"\nstart → first figure    {first:6.1f} s   (fresh server: the recording of the opening view)")
                print(f"start → the models' own {live:6.1f} s   (bundled models)")
                again = time.perf_counter()
                page.reload()
                print(f"reload → figure        {drawn(page, CANVAS, again):6.1f} s")
                page.wait_for_timeout(3000)
                report("click → figure", [click(page, n) for n in range(7)])
                photograph(page, address)
                first_minute(page, address, Path(folder))
                switches(page, address)
                four_models(page, address)
                for model in ("vit_base_patch16_224", "swin_tiny_patch4_window7_224"):
                    page.goto(f"{address}/?models=random:{model}&image=china")
                    page.locator(CANVAS).first.wait_for(timeout=120_000)
                    page.wait_for_timeout(3000)
                    report(f"click → figure, {model}", [click(page, n) for n in range(7)])
                    anatomy(page, address, f"random:{model}")
                for model in ("bundled:insects_swin", "random:swin_tiny_patch4_window7_224"):
                    shift(page, address, model)
        browser.close()


def drawn(page, selector: str, since: float) -> float:
    """Seconds until the first of these canvases is painted."""
    page.locator(selector).first.wait_for(timeout=120_000)
    while not page.locator(selector).first.evaluate(LOOK):
        page.wait_for_timeout(20)
    return time.perf_counter() - since


def first_minute(page, address: str, folder: Path) -> None:
    """From what a first visitor does to the first thing that changes on the screen."""
    page.goto(address)
    ready(page)
    page.wait_for_timeout(3000)
    photo = folder / "photo.png"
    Image.effect_noise((80, 60), 90).convert("RGB").save(photo)
    canvas = page.locator(CANVAS).first
    deeds = {
        "First steps": lambda: page.get_by_role("button", name="First steps").click(),
        "click on the image": lambda: click_at(canvas, 1 / 3, 1 / 3),
        "layer": lambda: (page.get_by_role("slider", name="Layer").focus(), page.keyboard.press("ArrowLeft")),
        "upload": lambda: page.locator(".st-key-uploads input[type=file]").set_input_files(photo),
        "another image": lambda: page.locator(".st-key-strip button[title=china]").click(),
        "gallery": lambda: page.locator(".st-key-gallery button").click(),
        "gallery closed": lambda: page.keyboard.press("Escape"),
        "save": lambda: page.get_by_role("button", name="Save").first.click(),
        "add to report": lambda: page.get_by_role("button", name="Add to report").first.click(),
    }
    for name, deed in deeds.items():
        waiting = canvas.evaluate_handle(UNTIL_SEEN)
        deed()
        report(f"first minute: {name} → anything new", [page.evaluate("handle => handle.done", waiting)])
        still(page)
        page.wait_for_timeout(1000)


def switches(page, address: str) -> None:
    """From the click on a page's name until it is drawn and nothing is at work any more; the first time, and again."""
    page.goto(address)
    ready(page)
    for again in (False, True):
        for title in ("Rollout", "Patches", "Attention", "Explore"):
            start = time.perf_counter()
            go_to(page, title)
            page.locator("h1", has_text=title).wait_for(timeout=120_000)
            still(page)
            drawn(page, ANY_CANVAS, start)
            report(f"page → {title}, settled{', again' if again else ''}", [1000 * (time.perf_counter() - start)])


def four_models(page, address: str) -> None:
    names = "&".join(f"models=bundled:insects_{each}" for each in ("vit", "deit", "swin", "cnn"))
    start = time.perf_counter()
    page.goto(f"{address}/explore?{names}&image=china")
    drawn(page, CANVAS, start)
    still(page)
    report("four models → figures, settled", [1000 * (time.perf_counter() - start)])
    page.wait_for_timeout(2000)
    report("click → figure, four models", [click(page, n) for n in range(7)])


def photograph(page, address: str) -> None:
    """A click on a patch, and on a head of the grid beside it, until the large picture is another, of the photographs'
    model: on the first page, on Explore's attention, and on Attention."""
    for path in ("", "explore?image=china&shows=attention", "attention?image=china"):
        page.goto(f"{address}/{path}")
        page.locator(HEADS).first.wait_for(timeout=120_000)
        still(page)
        name = path.partition("?")[0] or "first page"
        report(f"{name}: click on a patch → figure", [click(page, n, ANY_CANVAS) for n in range(7)])
        heads = [click(page, n, ANY_CANVAS, HEADS) for n in range(7)]
        report(f"{name}: click on a head → figure", heads)


def anatomy(page, address: str, model: str) -> None:
    """Sliders that the server answers: no model runs for the first, one layer is taken apart for the second. Those that
    the browser turns are in `played`."""
    for path, widget in (("patches?patches_view=Token+norms+by+layer", "block"),):
        page.goto(f"{address}/{path}&models={model}&image=china")
        page.locator(ANY_CANVAS).first.wait_for(timeout=120_000)
        page.wait_for_timeout(3000)
        times = [slider(page, key, widget, ANY_CANVAS) for key in ("ArrowRight", "ArrowLeft") * 3]
        report(f"slider → figure, {path.split('?')[0]}, {model.removeprefix('random:')}", times)


def shift(page, address: str, model: str) -> None:
    """The six steps of the shift, forwards and backwards, and a click on another window's token."""
    page.set_viewport_size({"width": 1440, "height": 1300})
    page.goto(f"{address}/swin?models={model}&image=flower&swin_view=Shift")
    page.locator(ANY_CANVAS).first.wait_for(timeout=120_000)
    page.wait_for_timeout(5000)
    nav, canvas = (page.locator(each).first.element_handle() for each in ("[data-testid='stMain'] nav", ANY_CANVAS))
    times = []
    for step in (1, 2, 3, 4, 5, 4, 3, 2, 1, 0, 5):
        times.append(page.evaluate(STEP, [nav, canvas, step]))
        page.wait_for_timeout(700)
    report(f"step of the shift, {model.partition(':')[2]}", times)
    report(f"click → what the token sees, {model.partition(':')[2]}", [click(page, n, ANY_CANVAS) for n in range(5)])


def report(name: str, times_ms: list[float]) -> None:
    print(f"{name:55} {statistics.median(times_ms):6.0f} ms median, {max(times_ms):.0f} ms at most", flush=True)


def slider(page, key: str, widget: str, canvas: str) -> float:
    page.locator(f".st-key-{widget} input").focus()
    waiting = page.locator(canvas).first.evaluate_handle(UNTIL_CHANGED)
    page.keyboard.press(key)
    elapsed = page.evaluate("handle => handle.done", waiting)
    page.wait_for_timeout(500)
    return elapsed


def click(page, n: int, which: str = CANVAS, where: str = "") -> float:
    """`which`: whose picture changes. `where`: another canvas, which is clicked."""
    canvas = page.locator(which).first
    box = page.locator(where or which).first.bounding_box()
    page.mouse.move(5, 5)
    page.wait_for_timeout(100)
    waiting = canvas.evaluate_handle(UNTIL_CHANGED)
    page.mouse.click(box["x"] + (0.1 + 0.11 * n) * box["width"], box["y"] + (0.9 - 0.1 * n) * box["height"])
    elapsed = page.evaluate("handle => handle.done", waiting)
    page.wait_for_timeout(500)
    return elapsed
