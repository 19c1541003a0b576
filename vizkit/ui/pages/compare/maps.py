"""A map of every model on one image, side by side under one cursor: a layer's attention, or a class's map."""

import streamlit as st

from vizkit.analysis.attribution.explaining import Explanation, quantile_of, why_not
from vizkit.analysis.attribution.methods import METHODS
from vizkit.figure.overlay import top_of
from vizkit.image import Picture
from vizkit.models import ModelError
from vizkit.report.kinds import Relevance
from vizkit.traces import NotApplicable
from vizkit.ui import host, reading
from vizkit.ui.pages.compare import images
from vizkit.ui.pages.compare.grid import strip
from vizkit.ui.session import cached, explained, saved
from vizkit.ui.session.shown import Shown, run_in
from vizkit.ui.views import Page
from vizkit.ui.widgets import class_choice
from vizkit.ui.widgets.controls import choose_drawing
from vizkit.ui.widgets.remark import of_evidence
from vizkit.ui.widgets.save import save
from vizkit.ui.widgets.tiles import tile, tiles
from vizkit.views import VIEWS

LAYER = "attention of a layer"


def view(page: Page) -> None:
    labels = [label for source in page.sources for label in labels_of(source)]
    pictures = images.pictures(labels)
    strip("compare_strip", pictures, str(st.session_state["image"]))
    fast = [LAYER, *(name for name, method in METHODS.items() if not method.slow)]
    shown = st.selectbox(
        "Map",
        fast,
        key="compare_map",
        bind="query-params",
        width=300,
        format_func=lambda name: METHODS[name].title if name in METHODS else "Attention of a layer",
        help="Methods that run the model many times are on the Relevance page.",
    )
    if shown == LAYER:
        attention(page)
    else:
        relevance(page, str(shown))


def labels_of(source: str) -> tuple[str, ...]:
    """What a model's classes are called; nothing where it cannot be opened, which its column says."""
    try:
        return cached.model(source).labels
    except (ModelError, NotApplicable):
        return ()


# ---- attention -------------------------------------------------------------------------------------------------------
@st.fragment
def attention(page: Page) -> None:
    host.draw(VIEWS["explore"], page)


# ---- relevance -------------------------------------------------------------------------------------------------------
@st.fragment
def relevance(page: Page, method: str) -> None:
    controls = st.container(horizontal=True, vertical_alignment="bottom")
    columns = run_in(st.columns(len(page.sources), border=True), page.picture, page.sources, "cls")
    if not columns:
        return
    with controls:
        classes = class_choice.choose([shown for _, shown in columns])
        draw = choose_drawing()
    for index, (column, shown) in enumerate(columns):
        with column:
            reading.guarded(_one_map, index, shown, page.picture, method, classes, draw)
    known = METHODS[method]
    reading.how(
        f"{known.asks} The number in a corner is the map's value under the cursor, which is at the same point of the "
        "image in all models. The dark border of a picture is what its model did not see.",
        None,
        f"{known.caveat[0].lower()}{known.caveat[1:].rstrip('.')}. Colours go from 0 to each map's own largest value, "
        "so equal colours of two models are not equal numbers; the Trust view of the Relevance page says which maps "
        "the models confirm.",
        known.source,
    )


def _one_map(index: int, shown: Shown, picture: Picture, method: str, classes: class_choice.Classes, draw: str) -> None:
    request = class_choice.request_for(shown, picture, classes)
    st.markdown(class_choice.in_words(request))
    without = why_not(explained.target_trace(request, request.target))
    explanation: Explanation | str = without[method] if method in without else explained.fast_maps(request)[method]
    if isinstance(explanation, str):
        raise NotApplicable(explanation)
    drawn = tile(method, explanation)
    top = top_of(explanation.heat.numpy(), quantile_of(explanation))
    label = f"Evidence for {shown.loaded.label(request.target)} in {shown.name}"
    tiles(
        f"compare_map{index}_{shown.source}",
        [drawn],
        shown,
        picture,
        draw,
        [(-top if drawn.signed else 0.0, top)],
        label=label,
        tile_px=180,
    )
    of_evidence(shown, explanation)
    item = saved.item_of(shown, Relevance(method, request.target, request.against), draw)
    save(f"compare{index}", {"": item}, saved.inputs_of(shown, picture))
