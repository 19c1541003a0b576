"""The same image in a Swin and a ViT: where the prediction comes from, and how far each layer attends."""

import streamlit as st
from torch import Tensor

from vizkit.analysis.attention.attention_map import attention_map, layers
from vizkit.analysis.attention.statistics import farthest_px
from vizkit.analysis.remarks import swin
from vizkit.analysis.remarks.remark import Remark
from vizkit.figure.attention.distances import distances
from vizkit.figure.canvas.rows import Rows
from vizkit.image import Picture
from vizkit.models import ModelError, family_of
from vizkit.models.probes.swin_stages import hierarchy, is_swin
from vizkit.traces import NotApplicable
from vizkit.ui import reading
from vizkit.ui.plain import plain
from vizkit.ui.session import cached, chosen, model_names
from vizkit.ui.session.shown import Shown, accepted, attempt, cursor, keep_valid, title
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.known import chip
from vizkit.ui.widgets.query_map import show_map
from vizkit.ui.widgets.remark import remark

WAYS = ("rollout", "last layer")


def view(page: Page) -> None:
    shown, picture = page.focus, page.picture
    candidates = _vits(model_names.knows(shown.source))
    keep_valid("beside_vit", candidates)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        source = st.selectbox(
            "ViT", candidates, key="beside_vit", bind="query-params", format_func=title, width=260,
            help="The ViTs among the models of the sidebar, and the bundled ones.",
        )  # fmt: skip
        way = st.segmented_control(
            "Class token of the ViT", WAYS, default=WAYS[0], required=True, key="beside_way", bind="query-params",
            help="Through all layers, or its attention in the last one (mean of heads). Swin has no class token.",
        )  # fmt: skip
    with st.spinner(f"Running {plain(title(source))} …"):
        result = attempt(source, picture, "patch", cursor())
    other = accepted(source, result)
    if other is None:
        return
    left, right = st.columns(2)
    with left:
        heading(shown, "where the pooled output comes from")
        reading.guarded(pooled, shown, picture, "swin", "rollout")
    with right:
        heading(other, "where the class token attends")
        reading.guarded(pooled, other, picture, "vit", way)
    left, right = st.columns(2)
    top = max(farthest(shown), farthest(other))
    with left:
        reading.guarded(_how_far, shown, picture, "swin", top, "the window's diagonal")
    with right:
        reading.guarded(_how_far, other, picture, "vit", top, "the image's diagonal")
    remark(farther(shown, other, picture))
    reading.how(
        "Above, what each place adds to the output: Swin averages its last tokens, so their rows of rollout are "
        "averaged; a ViT reads its class token. Below, a dot is a head and the line the largest distance that its "
        "layer allows: Swin sees further only by merging, a ViT may attend across the whole image from its first "
        "layer.",
        r"\begin{gathered} \bar d_h = \tfrac1N \textstyle\sum_{ij} w_{ij}\lVert p_i - p_j\rVert_2 \\ "
        r"\le\; \text{stride} \cdot \sqrt{(M_1-1)^2 + (M_2-1)^2} \end{gathered}",
        "which of the two is right, or why they predict it: rollout does not depend on a class. The two models may "
        "see the image in different sizes; distances are in pixels of each one's own input.",
        "Liu et al. 2021; Dosovitskiy et al. 2020, fig. 7 right; Abnar & Zuidema 2020, eq. 1",
    )


def heading(shown: Shown, words: str) -> None:
    st.markdown(f"**{plain(title(shown.source))}**")
    st.caption(words)


def _vits(data: str) -> list[str]:
    """The ViTs among the chosen models, then the bundled ones, first those that know the same `data`."""
    own = [source for source in chosen.sources() if _is_vit(source)]
    bundled = [source for source in model_names.bundled() if source.endswith(("_vit", "_deit"))]
    bundled.sort(key=lambda source: model_names.knows(source) != data)
    return list(dict.fromkeys([*own, *bundled]))


def _is_vit(source: str) -> bool:
    try:
        return family_of(cached.model(source).model) == "vit"
    except ModelError:
        return False


def pooled(shown: Shown, picture: Picture, kind: str, way: str) -> None:
    """The map of what the model's head reads, places only, sum 1; what is left out is written below."""
    if way == "rollout":
        from vizkit.analysis.attribution.rollout import rollout_masses

        trace = shown.trace
        rolled = cached.made(shown.source, picture, shown.loaded, ("pooled rollout",), lambda: rollout_masses(trace))
        places, special, lost, query = rolled.grid, rolled.special, rolled.padding, rolled.query
    else:
        seen = attention_map(layers(shown.trace)[-1], "cls")
        if seen.fallback:
            raise NotApplicable(f"{title(shown.source)} has no class token in its last layer; choose rollout.")
        places, special, lost, query = seen.places, seen.special, seen.padding, "cls"
    named = "mean of the last tokens" if query == "mean" else query
    show_map(f"beside_map_{kind}", for_browser(places, named), shown, picture, "over image", f"{way} of")
    apart = {**{f"[{name}]": share for name, share in special.items()}, **({"padding": lost} if lost > 5e-4 else {})}
    rest = " · ".join(f"{name} {share:.0%}" for name, share in apart.items())
    loaded = shown.loaded
    lines = loaded.head.lines(shown.trace.logits, loaded.label, 1) if loaded.trained else []
    answer = [f"answers {plain(name)} ({text}) {chip(loaded)}" for name, text in lines]
    if answer or rest:
        st.markdown(" · ".join([*answer, *([f"left out of the picture: {rest}"] if rest else [])]))


def for_browser(places: Tensor, query: str) -> Rows:
    """One map as a card reads it: the only row there is."""
    row = (places / places.sum()).reshape(1, -1).numpy()
    return Rows(row, (places.shape[0], places.shape[1]), query_special=(query,))


def caps(shown: Shown) -> list[float]:
    """The largest distance that every attention layer allows, in pixels."""
    if is_swin(shown.loaded):
        stages = hierarchy(shown.loaded, shown.trace.image_size)
        return [farthest_px(block.window, stage.tokens.stride) for stage in stages for block in stage.blocks]
    return [farthest_px(layer.key.grid or (1, 1), layer.key.stride) for layer in layers(shown.trace)]


def farthest(shown: Shown) -> float:
    return max(caps(shown), default=0.0)


def _how_far(shown: Shown, picture: Picture, kind: str, top_px: float, cap: str) -> None:
    height, width = shown.trace.image_size
    counted = cached.statistics(shown.source, picture, shown.loaded)
    figure = distances([layer.distance_px.numpy() for layer in counted], caps(shown), top_px, cap)
    st.markdown(f"**Mean attention distance** in pixels of a {width} × {height} input")
    chart(figure, f"beside_distance_{kind}", "Mean attention distance of every head by layer")


def farther(swin_model: Shown, vit: Shown, picture: Picture) -> Remark | None:
    """Which of the two attends farther in its first layer; both were counted for the charts."""
    first = [cached.statistics(each.source, picture, each.loaded)[0].distance_px.mean() for each in (swin_model, vit)]
    return swin.looks_farther(*map(float, first))
