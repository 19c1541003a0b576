"""The Attention page: one head followed by eye, all heads compared, counted, and the mask of a decoder."""

from typing import TYPE_CHECKING

import streamlit as st

from vizkit.image import Picture, prepare, unprepare
from vizkit.ui import reading
from vizkit.ui.pages.attention import walkthrough
from vizkit.ui.session import cached
from vizkit.ui.session.shown import Shown, choose_view, focus_of, keep_valid, one_after_another, side_by_side
from vizkit.ui.sidebar import inputs
from vizkit.ui.widgets import canvases
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.query_map import show_map

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from vizkit.analysis.attention.statistics import Layer
    from vizkit.models.probes.parts import Parts

VIEWS = ("Walk-through", "Explorer", "Statistics", "Masked")


def view(picture: Picture, sources: list[str]) -> None:
    chosen = choose_view("attention_view", VIEWS)
    if chosen == "Masked":
        masked()
    elif chosen == "Statistics":
        statistics(picture, sources)
    else:
        one_model(picture, sources, chosen == "Explorer")


@st.fragment
def one_model(picture: Picture, sources: list[str], explore: bool) -> None:
    found = one_after_another(picture, sources)
    if not found:
        return
    one = focus_of(found)
    reading.guarded(explorer if explore else walkthrough.follow, one, picture)


# ---- explorer --------------------------------------------------------------------------------------------------------
def explorer(one: Shown, picture: Picture) -> None:
    from vizkit.analysis.attention.fusion import fuse
    from vizkit.analysis.attention.value_weighted import value_weighted
    from vizkit.traces import NotApplicable

    parts, _ = walkthrough.chosen_parts(one, picture)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        fusion = st.segmented_control("Heads", ["mean", "max", "min"], default="mean", required=True, key="fusion")
        weighted = st.toggle(
            "Weigh by values", key="value_weighted", help="‖α f(x)‖: a large weight on a short vector moves little."
        )
    weights = parts.weights
    if weighted:
        if not parts.plain:
            raise NotApplicable(
                "This layer normalises or gates its heads before the projection; the norm has no meaning."
            )
        weights = value_weighted(parts.weights, parts.value, parts.out_weight)
    fused = fuse(weights, fusion if fusion in ("max", "min") else "mean")
    left, right = st.columns([2, 3])
    with left:
        st.caption(walkthrough.name_of_layer(parts))
        show_map(
            "explorer_map", canvases.rows_for_browser(fused, parts), one, picture, "over image", "Fused attention of"
        )
    with right:
        from vizkit.figure.attention.matrix import matrix

        thumbs = patches_of(one, picture, parts)
        picture_of = matrix(
            fused.numpy(), [thumbs[i] for i in parts.query_ids.tolist()], [thumbs[i] for i in parts.key_ids.tolist()]
        )
        st.image(picture_of, alt="Attention matrix with its patches on the axes", width="stretch")
        st.caption(f"queries down, keys across · largest {float(fused.max()):.3g}")
    canvases.mosaic("attention_mosaic", one.trace, one.query, int(st.session_state["layer"]) - 1, None, False)
    reading.how(
        "Each row of the matrix belongs to the patch at its left end and says what that patch takes from every other. "
        "Max shows what any head sees, min what all agree on; weighing by values shrinks what hands on little.",
        r"\lVert \alpha_{ij} f(x_j) \rVert, \quad f(x) = (xW_V + b_V)\,W_O^h",
        "what the residual connection and the MLP add.",
        "Vaswani et al. 2017; Kobayashi et al. 2020, eq. 5",
    )


def patches_of(one: Shown, picture: Picture, parts: "Parts") -> "dict[int, np.ndarray | str]":
    """What stands on the axes for every token id: its pixels, its special name, or a dash for padding."""
    from vizkit.geometry import pixel_box

    seen = unprepare(prepare(picture.rgb, one.loaded.preprocessing)[0], one.loaded.preprocessing)
    found: dict[int, np.ndarray | str] = {-1: "-"}
    for token in {*parts.query_ids.tolist(), *parts.key_ids.tolist()} - {-1}:
        box = pixel_box(parts.tokens, token, seen.shape[:2])
        if box is None:
            found[token] = parts.tokens.special[token] if token < len(parts.tokens.special) else "?"
        else:
            x0, y0, x1, y1 = (round(edge) for edge in box)
            found[token] = seen[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)]
    return found


# ---- statistics ------------------------------------------------------------------------------------------------------
def statistics(picture: Picture, sources: list[str]) -> None:
    uploads, _ = inputs.read_uploads()
    choices = ["this image", *([f"your {len(uploads)} images"] if len(uploads) > 1 else []), "the samples"]
    keep_valid("statistics_over", choices)
    over = st.segmented_control("Over", choices, default=choices[0], required=True, key="statistics_over")
    pictures = {"this image": [picture], "the samples": [inputs.sample(name) for name in inputs.samples()]}
    chosen = pictures.get(over or "this image", list(uploads.values()))
    for index, (column, one) in enumerate(side_by_side(picture, sources)):
        with column:
            reading.guarded(statistics_one, index, one, chosen)
    reading.how(
        "A dot is a head. Distance: how far a patch looks on average, in pixels; trained ViTs mix near and far heads "
        "in the first layers and look far in the last, a Swin cannot look beyond its window. Entropy: 0 looks at one "
        "token, 1 at all alike. Neither large nor small is better.",
        r"\bar d_h = \tfrac1N \sum_i \sum_j w_{ij}\lVert p_i - p_j\rVert_2, \quad "
        r"H = -\tfrac1N\sum_i\sum_j A_{ij}\log A_{ij}",
        "what is done with what is seen.",
        "Dosovitskiy et al. 2020, fig. 7 right; weights to special tokens are taken out and rows renormalised",
    )


def statistics_one(index: int, one: Shown, pictures: list[Picture]) -> None:
    from vizkit.analysis.attention.statistics import spread
    from vizkit.figure.charts import dots_by_depth

    bar = st.progress(0.0, f"{len(pictures)} images") if len(pictures) > 1 else None
    counted: list[tuple[Layer, ...]] = []
    for done, picture in enumerate(pictures):
        counted.append(cached.statistics(one.source, picture, one.loaded))
        if bar:
            bar.progress((done + 1) / len(pictures), f"{done + 1} of {len(pictures)} images")
    if bar:
        bar.empty()
    mean, deviation = spread(counted)
    whiskers = len(pictures) > 1

    def dots(name: str, pick, label: str) -> None:  # noqa: ANN001
        values = [pick(layer).numpy() for layer in mean]
        off = [pick(layer).numpy() for layer in deviation] if whiskers else None
        chart(
            dots_by_depth(values, label, name, spread=off),
            f"statistics_{index}_{name}",
            f"{name} of every head by layer",
        )

    dots("Mean attention distance", lambda layer: layer.distance_px, "pixels")
    dots("Entropy", lambda layer: layer.entropy, "H / log N")
    for special in mean[0].special:
        if all(special in layer.special for layer in mean):
            dots(f"Paid to [{special}]", lambda layer, name=special: layer.special[name], "share")
    if any(float(layer.padding.max()) > 0 for layer in mean):
        dots("Lost to padding", lambda layer: layer.padding, "share")
    dots("Paid to itself", lambda layer: layer.itself, "share")
    st.caption(f"{len(pictures)} images, whiskers: standard deviation" if whiskers else "1 image")


# ---- masked ----------------------------------------------------------------------------------------------------------
def masked() -> None:
    import torch

    from vizkit.analysis.attention.walkthrough import SENTENCE, SENTENCE_WEIGHTS, causal
    from vizkit.figure.charts import heat_map

    weights: Tensor = torch.tensor(SENTENCE_WEIGHTS)
    names = [f"{i + 1} {word}" for i, word in enumerate(SENTENCE)]
    left, right = st.columns(2)
    for column, values, name, key in (
        (left, weights, "An encoder: every word sees every word", "encoder"),
        (right, causal(weights), "A decoder: no word sees what comes after it", "decoder"),
    ):
        figure = heat_map(
            values.numpy(), "key", "query", name, x_names=names, y_names=names, digits=3, height=420, limit=1.0
        )
        with column:
            chart(figure, f"masked_{key}", f"Weights of six words, {name}")
    reading.how(
        "Left, the six words of a sentence look at each other; every row sums to one. Right, a mask of −∞ above the "
        "diagonal is added before softmax: those weights become exactly 0 and the rest of each row is shared out anew. "
        "A ViT is an encoder: patches have no before and after.",
        r"\mathrm{softmax}(S + M), \quad M_{ij} = \begin{cases} 0 & j \le i \\ -\infty & j > i \end{cases}",
        "a trained model: these are the numbers of a teaching example.",
        "Vaswani et al. 2017, § 3.2.3",
    )
