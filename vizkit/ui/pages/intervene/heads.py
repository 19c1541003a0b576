"""The view Heads: what every head does and what the answers lose without it, over many pictures."""

import math
from dataclasses import dataclass

import streamlit as st

from vizkit.analysis.attention.head_atlas import HeadAtlas, table
from vizkit.analysis.attention.head_importance import grid_of, rank_correlation
from vizkit.analysis.remarks.interventions import of_behaviour, of_heads
from vizkit.figure.attention.head_grid import head_grid
from vizkit.figure.charts import heat_map
from vizkit.models import EditError
from vizkit.traces import NotApplicable
from vizkit.ui import export, reading
from vizkit.ui.pages.intervene import heads_examples, heads_measured, heads_table
from vizkit.ui.session import saved
from vizkit.ui.session.address import put
from vizkit.ui.session.shown import Shown, keep_valid
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save
from vizkit.views.rules import below, tuple_of

CHOSEN = "_heads_chosen"


@dataclass(frozen=True)
class What:
    """What is shown of every head: its name in the list and in the address, and a line with its unit."""

    name: str
    line: str
    share: bool = False


WHATS = {
    "lost": What("what the answer loses", "what log p of the answer loses without the head, nats"),
    "flipped": What("answers flipped", "share of pictures whose answer becomes another", True),
    "estimate": What("gradient's estimate", "the gradient's estimate |∂ log p / ∂ξ|, nats"),
    "distance": What("how far it looks", "distance from a patch to what it attends to, patches"),
    "entropy": What("how evenly it looks", "entropy of the weights, H / log N", True),
    "own": What("own patch", "weight of a patch on itself", True),
    "neighbours": What("neighbours", "weight of a patch on the 8 around it", True),
    "row": What("same row", "weight of a patch on the others of its row", True),
    "column": What("same column", "weight of a patch on the others of its column", True),
    "border": What("border", "weight of a patch on the border of the picture", True),
    "colour": What("same colour", "weight of a patch on the quarter nearest in colour, × chance"),
    "class": What("class token", "weight of a patch on the class token", True),
    "registers": What("registers", "weight of a patch on the registers", True),
}
IMPORTANCE = ("lost", "flipped", "estimate")
WITHOUT = {"mean": "its mean", "zero": "nothing"}


def view(page: Page) -> None:
    try:
        draw(page.focus)
    except EditError as sentence:
        raise NotApplicable(str(sentence)) from None


def draw(shown: Shown) -> None:
    atlas = heads_measured.atlas_of(shown)
    if not atlas.names:
        raise NotApplicable(f"{shown.trace.no_attention}: there is no head.")
    what, ablation = choose(shown, atlas)
    heads_measured.measure(shown, ablation if what in IMPORTANCE else heads_measured.BEHAVIOURS)
    values = values_of(atlas, what, ablation)
    if values is None:
        return
    index = chosen(atlas, values)
    left, right = st.columns([3, 2])
    with left:
        grid(atlas, what, values, index, images_of(atlas, what, ablation))
        say(atlas, what, ablation, values)
    with right:
        heads_examples.show(shown, atlas, ablation, index)
    heads_table.pruning(shown, atlas, ablation)
    heads_table.all_heads(atlas, index, choose_head)
    keep(shown, atlas, what, values)
    reading.how(
        "A cell is a head; click it for the pictures where it matters most. Taken away, a head gives its mean over "
        "other pictures, or nothing, and the number is what the model's own answer loses; below zero the answer gets "
        "surer. The estimate needs one backward pass for all heads instead of one pass for each.",
        r"I_h = \mathbb{E}_x\left[\log p(x) - \log p(x; \xi_h = 0)\right], \quad "
        r"\hat I_h = \mathbb{E}_x \left| \frac{\partial \log p}{\partial \xi_h} \right|",
        "pairs of heads that do the same: either can go, not both. Where patches look says nothing of the class token, "
        "which alone counts in the last layer.",
        "Michel et al. 2019; Voita et al. 2019; Wang et al. 2022",
    )


def choose(shown: Shown, atlas: HeadAtlas) -> tuple[str, str]:
    """What is shown, and what a head gives that is taken away."""
    shipped = heads_measured.shipped(shown.name) is not None
    kinds = [kind for kind in WITHOUT if not shipped or kind in atlas.importance]
    options = [name for name in WHATS if not shipped or values_of(atlas, name, kinds[0]) is not None]
    if not shown.loaded.classifies:
        options = [name for name in options if name not in IMPORTANCE]
    keep_valid("heads_what", options)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        what = st.selectbox("Of every head", options, key="heads_what", bind="query-params", width=260,
                            format_func=lambda name: WHATS[name].name)  # fmt: skip
        ablation = kinds[0]
        if what in IMPORTANCE and len(kinds) > 1:
            ablation = st.segmented_control("In its place", kinds, default=kinds[0], required=True,
                                            key="heads_without", bind="query-params",
                                            format_func=WITHOUT.__getitem__) or kinds[0]  # fmt: skip
    return str(what), ablation


def values_of(atlas: HeadAtlas, what: str, ablation: str) -> tuple[float, ...] | None:
    if what in IMPORTANCE:
        importance = atlas.importance.get(ablation)
        return None if importance is None else getattr(importance, what)
    values = atlas.behaviours.get(what)
    return None if values is None or all(map(math.isnan, values)) else values


def images_of(atlas: HeadAtlas, what: str, ablation: str) -> int:
    return atlas.importance[ablation].images if what in IMPORTANCE else atlas.images


def chosen(atlas: HeadAtlas, values: tuple[float, ...]) -> int:
    """The head of the session, else of the link, else the one with the largest number."""
    text = st.session_state.get(CHOSEN) or st.query_params.get("head", "")
    layer, _, head = text.partition(".")
    name = (int(layer) - 1, int(head) - 1) if layer.isdecimal() and head.isdecimal() and len(text) < 8 else None
    if name in atlas.names:
        put("head", text)
        return atlas.names.index(name)
    return max(range(len(values)), key=lambda i: -math.inf if math.isnan(values[i]) else values[i])


def choose_head(name: tuple[int, int]) -> None:
    st.session_state[CHOSEN] = f"{name[0] + 1}.{name[1] + 1}"


def grid(atlas: HeadAtlas, what: str, values: tuple[float, ...], index: int, images: int) -> None:
    shown = WHATS[what]
    heads = grid_of(atlas.names, values)
    figure = head_grid(heads, signed=what == "lost", share=shown.share,
                       chosen=atlas.names[index])  # fmt: skip

    st.markdown(f"**{shown.line[:1].upper()}{shown.line[1:]}**")
    chart(figure, "heads_map", f"{shown.line}, by layer and head", (tuple_of(*map(below, heads.shape)), choose_head))
    st.caption(f"Mean of {images} test pictures of {atlas.data}.")


def say(atlas: HeadAtlas, what: str, ablation: str, values: tuple[float, ...]) -> None:
    importance = atlas.importance.get(ablation)
    if what in IMPORTANCE and importance is not None:
        remark(of_heads(atlas.names, importance.lost, importance.half, importance.correlation))
        return
    correlation = None
    if importance is not None:
        pairs = [pair for pair in zip(values, importance.lost, strict=True) if not math.isnan(pair[0])]
        correlation = rank_correlation(*map(list, zip(*pairs, strict=True)))
    remark(of_behaviour(WHATS[what].name, atlas.names, values, correlation))


def keep(shown: Shown, atlas: HeadAtlas, what: str, values: tuple[float, ...]) -> None:
    line = WHATS[what].line
    figure = heat_map(grid_of(atlas.names, values), "head", "layer", square=False, digits=2, signed=what == "lost")
    figure.update_layout(height=420)
    lines = (f"{shown.name}; {atlas.images} test pictures of {atlas.data}",)
    columns, stem = table(atlas), export.name_of_file(shown.name)
    with st.container(horizontal=True):
        save("heads", {"": saved.charts_of(f"Heads: {line}", lines, figure)}, saved.NOTHING,
             {"All heads (NPZ)": lambda: export.npz_of(**columns)})  # fmt: skip
        st.download_button("All heads (CSV)", lambda: export.csv_of(columns), f"{stem}_heads.csv", "text/csv",
                           key="heads_csv", icon=":material/download:", on_click="ignore")  # fmt: skip
