"""The cards of the Explore page: what one image does in one to four models, side by side, under one cursor."""

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from vizkit.image import ImageError, Picture
from vizkit.ui import cached, export, pickers, reading

if TYPE_CHECKING:
    from vizkit.analysis.attention_map import Query
    from vizkit.geometry import Box
    from vizkit.models import Loaded
    from vizkit.trace import Trace

CENTRE = (0.5, 0.5)


@dataclass(frozen=True)
class Shown:
    """One model with everything its card needs. `box_xyxy`: the part of the picture that it saw, in pixels."""

    source: str
    loaded: "Loaded"
    trace: "Trace"
    box_xyxy: "Box"
    query: "Query"

    @property
    def depth(self) -> int:
        from vizkit.analysis.attention_map import layers

        return len(layers(self.trace)) or len(self.trace.features)

    @property
    def heads(self) -> int:
        from vizkit.analysis.attention_map import layers

        return max((layer.heads for layer in layers(self.trace)), default=0)

    def special(self) -> list[str]:
        """Names of special tokens that ask in some layer."""
        from vizkit.analysis.attention_map import layers

        return list(dict.fromkeys(name for layer in layers(self.trace) for name in layer.query.special))


@dataclass(frozen=True)
class Choice:
    """`layer` counts from 1, `head` from 0, None being the mean of all heads."""

    layer: int
    head: int | None
    shared: bool
    draw: str


@st.fragment
def cards(picture: Picture, sources: list[str]) -> None:
    controls = st.container(horizontal=True, vertical_alignment="bottom")
    columns = st.columns(len(sources), border=True)
    asked, point = st.session_state.get("query") or "patch", cursor()
    shown: dict[int, Shown] = {}
    for i, (source, column) in enumerate(zip(sources, columns, strict=True)):
        with column:
            st.markdown(f"**{source.removeprefix('bundled:')}**")
            place = st.empty()
            with place, st.spinner(f"Running {source} …"):
                result = attempt(source, picture, asked, point)
            place.empty()
            if isinstance(result, Shown):
                shown[i] = result
            else:
                explain_refusal(source, *result)
    if not shown:
        return
    with controls:
        choice = choices(list(shown.values()))
    for i, one in shown.items():
        with columns[i]:
            card(i, one, picture, choice)
    mosaic(list(shown.values()), choice)
    reading.attention()


def cursor() -> tuple[float, float]:
    """The point of the image that asks, in fractions: from a click, else from the link, else the middle."""
    point = st.session_state.get("at") or parse(st.query_params.get("at", "")) or CENTRE
    if point != CENTRE:
        st.query_params["at"] = f"{point[0]:.4f},{point[1]:.4f}"
    return point


def parse(text: str) -> tuple[float, float] | None:
    try:
        x, y = (float(part) for part in text.split(","))
    except ValueError:
        return None
    return (x, y) if 0 <= x < 1 and 0 <= y < 1 else None


def attempt(source: str, picture: Picture, asked: str, point: tuple[float, float]) -> Shown | tuple[str, bool]:
    """A model's trace, or (a sentence, whether the network was missing). No traceback reaches the page."""
    from vizkit.models import ModelError, OfflineError
    from vizkit.trace import NotApplicable, TraceError

    try:
        loaded = cached.model(source)
        box = cached.seen_box(source, picture, loaded)
        query = asked if asked != "patch" else in_box(point, box, picture)
        return Shown(source, loaded, cached.trace(source, picture, query), box, query)
    except (ModelError, TraceError, NotApplicable, ImageError) as error:
        return str(error), isinstance(error, OfflineError)
    except Exception as error:
        logging.getLogger("vizkit").exception("%s on an image of %s", source, picture.rgb.shape)
        return f"This model could not be shown ({type(error).__name__}). Choose another one, or another image.", False


def in_box(point: tuple[float, float], box_xyxy: "Box", picture: Picture) -> tuple[float, float]:
    """From fractions of the picture to fractions of the model's input."""
    from vizkit.geometry import into_box

    return into_box(point, box_xyxy, picture.rgb.shape[:2])


def explain_refusal(source: str, sentence: str, offline: bool) -> None:
    st.warning(sentence, icon=":material/cloud_off:" if offline else ":material/warning:")
    if offline and not source.startswith(("hf-hub:", "torchvision:")) and "/" not in source:

        def untrained() -> None:
            chosen = st.session_state["models"]
            st.session_state["models"] = [f"random:{name}" if name == source else name for name in chosen]

        # The callback changes a sidebar widget, so the whole page has to run again.
        if st.button("Show it with random weights", key=f"random_{source}", on_click=untrained):
            st.rerun()


def choices(shown: list[Shown]) -> Choice:
    """Layers and heads beyond a model's own show its last."""
    depth, heads = max(one.depth for one in shown), max(one.heads for one in shown)
    keep_valid("layer", range(1, depth + 1))
    with st.container(width=260):
        layer = st.slider("Layer", 1, max(depth, 2), value=depth, key="layer", bind="query-params", disabled=depth < 2)
    options = ["mean", *(str(n + 1) for n in range(heads))]
    keep_valid("head", options)
    head = st.selectbox("Head", options, key="head", bind="query-params", width=110)
    special = list(dict.fromkeys(name for one in shown for name in one.special()))
    keep_valid("query", ["patch", *special])
    st.segmented_control(
        "Query", ["patch", *special], default="patch", required=True, key="query", bind="query-params",
        format_func=lambda name: name if name == "patch" else f"[{name}]",
        help="Whose row of the attention matrix is shown: the patch under the cursor or a special token.",
    )  # fmt: skip
    scale = st.segmented_control(
        "Scale", ["each map", "shared"], default="each map", required=True, key="scale", persist_state="session",
        help="“Each map” stretches every map to its own maximum. “Shared” keeps one scale for all queries and heads of "
        "a layer, so that a head that attends nowhere in particular looks like it.",
    )  # fmt: skip
    draw = st.segmented_control(
        "Draw", list(pickers.OPACITIES), default="over image", required=True, key="draw", persist_state="session"
    )
    return Choice(int(layer), None if head == "mean" else int(head) - 1, scale == "shared", draw or "over image")


def keep_valid(key: str, allowed: Any) -> None:  # noqa: ANN401
    """A model with fewer layers or heads may have come in: what no longer exists falls back to the default."""
    if key in st.session_state and st.session_state[key] not in allowed:
        del st.session_state[key]


def card(index: int, one: Shown, picture: Picture, choice: Choice) -> None:
    from vizkit.analysis.attention_map import layers, top_classes

    attention = layers(one.trace)
    special = one.query if isinstance(one.query, str) else None
    point = cursor()
    if attention:
        chosen = attention[min(choice.layer, len(attention)) - 1]
        content = pickers.layer_for_browser(chosen, choice.head, one.query, choice.shared)
    else:
        chosen = None
        content = pickers.stage_for_browser(one.trace.features[min(choice.layer, one.depth) - 1])
    st.caption(reading.layer_line(one.trace, chosen, choice.layer, choice.head))
    if content["key_grid"] is None:
        st.info(reading.why_no_map(chosen), icon=":material/grid_off:")
    height, width = picture.rgb.shape[:2]
    x0, y0, x1, y1 = one.box_xyxy
    pickers.card(
        f"card{index}_{one.source}",
        content,
        choice.draw,
        image=cached.browser_image(picture.digest, picture.rgb),
        size=(height, width),
        box=(x0 / width, y0 / height, x1 / width, y1 / height),
        point=point,
        special=special,
        epoch=f"{point}{special}",
        show_grid=True,
        label=f"Attention of {one.source}. Use the arrow keys to move the query.",
        classes=[(one.loaded.label(i), p) for i, p in top_classes(one.trace)] if one.loaded.classifies else [],
    )
    reading.proof(one.trace)
    st.caption(reading.about(one.loaded))
    export.save(index, one.trace, picture, one.box_xyxy, one.query, choice.layer, choice.head)


def mosaic(shown: list[Shown], choice: Choice) -> None:
    able = [one for one in shown if one.heads]
    if not able:
        return
    st.subheader("All layers and heads")
    focus = able[0]
    if len(able) > 1:
        names = [one.source for one in able]
        keep_valid("focus", names)
        name = st.segmented_control(
            "Model", names, default=names[0], required=True, key="focus",
            format_func=lambda n: n.removeprefix("bundled:"), label_visibility="collapsed",
        )  # fmt: skip
        focus = next(one for one in able if one.source == name)
    pickers.mosaic(
        f"mosaic_{focus.source}",
        focus.trace,
        focus.query,
        min(choice.layer, focus.depth) - 1,
        choice.head,
        choice.shared,
    )
