"""What the view Patching shows around its maps: the two pictures, an opened run, what to save."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from vizkit.figure.charts import curves, heat_map, paired_bars
from vizkit.image import RGB, data_url, prepare, unprepare
from vizkit.ui.export import npz_of
from vizkit.ui.session import saved
from vizkit.ui.session.explained import Request
from vizkit.ui.session.shown import Shown
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.save import save

if TYPE_CHECKING:
    from vizkit.models.probes.interventions.patching import Patched

SHOWN = 4  # classes of an opened run


def pictures(request: Request, name: str, rgb: RGB, made: "Patched | None") -> None:
    """Both at once; what the model says of them as soon as that is known."""
    loaded = request.shown.loaded
    clean, worse = (None, None) if made is None else (made.clean, made.corrupted)
    both = (("Clean", request.picture.rgb, clean), (f"Corrupted: {name}", rgb, worse))
    with st.container(horizontal=True):
        for words, picture, logits in both:
            with st.container(width=165):
                st.image(seen_by(request.shown, picture)[0], width=165)
                if logits is None:
                    st.caption(words)
                    continue
                (label, value), *_ = loaded.head.top(logits)
                st.caption(f"{words}: {loaded.label(label)}, {loaded.head.text(value)}")


def seen_by(shown: Shown, rgb: RGB) -> tuple[str, tuple[int, int]]:
    """The model's input as a data URL, and its size."""
    preprocessing = shown.loaded.preprocessing
    pixels = prepare(rgb, preprocessing)[0]
    return data_url(unprepare(pixels, preprocessing)), (pixels.shape[1], pixels.shape[2])


def opened(request: Request, made: "Patched", layer: int, cell: tuple[int, int]) -> None:
    """The answers of the corrupted run, of the clean one, and with the region put in; all from 0."""
    loaded, (row, column) = request.shown.loaded, cell
    runs = {"corrupted": made.corrupted, "with the region": made.regions[layer, row, column], "clean": made.clean}
    listed = [*dict.fromkeys(index for logits in runs.values() for index, _ in loaded.head.top(logits, SHOWN))][:SHOWN]
    values = {name: loaded.head.values(logits) for name, logits in runs.items()}
    bars = {name: [float(each[index]) for index in listed] for name, each in values.items()}
    title = f"Row {row + 1}, column {column + 1} put in after block {layer + 1}"
    chart(paired_bars([loaded.label(index) for index in listed], bars, "probability", title), "patching_run", title)


def by_block(best: np.ndarray, special: np.ndarray, names: tuple[str, ...]) -> Any:  # noqa: ANN401
    depth = np.arange(1, len(best) + 1)
    lines = {"best region": (depth, best)} | {name: (depth, special[:, at]) for at, name in enumerate(names)}
    figure = curves(lines, "after block", "restored share", mode="lines+markers")
    return figure.update_yaxes(tickformat=".0%")


def head_map(heads: list[np.ndarray]) -> Any:  # noqa: ANN401
    """(layer, head); layers may differ in heads."""
    most = max(map(len, heads))
    grid = np.stack([np.pad(each, (0, most - len(each)), constant_values=np.nan) for each in heads])
    return heat_map(grid, "head", "layer", "What each head restores", signed=True, square=False,
                    x_names=numbered(most), y_names=numbered(len(heads)))  # fmt: skip


def numbered(count: int) -> list[str]:
    return [str(number) for number in range(1, count + 1)]


def keep(
    request: Request,
    name: str,
    made: "Patched",
    lines: object,
    regions: np.ndarray,
    special: np.ndarray,
    heads: list[np.ndarray] | None,
) -> None:
    figure = heat_map(regions.reshape(len(regions), -1), "region, row by row", "after block", "Restored share",
                      signed=True, square=False, limit=1.0)  # fmt: skip
    what = (f"{request.shown.name}; {request.shown.loaded.label(request.target)}; corrupted by: {name}",)
    figures = [lines, figure, *([head_map(heads)] if heads else [])]
    logits = {"clean": made.clean.numpy(), "corrupted": made.corrupted.numpy()}
    of_heads = {"heads": np.concatenate(heads)} if heads else {}
    numbers = partial(npz_of, regions=regions, special=special, **logits, **of_heads)
    item = saved.charts_of("Activation patching", what, *figures)
    save("patching", {"": item}, saved.NOTHING, {"All blocks (NPZ)": numbers})
