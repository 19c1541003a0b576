"""The view Two tokens: what the class token and the distillation token of a DeiT predict, attend to and become."""

import numpy as np
import streamlit as st
import torch
from torch import Tensor

from vizkit.analysis.attention.attention_map import attention_map, layers
from vizkit.analysis.attribution.rollout import rollout
from vizkit.analysis.distillation.two_tokens import PUBLISHED, cosines, overlaps
from vizkit.analysis.remarks import distillation
from vizkit.figure.attention.by_layer import by_layer
from vizkit.figure.class_bars import class_bars
from vizkit.figure.overlay import overlay
from vizkit.figure.palette import class_colours
from vizkit.image import Picture, prepare, unprepare
from vizkit.models import pixels_of
from vizkit.models.probes.two_heads import TwoHeads, learned_tokens, two_heads
from vizkit.ui import reading
from vizkit.ui.pages.distillation import agreement
from vizkit.ui.plain import plain
from vizkit.ui.session import cached
from vizkit.ui.session.shown import Shown, keep_valid, title
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import bars, chart
from vizkit.ui.widgets.data_choice import row
from vizkit.ui.widgets.known import chip
from vizkit.ui.widgets.remark import remark

DEFAULT = "bundled:insects_deit"
NAMES = {"cls": "class token", "dist": "distillation token"}
TILE_PX = 104
ROWS = 6  # of bars: the likeliest classes


def view(page: Page) -> None:
    shown = page.focus
    predictions(shown, page.picture)
    agreement.section(shown.source, shown.loaded, [name for name in page.chosen if name != shown.source])
    _insides(shown, page.picture)
    how()


# ---- what they say ---------------------------------------------------------------------------------------------------
def heads_of(shown: Shown, picture: Picture) -> TwoHeads:
    def make() -> TwoHeads:
        with cached.device_lock():
            return two_heads(shown.loaded, pixels_of(shown.loaded, picture.rgb))

    return cached.made(shown.source, picture, shown.loaded, ("two heads",), make)


def predictions(model: Shown, picture: Picture) -> None:
    """Both heads and their mean on this image, as bars in one order."""
    heads = heads_of(model, picture)
    mean = heads.averaged[0].softmax(0)
    shown = mean.argsort(descending=True)[:ROWS].tolist()
    names, colours = [model.loaded.label(i) for i in shown], class_colours(shown, len(mean))
    st.markdown(f"**What each head predicts** · {plain(title(model.source))} {chip(model.loaded)}")
    for column, (name, logits, words) in zip(
        st.columns(3),
        (
            ("class token", heads.cls, "in training its head learns from the labels"),
            (
                "distillation token",
                heads.dist,
                "in training its head learns from the teacher alone, where there is one",
            ),
            ("both averaged", heads.averaged, "the mean of the logits: the model's prediction"),
        ),
        strict=True,
    ):
        values = logits[0].softmax(0)[shown].tolist()
        with column:
            st.markdown(f"**{name.capitalize()}**")
            bars(class_bars(names, values, colours), f"head_{name}", f"{name}: {names[0]} {values[0]:.3f}")
            rest = 1 - sum(values)
            others = f" · {len(mean) - len(shown)} others {rest:.3f}" if len(mean) > len(shown) else ""
            st.caption(f"{words} · first choice **{plain(model.loaded.label(int(logits[0].argmax())))}**{others}")

    labels = [model.loaded.label(i) for i in range(len(mean))]
    remark(distillation.two_heads(heads.cls[0].softmax(0), heads.dist[0].softmax(0), labels))


# ---- what they see and become ----------------------------------------------------------------------------------------
@st.fragment
def _insides(shown: Shown, picture: Picture) -> None:
    st.markdown("**Where each token attends**")
    reading.guarded(attention, shown, picture)
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("**How similar they become**")
        reading.guarded(similarity, shown)
    with right:
        st.markdown("**Rollout of each**")
        reading.guarded(rollouts, shown, picture)


def attention(shown: Shown, picture: Picture) -> None:
    """One layer large, all layers small: the class token above, the distillation token below."""
    recorded = [layer for layer in layers(shown.trace) if {"cls", "dist"} <= set(layer.query.special)]
    shared = overlaps(shown.trace).tolist()
    keep_valid("token_layer", range(1, len(recorded) + 1))
    with st.container(width=320):
        layer = st.slider(
            "Layer", 1, max(2, len(recorded)), len(recorded), key="token_layer", bind="query-params",
            disabled=len(recorded) < 2, help="Large, the mean of this layer's heads.",
        )  # fmt: skip
    chosen = min(int(layer), len(recorded)) - 1
    maps = [{name: attention_map(attention, name) for name in NAMES} for attention in recorded]
    seen = fitted(shown, picture)
    for column, (name, words) in zip(st.columns([2, 2, 1]), NAMES.items(), strict=False):
        map_here = maps[chosen][name]
        others = ", ".join(f"[{token}] {share:.2f}" for token, share in map_here.special.items())
        with column:
            st.image(over(seen, map_here.places), width="stretch", output_format="PNG",
                     caption=f"{words}, layer {chosen + 1} · to {others}", alt=f"Attention of the {words}")  # fmt: skip
    st.caption(
        f"**{shared[chosen]:.0%}** of the attention of this layer goes to the same keys from both. Below, every layer: "
        "the class token above, the distillation token under it."
    )
    tiles = [stacked(*(over(seen, pair[name].places) for name in NAMES)) for pair in maps]
    row(tiles, [f"layer {i + 1} · {share:.0%}" for i, share in enumerate(shared)], TILE_PX)


def fitted(shown: Shown, picture: Picture) -> np.ndarray:
    """The picture as the model sees it, large enough to draw on."""
    seen = unprepare(prepare(picture.rgb, shown.loaded.preprocessing)[0], shown.loaded.preprocessing)
    zoom = max(1, -(-224 // min(seen.shape[:2])))
    return seen.repeat(zoom, 0).repeat(zoom, 1)


def over(seen: np.ndarray, places: Tensor) -> np.ndarray:
    return overlay(seen, places.numpy(), (0.0, 0.0, float(seen.shape[1]), float(seen.shape[0])))


def stacked(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return np.concatenate([above, np.full((8, above.shape[1], 3), 128, np.uint8), below])


def similarity(shown: Shown) -> None:
    start = torch.nn.functional.cosine_similarity(*learned_tokens(shown.loaded), dim=0)
    cosine = torch.cat([start[None], cosines(shown.trace)]).numpy()
    last = len(cosine) - 1
    published = [(0, PUBLISHED[0], "learned tokens of DeiT-B"), (last, PUBLISHED[1], "last layer of DeiT-B")]
    low = min(0.0, float(cosine.min()))
    figure = by_layer({"cosine of the two tokens": cosine}, "cosine", published=published, first=0, reach=(low, 1.0))
    chart(figure, "token_cosine", f"Cosine of the two tokens: {cosine[0]:.2f} at first, {cosine[-1]:.2f} at last")
    st.caption(
        f"Layer 0 are the tokens as they were learned, before any image: **{cosine[0]:.2f}** here, "
        f"{PUBLISHED[0]:.2f} in the paper; after the last layer **{cosine[-1]:.2f}**, in the paper {PUBLISHED[1]:.2f} "
        "(averages over images, Touvron et al. 2021, § 4)."
    )


def rollouts(shown: Shown, picture: Picture) -> None:
    maps = {name: rollout(shown.trace, name) for name in NAMES}
    seen = fitted(shown, picture)
    for column, (name, words) in zip(st.columns(2), NAMES.items(), strict=True):
        with column:
            st.image(over(seen, maps[name]), width="stretch", caption=words, alt=f"Rollout of the {words}",
                     output_format="PNG")  # fmt: skip
    same = float(maps["cls"].minimum(maps["dist"]).sum())
    st.caption(f"**{same:.0%}** is the overlap of the two maps. All layers multiplied, heads averaged.")


def how() -> None:
    reading.how(
        "A distilled DeiT has a second token beside the class token, and a head for it that learned from a teacher "
        "alone; its prediction is the mean of both heads. The two tokens differ at first and become more similar with "
        "depth, as both targets have much in common: what remains is where the teacher differs from the labels.",
        r"z = \tfrac12\,(z_{\text{cls}} + z_{\text{dist}}), \qquad "
        r"\mathcal L = \tfrac12\,\mathrm{CE}(z_{\text{cls}}, y) + \tfrac12\,\mathrm{CE}(z_{\text{dist}}, "
        r"\arg\max z_{\text{teacher}})",
        "why the two differ on this image: attention and rollout show where a token attends, not how it uses it. "
        "DeiT · insects learned softly, at T = 3, the paper's model by hard labels.",
        "Touvron et al. 2021, § 4 and § 5.2, tables 3 and 4; rollout: Abnar & Zuidema 2020",
    )
