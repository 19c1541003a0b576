"""Two runs of `vizkit explain` over the same pictures: how alike their maps are, and where they are least."""

from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np

from vizkit.datasets.image_set import DatasetError
from vizkit.decoding import ImageError
from vizkit.explanations import written
from vizkit.explanations.table import Explanations
from vizkit.figure.overlay import overlay
from vizkit.figure.scales import of_evidence
from vizkit.figure.sheet import enlarged
from vizkit.image import RGB
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Blocks, Download, Heading, Line, Numbers, Picture, Said, side_by_side
from vizkit.writing import csv_rows

SHOWN, SIDE_PX, GREY = 4, 224, 128


def compared(one: Explanations, other: Explanations, may: Callable[[str], bool]) -> Blocks:
    """`may`: see `written.source_of`. NotApplicable where they have nothing in common."""
    try:
        methods = written.shared(one, other)
    except ValueError as sentence:
        raise NotApplicable(str(sentence)) from None
    told = {method: written.agreement(one, other, method) for method in methods}
    method, (said, ranked) = next(iter(told.items()))
    yield Said(said)
    for others, _ in [*told.values()][1:]:
        yield Line(others)
    names = one.manifest["model"], other.manifest["model"], "the first less the second"
    yield Line(f"The first run is of {names[0]}, the second of {names[1]}; the least alike images first.")
    rgbs = pictures(one, [key for key, _ in ranked[:SHOWN]], may)
    signs = *(run.manifest["maps"][method]["signed"] for run in (one, other)), True
    for key, alike in ranked[:SHOWN]:
        yield Heading(f"{key}: {alike:.2f}")
        maps = [run.row(key)[f"map_{method}"] for run in (one, other)]
        three = zip((*maps, maps[0] - maps[1]), signs, names, strict=True)
        drawn = (Picture(over(rgbs[key], heat, sign), f"{key}: {name}", name) for heat, sign, name in three)
        yield side_by_side(*drawn)
    rows = [{"image": key, "rank_correlation": alike} for key, alike in ranked]
    yield Download("How alike all are (CSV)", lambda: csv_rows(rows).encode())
    yield Numbers(lambda: {name: [row[name] for row in rows] for name in ("image", "rank_correlation")})


def pictures(run: Explanations, keys: Sequence[str], may: Callable[[str], bool]) -> dict[str, RGB]:
    """As the model saw them, enlarged; grey where they cannot be reached any more."""
    needs = written.needs_of(run)
    found = {key: np.full((*needs.size_hw, 3), GREY, np.uint8) for key in keys}
    with suppress(DatasetError, ImageError, OSError):
        for key, rgb in zip(keys, written.images_as_seen(run, keys, may), strict=True):
            found[key] = rgb
    return {key: enlarged(rgb, SIDE_PX) for key, rgb in found.items()}


def over(rgb: RGB, heat: np.ndarray, signed: bool) -> RGB:
    box = (0.0, 0.0, float(rgb.shape[1]), float(rgb.shape[0]))
    return overlay(rgb, heat, box, scale=of_evidence(heat, signed=signed))
