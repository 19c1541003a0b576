"""The view Feature maps: the strongest channels of any layer of a CNN, what a unit can see and what it is made of."""

from typing import TYPE_CHECKING, Any, cast

import streamlit as st
from torch import Tensor

from vizkit.analysis.convolution.origin import Origin, origin
from vizkit.analysis.remarks import convolution
from vizkit.figure.charts import bars
from vizkit.report.kinds import Channel
from vizkit.traces import NotApplicable
from vizkit.ui import export, reading
from vizkit.ui.pages.convolution.maps_canvas import Drawn, Unit, show, unit_of
from vizkit.ui.session import cached, saved
from vizkit.ui.session.remembered import remembered
from vizkit.ui.session.shown import Shown, keep_valid
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save

if TYPE_CHECKING:
    from vizkit.image import Preprocessing
    from vizkit.models import Loaded
    from vizkit.models.probes.convolution.layers_seen import After, Convolved
    from vizkit.models.probes.convolution.receptive_field import Walk

MOST_MAPS, MOST_SHARES = 32, 8


def view(page: Page) -> None:
    shown = page.focus
    listed = convolutions(page, shown, None)
    if not listed:
        raise NotApplicable(f"{shown.name} has no convolutions.")
    keep_valid("maps_layer", range(1, len(listed) + 1))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        number = int(st.slider("Convolution", 1, max(2, len(listed)), min(4, len(listed)), key="maps_layer",
                               bind="query-params", width=300, disabled=len(listed) < 2))  # fmt: skip
        index = min(number, len(listed)) - 1
        keep_valid("maps_after", listed[index].stages)
        after = st.segmented_control("After the", listed[index].stages, default="convolution", required=True,
                                     key="maps_after", bind="query-params")  # fmt: skip
    layer = convolutions(page, shown, index)[index]
    drawn = strongest(layer, after or "convolution", shown)
    unit = unit_of(drawn)
    channels, rows, columns = layer.shape
    kept = "" if len(drawn.channels) == channels else f"the {len(drawn.channels)} "
    st.caption(f"`{layer.path}` · {channels} channels of {rows} × {columns} · {kept}strongest first (mean size), "
               "each map up to its own largest number")  # fmt: skip
    show("feature_maps", drawn, unit, shown, page.picture)
    made = origin(layer.arguments, unit)
    remark(convolution.made_of(made.channels.tolist(), made.shares.tolist(), made.value))
    left, right = st.columns(2)
    place = f"Channel {unit[0] + 1}, row {unit[1] + 1}, column {unit[2] + 1}"
    with left:
        figure = shares(made)
    with right:
        st.markdown(f"**{place}**")
        through(layer, unit, made)
    shows = Channel(index + 1, unit[0], cast("After", after or "convolution"))
    maps = {name: each.numpy() for name, each in layer.after.items()}
    lines = (f"Model: {shown.name}, {layer.path}", f"Picture: {st.session_state.get('image', '')}", place)
    items = {"Map": saved.item_of(shown, shows),
             "From the layer before": saved.charts_of("What a number is made of", lines, figure)}  # fmt: skip
    save("maps", items, saved.inputs_of(shown, page.picture),
         {"Numbers of all channels (NPZ)": lambda: export.npz_of(**maps)})  # fmt: skip
    reading.how(
        "Every map is one channel: bright or coloured places are where its pattern is. Point at a place to see on the "
        "image which pixels it can depend on; click it to see which channels of the layer before make its number.",
        r"z_c(i, j) = b_c + \sum_{c'} \sum_{m, n} K_{c c'}(m, n)\, x_{c'}(i s - p + m d,\; j s - p + n d)",
        "how strongly each pixel in the frame counts: those in its middle count most (view Receptive field).",
        "Zeiler & Fergus 2014; Araujo et al. 2019",
    )


def convolutions(page: Page, shown: Shown, keep: int | None) -> "list[Convolved]":
    """All convolutions of a pass over the picture, in order; number `keep` with its tensors."""
    from vizkit.models import pixels_of
    from vizkit.models.probes.convolution.layers_seen import seen

    def make() -> "list[Convolved]":
        with cached.device_lock():
            return seen(shown.loaded, pixels_of(shown.loaded, page.picture.rgb), keep).convolved

    return cached.made(shown.source, page.picture, shown.loaded, ("convolved", keep), make)


def strongest(layer: "Convolved", after: str, shown: Shown) -> Drawn:
    maps: Tensor = layer.after[after]  # pyright: ignore[reportArgumentType]
    strength = maps.abs().mean((1, 2))
    order = strength.argsort(descending=True)[:MOST_MAPS]
    walked = walk_of(shown.source, shown.loaded.preprocessing, shown.loaded)
    seen = next((each.seen for each in walked.layers if each.path == layer.path), None) if walked else None
    seen = seen if seen is not None and seen.grid == layer.shape[1:] else None
    return Drawn(f"{layer.path} {after}", maps[order].numpy(), order.tolist(), strength[order].tolist(), seen)


@remembered
def walk_of(source: str, preprocessing: "Preprocessing", _loaded: "Loaded") -> "Walk | None":
    from vizkit.models.probes.convolution.receptive_field import walk

    try:
        return walk(_loaded)
    except NotApplicable:
        return None


def shares(made: Origin) -> Any:  # noqa: ANN401 - a chart, whose class is Plotly's own matter
    """What the channels of the layer before add, the largest first, the others together."""
    order = made.shares.abs().argsort(descending=True)
    first = order[:MOST_SHARES].tolist()
    names = [f"channel {int(made.channels[index]) + 1}" for index in first]
    values = [float(made.shares[index]) for index in first]
    if len(order) > MOST_SHARES:
        names.append(f"{len(order) - MOST_SHARES} others")
        values.append(float(made.shares[order[MOST_SHARES:]].sum()))
    if made.bias:
        names.append("bias")
        values.append(made.bias)
    figure = bars(names, values, "share of the number", "From the layer before")
    chart(figure, "maps_origin", "What every channel of the layer before adds to the number")
    return figure


def through(layer: "Convolved", unit: Unit, made: Origin) -> None:
    """The number after the convolution, the norm and the activation, and the proof of its sum."""
    with st.container(horizontal=True):
        for name, maps in layer.after.items():
            st.metric(f"after the {name}", f"{float(maps[unit]):.3f}".replace("-", "−"), width="content", border=True)
    own = float(layer.after["convolution"][unit])
    off = abs(made.value - own) / max(1.0, abs(own))
    words = f"The shares sum to the model’s own number, {reading.within('here', off).removeprefix('here ')}."
    st.caption(f":green[:material/verified: {words}]" if off <= 1e-4 else f":red[:material/error: {words}]")
