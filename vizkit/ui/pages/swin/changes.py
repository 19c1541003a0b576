"""What the shift and the relative positions are good for: the same model and image without them, side by side."""

from dataclasses import replace

import streamlit as st

from vizkit.analysis.attention.attention_map import layers
from vizkit.analysis.attribution.rollout import rollout
from vizkit.analysis.remarks.answers import after_change
from vizkit.analysis.swin.shifted_windows import cut, layout
from vizkit.analysis.swin.total_variation import total_variation
from vizkit.figure.charts import paired_bars
from vizkit.figure.overlay import overlay
from vizkit.image import Picture
from vizkit.models.probes.swin_changes import changed
from vizkit.traces import Trace
from vizkit.ui import reading
from vizkit.ui.pages.swin.place import Place, choose_place
from vizkit.ui.session import cached
from vizkit.ui.session.shown import Shown
from vizkit.ui.views import Page
from vizkit.ui.widgets import canvases
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.known import say
from vizkit.ui.widgets.query_map import show_map
from vizkit.ui.widgets.remark import remark

OFF = ("shift", "relative bias")
SHOWN_CLASSES = 3


def view(page: Page) -> None:
    shown, picture = page.focus, page.picture
    place = choose_place(shown, "block")
    off = st.pills(
        "Switched off", OFF, default=OFF[:1], selection_mode="multi", key="swin_off", bind="query-params",
        help="Shift: every block keeps its windows where the first has them, and nothing is masked. Relative bias: "
        "the place of a key in the window has no influence. All weights stay as they were trained.",
    )  # fmt: skip
    with st.spinner("Running the changed model …"):
        after = _changed_trace(shown, picture, shift=OFF[0] not in off, bias=OFF[1] not in off)
    what = " and ".join(off)
    names = ("as it is", f"without {what}" if what else "nothing switched off")
    if shown.loaded.classifies:
        predictions(shown, after, names)
    st.markdown("**Attention of the marked token in this block**")
    shifts = (place.shift, (0, 0) if OFF[0] in off else place.shift)
    for index, (column, name, trace) in enumerate(zip(st.columns(2), names, (shown.trace, after), strict=True)):
        with column:
            st.caption(name)
            attention(index, shown, picture, place, trace, shifts[index])
    st.caption("The blue outline is the token's window, hatched: what is masked for it.")
    rollouts(shown, picture, after, names)
    reading.how(
        "Left the model as it is, right the same weights with something taken out. Without the shift a token learns of "
        "other windows only through merging; without the bias it cannot distinguish near from far within its own.",
        r"\text{no shift: } s = 0 \text{ everywhere}; \qquad \text{no bias: } \mathrm{softmax}(QK^\top/\sqrt d + M)",
        "how well a model does that was trained without them; this one never learned to. Trained so from the start, "
        "Swin-T had 80.2 % (no shift) and 80.1 % (no positions) on ImageNet instead of 81.3 %.",
        "Liu et al. 2021, table 4",
    )


def _changed_trace(shown: Shown, picture: Picture, *, shift: bool, bias: bool) -> Trace:
    """The trace of the changed model; the model itself is not touched, so other sessions see nothing of it."""
    if shift and bias:
        return shown.trace

    def make() -> Trace:
        from vizkit.models import trace

        with cached.device_lock():
            return trace(changed(shown.loaded, shift=shift, bias=bias), picture.rgb)

    return cached.made(shown.source, picture, shown.loaded, ("switched off", shift, bias), make)


def predictions(shown: Shown, after: Trace, names: tuple[str, str]) -> None:
    if not shown.loaded.trained:
        st.caption("Untrained: its predictions mean nothing, before or after.")
    say(shown.loaded)
    head, logits = shown.loaded.head, (shown.trace.logits, after.logits)
    classes = list(dict.fromkeys(i for both in logits for i in head.listed(both, SHOWN_CLASSES)))
    bars = {name: head.values(both)[classes].tolist() for name, both in zip(names, logits, strict=True)}
    figure = paired_bars([shown.loaded.label(i) for i in classes], bars, "probability", "Prediction")
    figure.update_xaxes(range=[0, 1])
    chart(figure, "off_predictions", "Probability of the likeliest classes with and without the change")
    if head.exclusive and names[1].startswith("without"):
        labels = [shown.loaded.label(i) for i in range(len(after.logits))]
        remark(after_change(head.values(logits[0]), head.values(logits[1]), labels, names[1].capitalize()))


def attention(index: int, shown: Shown, picture: Picture, place: Place, trace: Trace, shift: tuple[int, int]) -> None:
    content = canvases.layer_for_browser(layers(trace)[place.layer], None, shown.query, False)
    windows = layout(place.grid, place.window, shift, pad_first=place.pad_first)
    if content.values.shape[-2] == content.values.shape[-1]:  # of a very large layer only one row is sent
        regions = cut(windows.regions, windows.window).numpy()
        content = replace(content, query_regions=regions, key_regions=regions)
    show_map(f"off_{index}", content, shown, picture, "over image", "Attention of")


def rollouts(shown: Shown, picture: Picture, after: Trace, names: tuple[str, str]) -> None:
    source, loaded = shown.source, shown.loaded
    maps = [
        cached.made(source, picture, loaded, ("swin rollout", name), lambda trace=trace: rollout(trace, "mean"))
        for name, trace in zip(names, (shown.trace, after), strict=True)
    ]
    top = float(max(map_.max() for map_ in maps))
    st.markdown("**Rollout: where the pooled output comes from**")
    for column, name, map_ in zip(st.columns(2), names, maps, strict=True):
        drawn = overlay(picture.rgb, map_.numpy(), shown.box_xyxy, top=top)
        column.image(drawn, alt=f"Rollout, {name}", width="stretch")
        column.caption(name)
    st.caption(f"One scale for both · {total_variation(*maps):.1%} of the rollout lies elsewhere than before")
