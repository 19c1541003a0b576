"""The view Lenses: the model's own head after every layer, on what it reads, and on every patch."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from vizkit.analysis.attribution.logit_lens import frequent, runner_up
from vizkit.analysis.remarks.interventions import of_lens, of_patches
from vizkit.figure.charts import MOST_MARKED, curves, heat_map
from vizkit.figure.palette import class_colours
from vizkit.figure.patch_cells import class_cells, share_cells
from vizkit.image import Picture, data_url, prepare, unprepare
from vizkit.ui import reading
from vizkit.ui.export import npz_of
from vizkit.ui.pages.intervene import lens_norms
from vizkit.ui.session import cached, saved
from vizkit.ui.session.explained import Request
from vizkit.ui.session.shown import Shown, keep_valid
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.class_choice import choose, in_words, request_for
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.models.probes.lenses.logit_lens import Lens

MOST_NAMED = 6
CLASS, SHARE, NORM = "its class", "the probability", "its norm"


def view(page: Page) -> None:
    shown = page.focus
    lens = lens_of(shown, page.picture)
    depth = len(lens.logits)
    keep_valid("lens_layer", range(1, depth + 1))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        request = request_for(shown, page.picture, choose([shown]))
        layer = int(st.slider("After layer", 1, max(depth, 2), depth, key="lens_layer", bind="query-params", width=240))
        kind = st.segmented_control("Each patch shows", [CLASS, SHARE, NORM], default=CLASS, required=True,
                                    key="lens_map", bind="query-params")  # fmt: skip
    layer = min(layer, depth)
    if kind == NORM:
        lens_norms.show(shown, page.picture, layer)
        return
    left, right = st.columns(2)
    with left:
        st.markdown(in_words(request))
        lines = by_layer(request, lens, layer)
        badge(lens.error)
    with right:
        st.markdown(f"**Every patch after layer {layer}**")
        shares = patches(request, layer, kind == CLASS)
    keep(request, lens, layer, lines, shares)
    reading.how(
        "The model's last normalisation and its head are put after every layer, as if it ended there. On the left they "
        f"read {lens.read}, as they always do; on the right every patch by itself, in its place. Hover a patch for its "
        "class and probability.",
        r"p_l = \mathrm{softmax}\left(W\,\mathrm{LN}(x_l)\right)",
        "what the layer computes with: earlier layers may write in another code, which the last head does not read.",
        "nostalgebraist 2020",
    )


def lens_of(shown: Shown, picture: Picture) -> "Lens":
    from vizkit.models.probes.lenses.logit_lens import logit_lens

    def make() -> "Lens":
        with cached.device_lock():
            return logit_lens(shown.loaded, shown.trace)

    return cached.made(shown.source, picture, shown.loaded, ("logit lens",), make)


def said_by_patches(shown: Shown, picture: Picture, layer: int) -> "Tensor":
    """The logits of every patch, (row, column, label), after a layer from 1."""
    from vizkit.models.probes.lenses.logit_lens import patch_logits

    def make() -> "Tensor":
        with cached.device_lock():
            return patch_logits(shown.loaded, shown.trace, layer - 1)

    return cached.made(shown.source, picture, shown.loaded, ("patch lens", layer), make)


def badge(error: float, what: str = "after the last layer: logits") -> None:
    st.caption(f":green[:material/verified: {reading.within(what, error)}]",
               help="The largest difference from the logits of the model itself, for this very picture.")  # fmt: skip


def compared(request: Request) -> list[int]:
    """The class and its rival: the one that was chosen, else the runner-up."""
    values = request.shown.loaded.head.values(request.shown.trace.logits)
    rival = runner_up(values, request.target) if request.against is None else request.against
    return [request.target] if rival is None else [request.target, rival]


def by_layer(request: Request, lens: "Lens", layer: int) -> Any:  # noqa: ANN401
    """The probability of the class and of its rival after each layer, and the sentence."""
    loaded, labels, target = request.shown.loaded, compared(request), request.target
    values = loaded.head.values(lens.logits)
    depth = np.arange(1, len(values) + 1)
    # Two classes of one name are two lines.
    lines = {f"{loaded.label(label)}{' ' * at}": (depth, values[:, label].numpy()) for at, label in enumerate(labels)}
    figure = curves(lines, "layer", "probability", mode="lines+markers", marked={float(layer): "dot"})
    for at, colour in enumerate(class_colours(labels, values.shape[1])):  # those of the map
        figure.update_traces(line_color=colour, selector=at)
    figure.update_xaxes(dtick=1 if len(depth) <= MOST_MARKED else None, range=[0.6, len(depth) + 0.4])
    figure.update_yaxes(range=[-0.03, 1.03], tickformat=".0%")
    chart(figure, "lens_by_layer", f"Probability of the answer read off {lens.read} after every layer")
    answers = lens.logits.argmax(-1).tolist()
    remark(of_lens(loaded.label(target), answers, target, values[:, target].tolist(), lens.read))
    return figure


def patches(request: Request, layer: int, classes: bool) -> np.ndarray:
    """The map, and its sentence; gives the probability of the class at every patch."""
    shown, picture, target = request.shown, request.picture, request.target
    loaded = shown.loaded
    values = loaded.head.values(said_by_patches(shown, picture, layer))
    said, shares = values.argmax(-1), values[..., target].numpy()
    pixels = prepare(picture.rgb, loaded.preprocessing)[0]
    seen, size_hw = data_url(unprepare(pixels, loaded.preprocessing)), (pixels.shape[1], pixels.shape[2])
    order = [label for label, _ in frequent(said, MOST_NAMED)]
    if classes:
        named = list(dict.fromkeys([*compared(request), *order]))
        colours = class_colours(named, values.shape[-1])
        legend = [(label, loaded.label(label), colour) for label, colour in zip(named, colours, strict=True)
                  if label in order]  # fmt: skip
        names = [[loaded.label(label) for label in row] for row in said.tolist()]
        figure = class_cells(seen, size_hw, said.numpy(), names, values.amax(-1).numpy(), legend)
        words = f"The likeliest class of every patch after layer {layer}"
    else:
        figure = share_cells(seen, size_hw, shares, loaded.label(target))
        words = f"The probability of {loaded.label(target)} at every patch after layer {layer}"
    chart(figure, "lens_patches", words)
    others = [(loaded.label(label), count) for label, count in frequent(said, 2) if label != target]
    remark(of_patches(loaded.label(target), int((said == target).sum()), said.numel(), layer, others[:1]))
    return shares


def keep(request: Request, lens: "Lens", layer: int, lines: object, shares: np.ndarray) -> None:
    name = request.shown.loaded.label(request.target)
    title = f"Probability of {name} at every patch, after layer {layer}"
    figure = heat_map(shares, "column of patches", "row", title, limit=1.0)
    item = saved.charts_of("Logit lens", (f"{request.shown.name}; read off {lens.read}",), lines, figure)
    numbers = partial(npz_of, logits_by_layer=lens.logits.numpy(), patches=shares)
    save("lenses", {"": item}, saved.NOTHING, {"All layers (NPZ)": numbers})
