"""How many colours the maps of every view use, of 16, before and after the scales of figure/scales.py, and what each
view costs at first sight: docs/colours.md.

Before: from 0 to a map's own largest value, computed from the same values in the same run."""

import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

PAGE = Path(__file__).parents[2] / "docs" / "colours.md"
RANDOM = "random:"
MODELS = ("bundled:photographs_vit", "bundled:insects_vit", "bundled:insects_swin", f"{RANDOM}vit_base_patch16_224")
VIEWS = (
    "explore",
    "rollout",
    "relevance",
    "compare-maps",
    "walk-through",
    "head-statistics",
    "position-similarity",
    "flow",
    "window-attention",
)
PHOTOGRAPHS = 5
FEW, APART = 0.1, 2.0
MANY = 30_000_000  # parameters; beyond them Relevance, which ranks its maps by hundreds of passes, takes too long
HEAD = """# Colours that maps use

Written by `python -m benchmarks colours`. Of 16 equal steps of its scale a map uses e to the entropy of the
histogram of its values: 1 is a single colour, 16 all of them as often. Measured are all maps that a view shows as
it opens, large and small, on {count} photographs. Before: from 0 to the map's own largest value. A map that has all
but nothing on a few places needs few colours on any scale, and an even one has none to show; so maps with a
structure stand by themselves: their values are spread over at least a tenth of the places (e to the entropy of the
shares of their magnitudes), and of shares the 95th percentile is at least twice the 5th. Relevance is left out of
the largest model, whose maps it ranks for minutes.

| view | model | maps | before, median | after, median | structured | before, median | after, median | least |
|---|---|---|---|---|---|---|---|---|
"""

EFFORT = """
## What the first sight of a view costs

Of every view that reads an image and a model, on {model} and the photograph {picture}: seconds from its settings to
its blocks, everything that is computed in them included, with the model open and nothing known of the picture; and
what it saves at first sight, as a picture and as numbers. Views that take others' place for a model that they do not
fit are left out.

| view | computed, s | .png, kB | .npz, kB |
|---|---|---|---|
"""


def run() -> None:
    import vizkit
    from vizkit.datasets.photographs import NAMES, picture
    from vizkit.views.subject import Subject

    chosen, lines = NAMES[:PHOTOGRAPHS], list[str]()
    for source in MODELS:
        loaded = vizkit.load(source.removeprefix(RANDOM), device="cpu", pretrained=not source.startswith(RANDOM))
        found = defaultdict(list)
        for name in chosen:
            of = Subject(lambda loaded=loaded: loaded, picture(name), model=source)
            for view in VIEWS if loaded.parameters < MANY else (each for each in VIEWS if each != "relevance"):
                found[view] += list(counted(view, of))
        made = [line(view, source, each) for view, each in found.items() if each]
        print(*made, sep="\n", flush=True)
        lines += made
    text = HEAD.format(count=len(chosen)) + "\n".join(sorted(lines)) + "\n"
    costs = EFFORT.format(model=MODELS[0], picture=chosen[0]) + "\n".join(efforts(MODELS[0], chosen[0])) + "\n"
    PAGE.write_text(text + costs, encoding="utf-8")


def efforts(source: str, picture: str) -> Iterator[str]:
    """A line for every view, as it opens; the model's first trace, which all need, has been made before."""
    import vizkit
    from vizkit.datasets import photographs
    from vizkit.traces import NotApplicable
    from vizkit.views import VIEWS, class_of

    loaded, rgb = vizkit.load(source, device="cpu"), photographs.picture(picture)
    vizkit.show("explore", loaded, rgb)
    for name, entry in sorted(VIEWS.items()):
        if entry.reads != "picture and models" or class_of(name).together:
            continue
        begin = time.perf_counter()
        try:
            showing = vizkit.show(name, loaded, rgb)
        except NotApplicable:
            continue
        computed_s = time.perf_counter() - begin
        with tempfile.TemporaryDirectory() as folder:
            sizes_kb = []
            for suffix in ("png", "npz"):
                path = Path(folder) / f"view.{suffix}"
                showing.save(path)
                sizes_kb.append(path.stat().st_size / 1000)
        line = f"| {name} | {computed_s:.2f} | {sizes_kb[0]:,.0f} | {sizes_kb[1]:,.0f} |"
        print(line, flush=True)
        yield line


def counted(view: str, of) -> Iterator[tuple[float, float, bool]]:
    """(colours before, now, whether it has a structure) of every map on the sheet of a view; none where it has no
    meaning for the model."""
    from vizkit.figure.saved.plate import Overlay
    from vizkit.figure.saved.single import Captions
    from vizkit.figure.scales import LINEAR, OWN, between, colours_used
    from vizkit.hosts.paper import plate
    from vizkit.traces import NotApplicable
    from vizkit.views import class_of

    try:
        marks = plate(class_of(view)(), [of], Captions("", (), (), {})).marks
    except NotApplicable:
        return
    for mark in marks:
        if isinstance(mark, Overlay) and max(mark.opacities) > 0 and np.ptp(mark.places) > 0:
            values, magnitudes = mark.places, np.abs(mark.places).ravel()
            before = between(-magnitudes.max(), magnitudes.max(), signed=True) if mark.scale.signed else OWN
            shares = magnitudes[magnitudes > 0] / magnitudes.sum()
            spread = float(np.exp(-(shares * np.log(shares)).sum())) >= FEW * values.size
            low, high = np.percentile(magnitudes, (5, 95))
            structured = spread and (mark.scale.kind == LINEAR or high >= APART * low)
            yield colours_used(before.positions(values)), colours_used(mark.scale.positions(values)), bool(structured)


def line(view: str, source: str, found: list[tuple[float, float, bool]]) -> str:
    structured = [each for each in found if each[2]]
    parts = [f"{len(found)} | {medians(found)}", f"{len(structured)} | {medians(structured)}"]
    least = f"{min(after for _, after, _ in structured):.1f}" if structured else "–"
    return f"| {view} | {source} | {' | '.join(parts)} | {least} |"


def medians(found: list[tuple[float, float, bool]]) -> str:
    """Before and after."""
    if not found:
        return "– | –"
    before, after, _ = zip(*found, strict=True)
    return f"{statistics.median(before):.1f} | {statistics.median(after):.1f}"
