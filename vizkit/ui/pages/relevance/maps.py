"""The Maps view of the Relevance page: all methods in a grid, model below model."""

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from vizkit.image import Picture
from vizkit.ui import export, reading
from vizkit.ui.plain import plain
from vizkit.ui.session import background, explained
from vizkit.ui.session.explained import Asked, quantile_of
from vizkit.ui.session.remembered import shelf
from vizkit.ui.session.shown import Shown, run_in, title
from vizkit.ui.views import Page
from vizkit.ui.widgets import canvases, class_choice
from vizkit.ui.widgets.class_choice import Classes
from vizkit.ui.widgets.tiles import Tile, tile, tiles

if TYPE_CHECKING:
    from vizkit.analysis.attribution.explaining import Explanation

SCALES = ("from 0", "from lowest", "one per method")
TASK = "maps"


@dataclass(frozen=True)
class Choice:
    """`slow`: methods that run the model again and are wanted. `scale`: one of SCALES."""

    classes: Classes
    slow: tuple[str, ...]
    scale: str
    draw: str


@dataclass(frozen=True)
class Maps:
    """Everything that is known for one model: a map by method, or a sentence why there is none, or None where it has
    not been computed yet. `without`: the methods that this kind of model does not have, and why."""

    asked: Asked
    found: "dict[str, Explanation | str | None]"
    without: dict[str, str]


def view(page: Page) -> None:
    picture, sources = page.picture, page.sources
    controls = st.container()
    blocks = {source: st.container(border=True) for source in sources}
    shown = [one for _, one in run_in(list(blocks.values()), picture, sources, "cls")]
    if not shown:
        return
    with controls:
        choice = choices(shown)
    each: list[Maps] = []
    for one in shown:
        with blocks[one.source]:
            reading.guarded(collect, one, picture, choice, each)
    with controls:
        run_slow(each, choice)
    tops = tops_by_method(each) if choice.scale == SCALES[2] else {}
    for index, maps in enumerate(each):
        with blocks[maps.asked.one.source]:
            grid(index, maps, tops, choice)
    how()


# ---- controls --------------------------------------------------------------------------------------------------------
def choices(shown: list[Shown]) -> Choice:
    from vizkit.analysis.attribution.methods import METHODS

    with st.container(horizontal=True, vertical_alignment="bottom"):
        classes = class_choice.choose(shown)
        scale = st.segmented_control(
            "Colours", SCALES, default=SCALES[0], required=True, key="relevance_scale", persist_state="session",
            help="From 0 to each map's largest value; from its lowest, which shows small differences; or one scale for "
            "a method in all models. Different methods have different units, so no scale is right for all.",
        )  # fmt: skip
        draw = st.segmented_control(
            "Draw", list(canvases.OPACITIES), default="over image", required=True, key="draw", persist_state="session"
        )
    slow = st.pills(
        "More maps, which run the model again, some dozen times each",
        [name for name, one in METHODS.items() if one.slow],
        selection_mode="multi", key="slow_maps", bind="query-params", format_func=lambda name: METHODS[name].title,
        help="They ask the model about changed pictures. Choose, then compute; Stop keeps what is ready.",
    )  # fmt: skip
    return Choice(classes, tuple(name for name in METHODS if name in slow), scale or SCALES[0], draw or "over image")


def run_slow(each: list[Maps], choice: Choice) -> None:
    """The button, and the progress of what it has started."""
    from vizkit.analysis.attribution.methods import METHODS

    todo = [(maps.asked, name) for maps in each for name in choice.slow if maps.found.get(name) is None]
    store = shelf()

    def work(task: background.Task) -> None:
        for index, (asked, name) in enumerate(todo):
            words = f"{METHODS[name].title} of {title(asked.one.source)}"

            def progress(done: int, total: int, index: int = index, words: str = words) -> None:
                task.report(words, index * total + done, len(todo) * total)

            progress(0, 1)
            store.put((*asked.key, name), explained.slow_map(asked, name, progress))
            task.results += 1

    if todo and not background.at_work(TASK):
        words = f"Compute {len(todo)} map{'s' if len(todo) > 1 else ''}"
        st.button(words, key="compute_maps", icon=":material/play_arrow:", on_click=background.start, args=(TASK, work))
    background.show(TASK)


# ---- one model -------------------------------------------------------------------------------------------------------
def collect(one: Shown, picture: Picture, choice: Choice, into: list[Maps]) -> None:
    from vizkit.analysis.attribution.explaining import METHODS, why_not

    asked = class_choice.asked_of(one, picture, choice.classes)
    fast = explained.fast_maps(asked)
    without = why_not(explained.target_trace(asked, asked.target))
    if asked.against is not None:  # what knows no class
        blind = [name for name, one in METHODS.items() if one.needs == "trace" and name not in without]
        without |= {name: str(fast[name]) for name in blind}
    found: dict[str, Explanation | str | None] = {}
    for name, method in METHODS.items():
        if name in without:
            continue
        computed = shelf().find((*asked.key, name)) if method.slow else fast[name]
        if computed is not None or name in choice.slow:
            found[name] = computed
    into.append(Maps(asked, found, without))


def tops_by_method(each: list[Maps]) -> dict[str, float]:
    from vizkit.figure.overlay import top_of

    tops: dict[str, float] = {}
    for maps in each:
        for name, value in maps.found.items():
            if value is not None and not isinstance(value, str):
                tops[name] = max(tops.get(name, 0.0), top_of(value.heat.numpy(), quantile_of(value)))
    return tops


def grid(index: int, maps: Maps, tops: dict[str, float], choice: Choice) -> None:
    from vizkit.analysis.attribution.methods import METHODS

    asked = maps.asked
    own = tops_by_method([maps])
    st.caption(class_choice.in_words(asked))
    drawn = [tile(name, value) for name, value in maps.found.items()]
    limits = []
    for name, one in zip(maps.found, drawn, strict=True):
        top = tops.get(name) or own.get(name, 0.0)
        low = float(one.values.min(initial=top)) if choice.scale == SCALES[1] else 0.0
        limits.append((-top if one.signed else low, top))
    label = f"What speaks for {asked.one.loaded.label(asked.target)} in {asked.one.source}"
    tiles(f"relevance{index}_{asked.one.source}", drawn, asked.one, asked.picture, choice.draw, limits, label=label,
          tile_px=122)  # fmt: skip
    reasons = {reason: [METHODS[name].title for name, why in maps.without.items() if why == reason]
               for reason in maps.without.values()}  # fmt: skip
    if reasons:
        words = " ".join(f"*{', '.join(names)}:* {plain(reason)}" for reason, names in reasons.items())
        st.caption(f":material/block: Not here: {words}")
    save(index, maps, drawn)


def save(index: int, maps: Maps, drawn: list[Tile]) -> None:
    asked = maps.asked
    drawings = {}
    for name, one in zip(maps.found, drawn, strict=True):
        value = maps.found[name]
        if one.places is not None and value is not None and not isinstance(value, str):
            drawings[one.name] = export.Drawing(one.places, one.signed, one.unit, quantile_of(value))

    def numbers() -> bytes:
        there = {name: value for name, value in maps.found.items() if value is not None and not isinstance(value, str)}
        arrays: dict[str, Any] = {name: value.heat.numpy() for name, value in there.items()}
        arrays |= {"target": asked.target, "against": -1 if asked.against is None else asked.against}
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        return buffer.getvalue()

    if drawings:
        stem = f"{asked.one.trace.model}_{asked.one.loaded.label(asked.target)}"
        export.save_maps(f"relevance{index}", stem, asked.picture, asked.one.box_xyxy, drawings, numbers)


def how() -> None:
    from vizkit.analysis.attribution.methods import METHODS

    with st.expander("What each map asks, and what it cannot tell", icon=":material/quiz:"):
        for method in METHODS.values():
            st.markdown(f"**{method.title}.** {method.asks} *{method.caveat}* {method.differs} {method.source}.")
    reading.how(
        "Every map answers another question about the same decision, written under it; bright places, or red ones, "
        "speak for the class, blue ones against it. Where maps that ask different things agree, believe them more; "
        "open Trust to see which of them the model itself confirms.",
        r"y_A \ \text{ or } \ y_A - y_B \ \text{ is explained, } y \text{ being the logits before softmax}",
        "proof that the model used what is marked. Of the attention maps only those with a gradient know the class; "
        "colours of two methods cannot be compared, because their units differ.",
        "the papers under “What each map asks”",
    )
