"""Every view of every page as a visitor sees it, in one contact sheet for each look: to be looked at, not to be passed.

`python -m benchmarks look [page …] [--to FOLDER]`
"""

import argparse
import shutil
import tempfile
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image, ImageDraw

from tests.browser.conftest import FLAGS, serving
from tests.browser.steps import LONG_MS, still
from vizkit.ui.shell import PAGES
from vizkit.ui.views import package_of

LOOKS = {"1440_light": (1440, 900, "light"), "1440_dark": (1440, 900, "dark"), "390_light": (390, 844, "light")}
MODELS = {"swin": ["bundled:insects_swin"]}  # what a view needs, beside these:
OTHERS = ["bundled:insects_vit", "bundled:insects_swin", "bundled:insects_cnn"]
TILE_PX = 480  # width of a view in the sheet


def run(arguments: list[str]) -> None:
    from playwright.sync_api import expect, sync_playwright

    every = [stem for pages in PAGES.values() for stem, *_ in pages]
    parser = argparse.ArgumentParser(prog="python -m benchmarks look", description=__doc__)
    parser.add_argument("pages", nargs="*", choices=[*every, []], help="only these pages")
    parser.add_argument("--to", type=Path, default=Path("look"), help="folder for the sheets")
    options = parser.parse_args(arguments)
    options.to.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        executable = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        with serving(Path(folder)) as server:
            for name, (width, height, scheme) in LOOKS.items():
                page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
                shots = {}
                for title, address in addresses(options.pages or every):
                    page.goto(f"{server}/{address}")
                    still(page)
                    expect(page.get_by_test_id("stSkeleton")).to_have_count(0, timeout=LONG_MS)
                    still(page)
                    shots[title] = Path(folder) / f"{name}_{len(shots)}.png"
                    page.screenshot(path=str(shots[title]))
                page.close()
                file = options.to / f"{name}.png"
                sheet(shots, TILE_PX if width > TILE_PX else width // 2).save(file)
                print(f"{file}: {len(shots)} views")
        browser.close()


def addresses(stems: list[str]) -> list[tuple[str, str]]:
    """(page and view, address) of every view, with models that it is about."""
    listed = []
    for stem in stems:
        for view in package_of(stem).VIEWS:
            query = {"image": "mayfly nymph", "models": MODELS.get(view.needs, OTHERS), f"{stem}_view": view.title}
            listed.append((f"{stem} · {view.title}", f"{stem}?{urlencode(query, doseq=True)}"))
    return listed


def sheet(shots: dict[str, Path], width: int) -> Image.Image:
    """All of them in rows under their titles."""
    tiles = []
    for title, path in shots.items():
        with Image.open(path) as shot:
            small = shot.convert("RGB").resize((width, round(shot.height * width / shot.width)))
        tile = Image.new("RGB", (width + 8, small.height + 26), "#888888")
        tile.paste(small, (4, 22))
        ImageDraw.Draw(tile).text((6, 4), title, fill="white", font_size=14)
        tiles.append(tile)
    columns = max(1, 2000 // tiles[0].width)
    rows = -(-len(tiles) // columns)
    whole = Image.new("RGB", (columns * tiles[0].width, rows * tiles[0].height), "#888888")
    for index, tile in enumerate(tiles):
        whole.paste(tile, (index % columns * tile.width, index // columns * tile.height))
    return whole
