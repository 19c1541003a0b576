"""A model's card: its attention of one layer and head for the query under the page's cursor, with its answer."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from vizkit.analysis.attention.attention_map import layers
from vizkit.analysis.attention.feature_strength import feature_strength
from vizkit.analysis.remarks import places
from vizkit.image import Picture
from vizkit.ui import reading
from vizkit.ui.plain import plain
from vizkit.ui.session import saved
from vizkit.ui.session.shown import Shown, keep_valid
from vizkit.ui.widgets import canvases, known
from vizkit.ui.widgets.controls import choose_drawing, choose_head, more
from vizkit.ui.widgets.query_map import show_map
from vizkit.ui.widgets.remark import covered_by_insect, of_layer, sentence
from vizkit.ui.widgets.save import save

if TYPE_CHECKING:
    from vizkit.traces import Attention


@dataclass(frozen=True)
class Choice:
    """`layer` counts from 1, `head` from 0, None being the mean of all heads."""

    layer: int
    head: int | None
    shared: bool
    draw: str


def choices(shown: list[Shown]) -> Choice:
    """Layers and heads beyond a model's own show its last."""
    depth, heads = max(1, *(model.depth for model in shown)), max(model.heads for model in shown)
    keep_valid("layer", range(1, depth + 1))
    with st.container(width=260):
        layer = st.slider("Layer", 1, max(depth, 2), value=depth, key="layer", bind="query-params", disabled=depth < 2)
    head = choose_head("head", heads)
    special = list(dict.fromkeys(name for model in shown for name in model.special()))
    keep_valid("query", ["patch", *special])
    st.segmented_control(
        "Query", ["patch", *special], default="patch", required=True, key="query", bind="query-params",
        format_func=lambda name: name if name == "patch" else f"[{name}]",
        help="Whose row of the attention matrix is shown: the patch under the cursor or a special token.",
    )  # fmt: skip
    with more():
        scale = st.segmented_control(
            "Scale", ["each map", "shared"], default="each map", required=True, key="scale", bind="query-params",
            help="“Each map” stretches every map to its own maximum. “Shared” keeps one scale for all queries and "
            "heads of a layer, so that a head with nearly uniform attention looks uniform.",
        )  # fmt: skip
        draw = choose_drawing()
    return Choice(int(layer), head, scale == "shared", draw)


def card(index: int, shown: Shown, picture: Picture, choice: Choice, guide: tuple[int, str] | None = None) -> None:
    recorded = layers(shown.trace)
    if not recorded and not shown.trace.features:
        answers_alone(shown)
        return
    if recorded:
        chosen = recorded[min(choice.layer, len(recorded)) - 1]
        content = canvases.layer_for_browser(chosen, choice.head, shown.query, choice.shared)
    else:
        chosen = None
        content = canvases.stage_for_browser(shown.trace.features[min(choice.layer, shown.depth) - 1])
    st.caption(reading.layer_line(shown.trace, chosen, choice.layer, choice.head))
    if content.key_grid is None:
        st.info(reading.why_no_map(chosen), icon=":material/grid_off:")
    loaded = shown.loaded
    classes = [(loaded.label(index), loaded.head.bar(value)) for index, value in loaded.head.top(shown.trace.logits)]
    show_map(f"card{index}_{shown.source}", content, shown, picture, choice.draw, "Attention of", classes, guide=guide,
             sentence=what_stands_out(shown, chosen, choice))  # fmt: skip
    known.say(loaded)
    reading.proof(shown.trace)
    st.caption(reading.about(loaded))
    if content.key_grid is not None:
        save_card(index, shown, picture, choice)


def answers_alone(shown: Shown) -> None:
    """Of a model without places, such as an MLP on pixels."""
    st.info(
        "No layer of this model has places in the image: it gives an answer and no map.", icon=":material/grid_off:"
    )
    loaded = shown.loaded
    st.markdown(
        "  \n".join(f"{plain(name)} · {value}" for name, value in loaded.head.lines(shown.trace.logits, loaded.label))
    )
    known.say(loaded)
    reading.proof(shown.trace)
    st.caption(reading.about(loaded))


def what_stands_out(shown: Shown, chosen: "Attention | None", choice: Choice) -> str:
    if chosen is None:
        strength = feature_strength(shown.trace.features[min(choice.layer, shown.depth) - 1])
        covered = covered_by_insect(shown, (strength.shape[0], strength.shape[1]))
        return sentence(places.where(strength, covered, "the strength of the features"))
    return sentence(of_layer(shown, chosen, min(choice.layer, shown.depth), choice.head))


def save_card(index: int, shown: Shown, picture: Picture, choice: Choice) -> None:
    from vizkit.report.kinds import Attention, Features
    from vizkit.saving import npz_bytes

    layer = min(choice.layer, shown.depth)  # sliders go as far as the deepest model
    head = None if choice.head is None else min(choice.head, shown.heads - 1)
    shows = Attention(shown.query, layer, head, choice.shared) if shown.heads else Features(layer)
    item, again = saved.item_of(shown, shows, choice.draw), shown.again
    save(f"card{index}", {"": item}, saved.inputs_of(shown, picture),
         {"Numbers of all layers (NPZ)": lambda: npz_bytes(again())})  # fmt: skip
