"""The Maps view of the Relevance page: methods × models as a matrix; the maps of a single model as a grid."""

from dataclasses import dataclass, replace

import streamlit as st

from vizkit.analysis.attribution.explaining import Explanation, quantile_of, why_not
from vizkit.analysis.attribution.methods import METHODS
from vizkit.figure.overlay import top_of
from vizkit.image import Picture
from vizkit.report.kinds import Relevance
from vizkit.ui import export, reading
from vizkit.ui.pages.relevance import cam_layer
from vizkit.ui.plain import plain
from vizkit.ui.session import background, explained, saved
from vizkit.ui.session.explained import Request
from vizkit.ui.session.remembered import shelf
from vizkit.ui.session.shown import Shown, run_in, title
from vizkit.ui.views import Page
from vizkit.ui.widgets import class_choice
from vizkit.ui.widgets.class_choice import Classes
from vizkit.ui.widgets.controls import choose_drawing, more
from vizkit.ui.widgets.remark import of_maps
from vizkit.ui.widgets.save import save
from vizkit.ui.widgets.tiles import Tile, matrix, tile, tiles

SCALES = ("from 0", "from lowest", "one per method")
TASK = "maps"
Ends = tuple[float, float]


@dataclass(frozen=True)
class Choice:
    """`slow`: chosen methods that run the model again. `scale`: one of SCALES. `layers`: by model where its class
    activation maps are made, "" being before the head."""

    classes: Classes
    slow: tuple[str, ...]
    scale: str
    draw: str
    layers: dict[str, str]


@dataclass(frozen=True)
class Maps:
    """Everything that is known for one model: a map by method, or a sentence why there is none, or None where it has
    not been computed yet. `without`: the methods that this kind of model does not have, and why."""

    request: Request
    results: dict[str, Explanation | str | None]
    without: dict[str, str]


def view(page: Page) -> None:
    picture, sources = page.picture, page.sources
    controls = st.container()
    places = [st.container()] if len(sources) == 1 else st.columns([0.8, *[1] * len(sources)])[1:]
    blocks = dict(zip(sources, places, strict=True))
    shown = [model for _, model in run_in(list(blocks.values()), picture, sources, "cls")]
    if not shown:
        return
    with controls:
        choice = choices(shown)
    all_maps: list[Maps] = []
    for model in shown:
        with blocks[model.source]:
            reading.guarded(collect, model, picture, choice, all_maps)
    with controls:
        _run_slow(all_maps, choice)
    tops = _tops_by_method(all_maps) if choice.scale == SCALES[2] else {}
    for maps in all_maps:
        with blocks[maps.request.shown.source]:
            st.markdown(class_choice.in_words(maps.request))
            for note in maps.request.shown.loaded.notes:
                st.caption(f":material/info: {plain(note)}")
    if len(sources) > 1 and all_maps:
        side_by_side(all_maps, tops, choice, named=len(all_maps) < len(sources))
        below = st.columns([0.8, *[1] * len(all_maps)])[1:]
    else:
        below = places
    for index, (place, maps) in enumerate(zip(below, all_maps, strict=False)):
        with place:
            if len(sources) == 1:
                grid(maps, tops, choice)
            of_maps({METHODS[name].title: value for name, value in maps.results.items()
                     if isinstance(value, Explanation)})  # fmt: skip
            left_out(maps)
            save_maps(index, maps, tops, choice)
    how()


# ---- controls --------------------------------------------------------------------------------------------------------
def choices(shown: list[Shown]) -> Choice:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        classes = class_choice.choose(shown)
        with st.popover("More maps", icon=":material/add:"):
            slow = st.pills(
                "They run the model again, some dozen times each",
                [name for name, method in METHODS.items() if method.slow], selection_mode="multi", key="slow_maps",
                bind="query-params", format_func=lambda name: METHODS[name].title,
                help="They run the model on changed pictures. Choose, then compute; Stop keeps what is ready.",
            )  # fmt: skip
        with more():
            scale = st.segmented_control(
                "Colours", SCALES, default=SCALES[0], required=True, key="relevance_scale", bind="query-params",
                help="From 0 to each map's largest value; from its lowest, which shows small differences; or one scale "
                "for a method in all models. Different methods have different units, so no scale is right for all.",
            )  # fmt: skip
            draw = choose_drawing()
            layers = {model.source: cam_layer.choose(index, model, len(shown) > 1) for index, model in enumerate(shown)}
    return Choice(classes, tuple(name for name in METHODS if name in slow), scale or SCALES[0], draw, layers)


def _run_slow(all_maps: list[Maps], choice: Choice) -> None:
    """The button, and the progress of what it has started."""
    todo = [(maps.request, name) for maps in all_maps for name in choice.slow if maps.results.get(name) is None]
    store = shelf()

    def work(task: background.Task) -> None:
        for index, (request, name) in enumerate(todo):
            words = f"{METHODS[name].title} of {title(request.shown.source)}"

            def progress(done: int, total: int, index: int = index, words: str = words) -> None:
                task.report(words, index * total + done, len(todo) * total)

            progress(0, 1)
            store.put((*request.key, name), explained.slow_map(request, name, progress))
            task.results += 1

    if todo and not background.at_work(TASK):
        words = f"Compute {len(todo)} map{'s' if len(todo) > 1 else ''}"
        st.button(words, key="compute_maps", icon=":material/play_arrow:", on_click=background.start, args=(TASK, work))
    background.show(TASK)


# ---- one model -------------------------------------------------------------------------------------------------------
def collect(shown: Shown, picture: Picture, choice: Choice, into: list[Maps]) -> None:
    request = class_choice.request_for(shown, picture, choice.classes)
    request = replace(request, layer=choice.layers.get(shown.source, ""))
    fast = explained.fast_maps(request)
    without = why_not(explained.target_trace(request, request.target))
    if request.against is not None:  # those that depend on no class
        blind = [name for name, method in METHODS.items() if method.needs == "trace" and name not in without]
        without |= {name: str(fast[name]) for name in blind}
    results: dict[str, Explanation | str | None] = {}
    for name, method in METHODS.items():
        if name in without:
            continue
        computed = shelf().find((*request.key, name)) if method.slow else fast[name]
        if computed is not None or name in choice.slow:
            results[name] = computed
    into.append(Maps(request, results, without))


def _tops_by_method(all_maps: list[Maps]) -> dict[str, float]:
    tops: dict[str, float] = {}
    for maps in all_maps:
        for name, value in maps.results.items():
            if value is not None and not isinstance(value, str):
                tops[name] = max(tops.get(name, 0.0), top_of(value.heat.numpy(), quantile_of(value)))
    return tops


def limits_of(maps: Maps, drawn: dict[str, Tile], tops: dict[str, float], choice: Choice) -> dict[str, Ends]:
    """The values at the two ends of the colours, by method."""
    own, limits = _tops_by_method([maps]), {}
    for name, card in drawn.items():
        top = tops.get(name) or own.get(name, 0.0)
        low = float(card.values.min(initial=top)) if choice.scale == SCALES[1] else 0.0
        limits[name] = (-top if card.signed else low, top)
    return limits


def tiles_of(maps: Maps) -> dict[str, Tile]:
    return {name: tile(name, value) for name, value in maps.results.items()}


def grid(maps: Maps, tops: dict[str, float], choice: Choice) -> None:
    request, drawn = maps.request, tiles_of(maps)
    label = f"Evidence for {request.shown.loaded.label(request.target)} in {request.shown.name}"
    tiles(f"relevance0_{request.shown.source}", [*drawn.values()], request.shown, request.picture, choice.draw,
          [*limits_of(maps, drawn, tops, choice).values()], label=label, tile_px=122)  # fmt: skip


def side_by_side(all_maps: list[Maps], tops: dict[str, float], choice: Choice, *, named: bool) -> None:
    """A row for each method, a column for each model; a model without a method has an empty place. `named`: models have
    their names there, not only above, because one of them has no column."""
    drawn = [tiles_of(maps) for maps in all_maps]
    limits = [limits_of(maps, tiles, tops, choice) for maps, tiles in zip(all_maps, drawn, strict=True)]
    there = [name for name in METHODS if any(name in tiles for tiles in drawn)]
    rows = [Tile(METHODS[name].title, None, METHODS[name].asks, METHODS[name].caveat) for name in there]
    empty = {name: Tile(METHODS[name].title, None, "Not for this model.") for name in there}
    matrix(
        "relevance",
        rows,
        [maps.request.shown for maps in all_maps],
        [[tiles.get(name, empty[name]) for tiles in drawn] for name in there],
        all_maps[0].request.picture,
        choice.draw,
        [[ends.get(name, (0.0, 0.0)) for ends in limits] for name in there],
        label="Evidence for the class",
        named=named,
    )


def left_out(maps: Maps) -> None:
    """The methods that this model does not have, and why."""
    reasons = {reason: [METHODS[name].title for name, why in maps.without.items() if why == reason]
               for reason in maps.without.values()}  # fmt: skip
    if reasons:
        words = " ".join(f"*{', '.join(names)}:* {plain(reason)}" for reason, names in reasons.items())
        st.caption(f":material/block: Not available: {words}")


def save_maps(index: int, maps: Maps, tops: dict[str, float], choice: Choice) -> None:
    request = maps.request
    target, against = request.target, request.against
    scale = "from lowest" if choice.scale == SCALES[1] else "from 0"
    names = {card.name: name for name, card in tiles_of(maps).items() if card.places is not None}
    names = dict(sorted(names.items(), key=lambda of: METHODS[of[1]].needs == "trace"))  # those for the class first
    if not names:
        return

    cam_at = request.layer  # what waits to be saved holds no request, which holds the model

    def shows(name: str) -> Relevance:
        layer = cam_at if METHODS[name].layered else ""
        return Relevance(name, target, against, scale, tops.get(name), layer)

    items = {title: saved.item_of(request.shown, shows(name), choice.draw) for title, name in names.items()}
    inputs = saved.inputs_of(request.shown, request.picture)

    def numbers() -> bytes:
        arrays = {
            name: inputs.explanation(name, target, against, shows(name).layer).heat.numpy() for name in names.values()
        }
        return export.npz_of(target=target, against=-1 if against is None else against, **arrays)

    save(f"relevance{index}", items, inputs, {"Numbers of all maps (NPZ)": numbers})


def how() -> None:
    with st.expander("What each map answers, and what it cannot tell", icon=":material/quiz:"):
        for method in METHODS.values():
            st.markdown(f"**{method.title}.** {method.asks} *{method.caveat}* {method.differs} {method.source}.")
    reading.how(
        "Every map answers a different question about the same decision, written below it; bright or red places are "
        "evidence for the class, blue ones against it. Agreement of maps that answer different questions makes them "
        "more credible; open Trust to see which of them the model itself confirms.",
        r"y_A \ \text{ or } \ y_A - y_B \ \text{ is explained, } y \text{ being the logits or values; "
        r"of an embedding } y \cdot y_0 / |y_0|, \ y_0 \text{ being that of the picture}",
        "proof that the model used what is marked. Of the attention maps only those with a gradient depend on the "
        "class; colours of two methods cannot be compared, because their units differ.",
        "the papers under “What each map answers”",
    )
