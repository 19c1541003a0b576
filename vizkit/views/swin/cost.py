"""Cost: global attention against windows, counted, and measured on this device."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from vizkit.analysis.attention.patches import Cost as Counts
from vizkit.analysis.remarks import compute
from vizkit.analysis.swin.cost_curves import beside, exponent
from vizkit.figure.swin.power_laws import power_laws
from vizkit.models.probes.attention_timing import Layer, Timed, machine, time_layer
from vizkit.models.probes.multiply_adds import PUBLISHED_G, multiply_adds
from vizkit.models.probes.swin_stages import hierarchy, is_swin
from vizkit.percent import in_percent
from vizkit.views.blocks import (
    Blocks,
    Chart,
    Heading,
    Job,
    Later,
    Line,
    Metrics,
    Numbers,
    Said,
    Table,
    first_said,
    side_by_side,
)
from vizkit.views.controls import choice, number
from vizkit.views.subject import Subject
from vizkit.views.swin.place import stages
from vizkit.views.view import How, View

BUNDLED = Path(__file__).parents[2] / "bundled"
WINDOWS = (4, 7, 8, 12, 16, 24)
MEASURED_PX = (224, 320, 448, 640, 768, 1024)
PATIENCE_S = 30.0  # a pass that would take longer is left out
LEAST_TOKENS = 6000  # below, the projections and fixed costs hide the growth
MOST_TIMES = 8
Both = tuple[Counts, Counts]
"""What one layer costs with global attention, and with windows."""


def sides(of: Sequence[Subject]) -> list[str]:
    """Of windows: the model's own first."""
    swin = bool(of) and is_swin(of[0].loaded)
    own = max(hierarchy(of[0].loaded)[0].blocks[0].window) if swin else WINDOWS[1]
    return [str(own), *(str(side) for side in WINDOWS if side != own)]


class Cost(View):
    """Global attention against windows: counted, and measured on this device."""

    times: int = number(
        "Image side ×", 1, MOST_TIMES, 1, "How many times the model's own image side.", key="cost_times"
    )
    stage: str | None = choice("Layer of stage", stages, key="cost_stage")
    window: str | None = choice("Window M", sides, "Tokens on a side; the model's own stands first.", key="cost_window")

    alone = True
    overlays = False
    how = How(
        "The projections cost the same in both (first term). Global attention compares every token with every "
        "other, so twice the side of the image is sixteen times the work; with windows it is four times. The exponents "
        "are the slopes of the lines: 1 is linear in the number of tokens, 2 is quadratic.",
        r"\begin{aligned} \Omega(\mathrm{MSA}) &= 4hwC^2 + 2(hw)^2C \\ "
        r"\Omega(\mathrm{W\text{-}MSA}) &= 4hwC^2 + 2M^2hwC \end{aligned}",
        "MLPs, the roll and the mask, padding in the formula, or what another machine makes of it. Attention "
        "weights, which are no parameters, are stored only by code that writes them out; fused kernels, as in the "
        "measured layer, do not.",
        "Liu et al. 2021, eq. 1 and 2, table 1",
    )

    def title(self, of: Subject) -> str:
        return f"Cost of one layer, global and in windows of {self.side(of)}"

    def side(self, of: Subject) -> int:
        return int(self.window or sides([of])[0])

    def show(self, of: Subject) -> Blocks:
        every = hierarchy(of.loaded)
        stage, side = every[min(int(self.stage or 1), len(every)) - 1], self.side(of)
        stride, own = round(stage.tokens.stride), max(of.loaded.preprocessing.size_hw)
        counts = {own * n: beside(own * n, stride, stage.channels, stage.heads, side) for n in range(1, MOST_TIMES + 1)}
        size = own * self.times
        whole, cut = counts[size]
        words = f"global attention at {size} × {size} pixels"
        saved = compute.saved(cut.attention, whole.attention, "multiply–adds", words, f"Attention in windows of {side}")
        yield Said(
            first_said(saved)
            or f"At {size} × {size} pixels one window of {side} × {side} holds all {whole.tokens:,} "
            "tokens, so both cost the same."
        )
        yield Metrics(
            (
                ("Tokens", f"{whole.tokens:,}", f"{cut.grid[0]} × {cut.grid[1]} at {size} × {size} px"),
                ("Multiply–adds, global", short(whole.attention), ""),
                ("Multiply–adds, windows", short(cut.attention), f"{whole.attention / cut.attention:.1f} × less"),
                ("Attention weights, global", bytes_of(whole), "no parameters"),
                (
                    "Attention weights, windows",
                    bytes_of(cut),
                    f"{whole.weight_bytes / cut.weight_bytes:,.1f} × less",
                ),
            )
        )
        names, timed = ("global", f"windows of {side}"), Layer(stride, stage.channels, stage.heads)
        attention = by_formula(counts, names, size, "attention", "Attention of one layer", "multiply–adds")
        weights = by_formula(counts, names, size, "weight_bytes", "Its attention weights", "bytes, float32")
        yield side_by_side(attention, weights)
        yield side_by_side(measuring(of, timed, side), whole_model(of))
        ways = dict(zip(("global", "windows"), zip(*counts.values(), strict=True), strict=True))
        yield Numbers(
            lambda: (
                {"side_px": list(counts), "tokens": [each.tokens for each in ways["global"]]}
                | {
                    f"{name}_{kind}": [getattr(each, kind) for each in costs]
                    for name, costs in ways.items()
                    for kind in ("attention", "weight_bytes")
                }
            )
        )


# ---- by formula ------------------------------------------------------------------------------------------------------
def by_formula(counts: Mapping[int, Both], names: Sequence[str], size: int, kind: str, title: str, unit: str) -> Chart:
    """Both lines against the side of the image, at which the chosen one is marked."""
    tokens = [whole.tokens for whole, _ in counts.values()]
    lines = {}
    for way, name in enumerate(names):
        costs = [float(getattr(both[way], kind)) for both in counts.values()]
        lines[name] = (np.array(list(counts)), np.array(costs), exponent(tokens, costs))
    figure = power_laws(lines, "image side (px)", unit, title, chosen=size)
    return Chart(figure, f"{title}: {unit} against the side of the image")


def short(count: int) -> str:
    return f"{count / 1e9:,.2f} G" if count >= 1e9 else f"{count / 1e6:,.1f} M"


def bytes_of(counts: Counts) -> str:
    power = min(max(0, int(np.log2(counts.weight_bytes)) // 10 - 1), 2)
    return f"{counts.weight_bytes / 2 ** (10 * power + 10):,.1f} {('KiB', 'MiB', 'GiB')[power]}"


# ---- measured --------------------------------------------------------------------------------------------------------
def measuring(of: Subject, timed: Layer, side: int) -> Later:
    """Times of this machine when somebody has measured, else those that come with vizkit."""
    keys = [("attention time", timed, size, window) for size in MEASURED_PX for window in (side, None)]

    def work(progress: Callable[[int, int], None]) -> int:
        """Small images first; global attention stops where the next size would take too long."""
        device, last = "cuda" if torch.cuda.is_available() else "cpu", None
        for done, key in enumerate(keys):
            _, _, size, window = key
            progress(done, len(keys))
            if window is None and last is not None and last.seconds * (size / last.size_px) ** 4 > PATIENCE_S:
                continue
            time: Timed = of.kept(key, partial(time_layer, timed, size, window, device))
            last = time if window is None else last
        return len(keys)

    def show(results: Mapping[Any, Any]) -> Blocks:
        here = [time for key in keys if (time := of.find(key)) is not None]
        if here:
            title = "Its time, measured here"
            words = f"{timed.channels} channels, {timed.heads} heads, tokens of {timed.stride_px} pixels; {machine()}"
        else:
            title, (here, words) = "Time of a layer of Swin-T", shipped()
        yield from times(here, title, words, complete=bool(results) or of.find(keys[0]) is None)

    job = Job(("attention times", timed, side), "One layer, global and in windows", work)
    return Later(of, (job,), show, "Measure on this machine", only_asked=True)


def shipped() -> tuple[list[Timed], str]:
    """What `python -m benchmarks windows` measured, and where."""
    record = json.loads((BUNDLED / "attention_times.json").read_text(encoding="utf-8"))
    layer = record["layer"]
    words = (
        f"Not this model: {layer['channels']} channels, {layer['heads']} heads, tokens of {layer['stride_px']} pixels, "
        f"as in the first stage of Swin-T; {record['machine']}. These times come with vizkit"
    )
    return [Timed(**time) for time in record["times"]], words


def times(measured: list[Timed], title: str, words: str, *, complete: bool) -> Blocks:
    """`complete`: half measured, another exponent comes out."""
    lines = {}
    for side in sorted({time.window for time in measured}, key=lambda side: side is not None):
        points = sorted((time for time in measured if time.window == side), key=lambda time: time.tokens)
        large = [time for time in points if time.tokens >= LEAST_TOKENS] or points
        whole = len(large) > 1 and complete
        fit = exponent([time.tokens for time in large], [time.seconds for time in large]) if whole else None
        sizes, seconds = ([getattr(time, name) for time in points] for name in ("size_px", "seconds"))
        name = "global" if side is None else f"windows of {side}"
        lines[name] = (np.array(sizes), 1e3 * np.array(seconds), fit)
    figure = power_laws(lines, "image side (px)", "milliseconds", title, dots=True)
    yield Chart(figure, "Measured time of one layer against the side of the image")
    yield Line(f"{words}. The exponent is fitted to images of {LEAST_TOKENS:,} tokens and more where there are any.")


# ---- the whole model -------------------------------------------------------------------------------------------------
def whole_model(of: Subject) -> Blocks:
    counted, (height, width) = of.made(multiply_adds, of.loaded), of.loaded.preprocessing.size_hw
    parts = {"one image": counted.total, "attention layers": sum(counted.attention)}
    parts |= {f"those of stage {number}": count for number, count in enumerate(counted.attention, 1)}
    parts |= {"QKᵀ and AV": counted.products}
    published = PUBLISHED_G.get(of.loaded.name)
    yield Heading(f"The whole model: {of.name} at {width} × {height} pixels, counted")
    yield Table(
        tuple(
            {"": part, "multiply–adds": short(count), "share": in_percent(count / counted.total)}
            for part, count in parts.items()
        ),
        "Multiply–adds of the whole model",
        "The rest are MLPs, mergings, patches and head." + (f" Published: {published} G." if published else ""),
    )
