"""What references are worth that resemble the image more and less, over 500 unseen pairs."""

import json
from pathlib import Path

import numpy as np

from vizkit.analysis.remarks.super_resolution import of_likeness
from vizkit.datasets.pairs.any_picture import DRAWN
from vizkit.datasets.pairs.drawn import TIMES
from vizkit.figure.charts import bars
from vizkit.figure.palette import OTHERS
from vizkit.views.blocks import Blocks, Chart, Download, Picture, Said, side_by_side
from vizkit.views.subject import Subject
from vizkit.writing import csv_lines

MEASURED = Path(__file__).parents[2] / "bundled" / "super_resolution" / "levels.json"
LEVELS = {
    "same": "same scene moved",
    "kind": "same kind",
    "other": "another kind",
    "picture": "a photograph",
    "shuffled": "its pixels shuffled",
    "noise": "noise",
}
TITLES = LEVELS | {"without": "without reference", "bicubic": "bicubic"}
SCENE, GAP, GREY = 0, 3, 127
EXAMPLES = (
    "One of the scenes: what is given, what it was, and its references: the same scene moved, the same kind, another "
    "kind, a photograph, its pixels shuffled, noise."
)


def worth(of: Subject) -> Blocks:
    """Of drawn scenes that no network has seen, enlarged from 24 to 96 pixels, what each kind of reference adds to the
    same scene enlarged without one; intervals by bootstrap over the scenes (Yang et al. 2020, table of CUFED5 by
    similarity; Efron & Tibshirani 1993)."""
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    rows = {name: row_of(measured["levels"][name]) for name in TITLES}
    gains = {name: (mean, low, high) for name, (_, mean, low, high, _) in rows.items() if name in LEVELS}
    said = of_likeness({TITLES[name]: gain for name, gain in gains.items()}, measured["pairs"])
    mean, low, high = np.array(list(gains.values())).T
    figure = bars([TITLES[name] for name in gains], mean.tolist(), "dB above no reference, with 95 % intervals")
    ends = {"array": high - mean, "arrayminus": mean - low, "thickness": 1.5, "color": OTHERS}
    figure.update_traces(error_x={"type": "data", **ends})
    yield Said(said)
    yield side_by_side(
        Chart(figure, f"What a reference is worth: {said}"),
        Picture(of.made(examples), "A drawn scene and its six references", EXAMPLES),
        widths=(3, 2),
    )
    head = ["reference", "psnr_db", "above_none_db", "low_db", "high_db", "ssim"]
    lines = [head, *([name, *row] for name, row in rows.items())]
    yield Download("Kinds of reference (CSV)", lambda: csv_lines(lines).encode())


def row_of(level: dict) -> tuple[float, float, float, float, float]:
    """PSNR, what it is above no reference with both ends, SSIM; of what is no reference its own is 0."""
    gain = level["gain"]
    return level["psnr"], gain["value"], gain["low"], gain["high"], level["ssim"]


def examples() -> np.ndarray:
    """The small image, the true one, and all references, in two rows."""
    pairs = [DRAWN.pair(SCENE, level=level) for level in LEVELS]
    small, truth = pairs[0].small, pairs[0].truth
    every = [small.repeat(TIMES, 0).repeat(TIMES, 1), truth, *(pair.reference for pair in pairs)]
    framed = [np.pad(rgb, ((0, GAP), (0, GAP), (0, 0)), constant_values=GREY) for rgb in every]
    half = len(framed) // 2
    return np.concatenate([np.concatenate(row, 1) for row in (framed[:half], framed[half:])])[:-GAP, :-GAP]
