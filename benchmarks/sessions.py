"""Many visitors at once: are their pictures right, does memory stay flat, what does one change cost?

Each session drives the real server through Streamlit's own interface for programs (`server.enableAgentApi`, on for this
measurement only). What it gets is compared, number by number, with what the same view gave one session alone.
"""

import json
import os
import random
import shutil
import statistics
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import psutil
import timm
from playwright.sync_api import sync_playwright

from tests.browser.conftest import FLAGS, serving
from tests.images.test_decoding import scan_bomb
from vizkit.ui.shell import PAGES
from vizkit.ui.views import package_of

SESSIONS, CHANGES = 20, 30  # of every session: 600 in all
MODELS = ("bundled:insects_vit", "bundled:insects_deit", "bundled:insects_swin")
IMAGES = ("mayfly nymph", "damselfly nymph", "diving beetle", "flower", "china")
LAYERS = range(1, 7)
GIANT = "random:vit_giant_patch14_224"
WAIT_S = 120
OPTIONS = ("--server.enableAgentApi=true", "--server.agentMaxSessions=1000")
CACHE_GIB = 0.5
WANDERERS = 10
OPENING = ("architecture", "checkpoint_head")  # lists of a dialog that nobody has opened
SLOW = ("Trust", "Heads", "Smallest set", "Robustness", "Cost")  # minutes of one model's work
OTHERS = ("deit_*_patch16_224", "vit_[tsb]???*_patch16_224", "swin_[tsb]*_window7_224", "resnet??", "convnext_[tsb]*")


class Visitor:
    """One session: a page of the app and its widgets."""

    def __init__(self, address: str, model: str, image: str) -> None:
        self.address = f"{address}/_stcore/agent/interact"
        self.snapshot = self.send({"page": "explore", "query_params": {"models": [model], "image": [image]}})
        self.session = self.snapshot["session_id"]

    def change(self, **widgets: Any) -> dict:
        self.snapshot = self.send({"session_id": self.session, "widget_state": widgets})
        return self.snapshot

    def send(self, request: dict) -> dict:
        body = json.dumps(request).encode()
        call = urllib.request.Request(self.address, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(call, timeout=WAIT_S) as answer:
            return json.load(answer)


def elements(node: dict) -> Iterator[dict]:
    yield node
    for child in node.get("children", ()):
        yield from elements(child)


def shown(snapshot: dict) -> tuple[str, ...]:
    """Every card of a page as text: the numbers of its canvas and its words."""
    found = []
    for element in elements(snapshot["tree"]):
        props = element.get("props", {})
        if str(element.get("key", "")).startswith("card"):
            found.append(json.dumps(props.get("data"), sort_keys=True))
        elif element.get("type") in ("caption", "warning", "error", "exception"):
            found.append(str(props.get("body")))
    return tuple(text for text in found if "in use" not in text)  # how much memory the device has left


def alone(address: str) -> dict[tuple[str, str, int], tuple[str, ...]]:
    """What one session sees: (model, image, layer) → its cards."""
    found = {}
    for model in MODELS:
        for image in IMAGES:
            visitor = Visitor(address, model, image)
            for layer in LAYERS:
                found[model, image, layer] = shown(visitor.change(layer=layer))
    return found


def visit(address: str, number: int, expected: dict, changes: int, seconds: list[float], wrong: list[str]) -> None:
    """One visitor among many: another layer at every change, another picture now and then."""
    choice = random.Random(number)
    model, image = choice.choice(MODELS), choice.choice(IMAGES)
    visitor = Visitor(address, model, image)
    layer = 0
    for count in range(changes):
        layer = choice.choice([other for other in LAYERS if other != layer])
        if count % 5 == 4:
            image = choice.choice(IMAGES)
        start = time.perf_counter()
        got = shown(visitor.change(layer=layer, image=image))
        seconds.append(time.perf_counter() - start)
        if got != expected[model, image, layer]:
            wrong.append(f"{model}, {image}, layer {layer}: {[text[:200] for text in got]}")


def at_once(address: str, expected: dict, sessions: int, changes: int) -> tuple[list[float], list[str]]:
    """(seconds of every change, answers that differ from those of a session alone)."""
    seconds: list[float] = []
    wrong: list[str] = []

    def guarded(number: int) -> None:
        try:
            visit(address, number, expected, changes, seconds, wrong)
        except Exception as error:  # a thread's traceback would be lost
            wrong.append(f"session {number}: {error!r}")

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(sessions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seconds, wrong


def resident_mib(address: str) -> float:
    """Memory of the server that listens at this address, with its children."""
    port = int(address.rpartition(":")[2])
    for process in psutil.Process().children(recursive=True):
        if any(c.laddr.port == port and c.status == psutil.CONN_LISTEN for c in process.net_connections("inet")):
            return sum(each.memory_info().rss for each in (process, *process.children(recursive=True))) / 2**20
    raise RuntimeError(f"No child of this process listens on {port}.")


@contextmanager
def hostile(address: str, folder: Path) -> Iterator[dict[str, int]]:
    """While it is open, one session asks for a giant's link and one uploads scan bombs, again and again."""
    count, stop = {"links to a giant": 0, "refused": 0, "scan bombs": 0, "said to be one": 0}, threading.Event()
    # The second has few scans, so that it is decoded, until its time is up.
    bombs = {folder / "endless.jpg": scan_bomb(20_000, (2000, 1500)), folder / "slow.jpg": scan_bomb(79, (7000, 7000))}
    for file, content in bombs.items():
        file.write_bytes(content)

    def giants() -> None:
        while not stop.wait(1):
            text = " ".join(shown(Visitor(address, GIANT, IMAGES[0]).snapshot))
            count["links to a giant"] += 1
            count["refused"] += "VIZKIT_MODEL_GIB" in text

    def uploads() -> None:
        with sync_playwright() as playwright:
            page = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS).new_page()
            while not stop.wait(1):
                page.goto(address)
                page.locator(".st-key-uploads input[type=file]").set_input_files(list(bombs))
                errors = page.locator("[data-testid='stAlert']")
                errors.nth(1).wait_for(timeout=60_000)
                count["scan bombs"] += 2
                count["said to be one"] += sum(
                    "scans" in text or "Decoding" in text for text in errors.all_inner_texts()
                )

    threads = [threading.Thread(target=work) for work in (giants, uploads)]
    for thread in threads:
        thread.start()
    try:
        yield count
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def idle(address: str, sessions: int) -> float:
    """MiB of the server for one more session that looks at a page and does nothing."""
    before = resident_mib(address)
    for number in range(sessions):
        Visitor(address, MODELS[number % len(MODELS)], IMAGES[0])
    return (resident_mib(address) - before) / sessions


def of_every_session_another(folder: Path) -> None:
    """Sessions with a model each, no two the same, all of them left open: models and traces are bounded by the cache,
    not by the sessions that look at them."""
    names = [name for pattern in OTHERS for name in timm.list_models(pattern)]
    os.environ["VIZKIT_CACHE_GIB"] = str(CACHE_GIB)
    with serving(folder, *OPTIONS) as address:
        Visitor(address, MODELS[0], IMAGES[0])
        before, most = resident_mib(address), 0.0
        for name in names:
            Visitor(address, f"random:{name}", IMAGES[0])
            most = max(most, resident_mib(address))
    print(f"{len(names)} sessions, a model each, {CACHE_GIB} GiB for all: {before:,.0f} → at most {most:,.0f} MiB")


def widgets(snapshot: dict) -> Iterator[tuple[str, list]]:
    """(key, values to choose from) of the sliders, switches and lists on a page."""
    for element in elements(snapshot["tree"]):
        props, key = element.get("props", {}), element.get("key")
        if not key or props.get("disabled") or key == "image":
            continue
        if element["type"] == "toggle":
            yield key, [True, False]
        elif element["type"] in ("selectbox", "segmented_control") and key not in OPENING:
            yield key, props["options"]
        elif element["type"] == "slider" and isinstance(props.get("min_value"), int | float):
            low, high, step = props["min_value"], props["max_value"], props.get("step") or 1
            yield key, [low + step * count for count in range(round((high - low) / step) + 1)]


def wander(visitor: Visitor, number: int, changes: int) -> None:
    """One visitor on all pages: ten changes of whatever stands there, then another view, model and picture."""
    choice = random.Random(number)
    stems = [stem for pages in PAGES.values() for stem, *_ in pages if stem not in ("train", "evaluate", "report")]
    views = [(stem, view.title) for stem in stems for view in package_of(stem).VIEWS if view.title not in SLOW]
    for count in range(changes):
        found = list(widgets(visitor.snapshot))
        if count % 10 == 0 or not found:
            stem, title = choice.choice(views)
            query = {"models": choice.sample(MODELS, 2), "image": [choice.choice(IMAGES)], f"{stem}_view": [title]}
            visitor.snapshot = visitor.send({"session_id": visitor.session, "page": stem, "query_params": query})
        else:
            key, values = choice.choice(found)
            visitor.change(**{key: choice.choice(values)})


def wandering(folder: Path) -> None:
    """The same visitors, all pages, for long: memory rises to the budget and stays there."""
    os.environ["VIZKIT_CACHE_GIB"] = str(CACHE_GIB)
    with serving(folder, *OPTIONS) as address, ThreadPoolExecutor(WANDERERS) as threads:
        visitors = [Visitor(address, MODELS[0], IMAGES[0]) for _ in range(WANDERERS)]
        print(f"{WANDERERS} visitors on all pages, {CACHE_GIB} GiB for all: {resident_mib(address):,.0f} MiB", end="")
        for hundreds in range(1, 13):
            each = 100 // WANDERERS
            for done in [threads.submit(wander, v, hundreds * 100 + n, each) for n, v in enumerate(visitors)]:
                done.result()
            print(f", {resident_mib(address):,.0f} after {hundreds}00 changes", end="", flush=True)
    print()


def run() -> None:
    with tempfile.TemporaryDirectory() as name, serving(Path(name), *OPTIONS) as address:
        print(f"\nserver without a visitor: {resident_mib(address):,.0f} MiB")
        expected = alone(address)
        print(f"{len(expected)} views by one session alone: {resident_mib(address):,.0f} MiB")
        at_once(address, expected, SESSIONS, 5)
        for bombs in (False, False, True):
            before, start, count = resident_mib(address), time.perf_counter(), {}
            with hostile(address, Path(name)) if bombs else nullcontext(count) as count:
                seconds, wrong = at_once(address, expected, SESSIONS, CHANGES)
            took = time.perf_counter() - start
            print(
                f"{SESSIONS} sessions: {len(seconds)} changes, {len(wrong)} wrong, median "
                f"{statistics.median(seconds):.2f} s, slowest {max(seconds):.2f} s, {len(seconds) / took:.1f}/s, "
                f"{before:,.0f} → {resident_mib(address):,.0f} MiB {count or ''}",
                flush=True,
            )
            for each in wrong[:3]:
                print("  ", each)
        print(f"one more idle session: {idle(address, 40):.1f} MiB")
    with tempfile.TemporaryDirectory() as name:
        of_every_session_another(Path(name))
    with tempfile.TemporaryDirectory() as name:
        wandering(Path(name))
