"""How many colours the maps of every view use, of 16, before and after the scales of figure/scales.py: docs/colours.md.

Before: from 0 to a map's own largest value, computed from the same values in the same run."""

import statistics
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

PAGE = Path(__file__).parents[1] / "docs" / "colours.md"
MODELS = (
    "bundled:photographs_vit",
    "bundled:insects_vit",
    "bundled:insects_swin",
    "random:vit_base_patch16_224",
)
VIEWS = (
    "explore",
    "rollout",
    "relevance",
    "compare-maps",
    "fused-heads",
    "entropy",
    "walk-through",
    "head-statistics",
    "similarity-in-depth",
    "token-norms",
    "learned-positions",
    "position-kinds",
    "drawn-block",
    "direct-attribution",
    "window-attention",
    "swin-reach",
)
PHOTOGRAPHS = 5
STRUCTURE = 4.0  # times: as far apart the 5th and the 95th percentile of magnitudes are, of a map with a structure
HEAD = """# Colours that maps use

Written by `python -m benchmarks colours`. Of 16 equal steps of its scale a map uses e to the entropy of the
histogram of its values: 1 is a single colour, 16 all of them as often. All maps that a view shows as it opens,
on {count} photographs each. Before: from 0 to the map's own largest value. “Structured”: maps whose 95th
percentile is at least {times:g} times their 5th; what is even has no more colours to show.

| view | model | maps | before: median | after: median | least | structured | least of these |
|---|---|---|---|---|---|---|---|
"""


def run() -> None:
    import vizkit
    from vizkit.datasets.photographs import NAMES, picture
    from vizkit.views.subject import Subject

    chosen = NAMES[:PHOTOGRAPHS]
    lines = []
    for source in MODELS:
        loaded = vizkit.load(source, device="cpu")
        found = defaultdict(list)
        for name in chosen:
            of = Subject(lambda loaded=loaded: loaded, picture(name), model=source)
            for view in VIEWS:
                found[view] += list(counted(view, of))
        lines += [line(view, source, each) for view, each in found.items() if each]
        print(*lines[-len(found) :], sep="\n", flush=True)
    PAGE.write_text(HEAD.format(count=len(chosen), times=STRUCTURE) + "\n".join(sorted(lines)) + "\n", encoding="utf-8")


def counted(view: str, of) -> Iterator[tuple[float, float, bool]]:
    """(colours before, now, whether there is a structure) of every map on the sheet of a view; none where it has no
    meaning for the model."""
    from vizkit.figure.saved.plate import Overlay
    from vizkit.figure.saved.single import Captions
    from vizkit.figure.scales import OWN, between, colours_used
    from vizkit.hosts.paper import plate
    from vizkit.traces import NotApplicable
    from vizkit.views import class_of

    try:
        marks = plate(class_of(view)(), [of], Captions("", (), (), {})).marks
    except NotApplicable:
        return
    for mark in marks:
        if isinstance(mark, Overlay) and max(mark.opacities) > 0 and np.ptp(mark.places) > 0:
            values, most = mark.places, float(np.abs(mark.places).max())
            before = between(-most, most, signed=True) if mark.scale.signed else OWN
            low, high = np.percentile(np.abs(values), (5, 95))
            apart = bool(high >= STRUCTURE * low)
            yield colours_used(before.positions(values)), colours_used(mark.scale.positions(values)), apart


def line(view: str, source: str, found: list[tuple[float, float, bool]]) -> str:
    before, after, apart = zip(*found, strict=True)
    least = [value for value, structured in zip(after, apart, strict=True) if structured]
    numbers = (statistics.median(before), statistics.median(after), min(after))
    said = " | ".join(f"{value:.1f}" for value in numbers)
    return f"| {view} | {source} | {len(found)} | {said} | {len(least)} | {f'{min(least):.1f}' if least else '–'} |"
