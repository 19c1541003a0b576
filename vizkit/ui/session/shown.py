"""What every page does first: run the chosen models on the chosen image, or say in a sentence why not; one cursor."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from vizkit.image import ImageError, Picture
from vizkit.ui.canvas import linked
from vizkit.ui.plain import plain
from vizkit.ui.session import cached, model_names
from vizkit.ui.session.address import put
from vizkit.ui.session.chosen import bare, whole_image
from vizkit.views.rules import POINT

if TYPE_CHECKING:
    from vizkit.analysis.attention.attention_map import Query
    from vizkit.geometry import Box
    from vizkit.models import Loaded
    from vizkit.traces import Trace

CENTRE = (0.5, 0.5)


@dataclass(frozen=True)
class Shown:
    """One model with everything its card needs. `box_xyxy`: the part of the picture that it saw, in pixels. `again`
    gives the trace once more, remembered or made anew: for what may be saved later, it holds no weights itself."""

    source: str
    loaded: "Loaded"
    trace: "Trace"
    box_xyxy: "Box"
    query: "Query"
    again: "Callable[[], Trace]"

    @property
    def name(self) -> str:
        """As the picker calls it; `source` also says which classes were typed."""
        return bare(self.source)

    @property
    def depth(self) -> int:
        from vizkit.analysis.attention.attention_map import layers

        return len(layers(self.trace)) or len(self.trace.features)

    @property
    def heads(self) -> int:
        from vizkit.analysis.attention.attention_map import layers

        return max((layer.heads for layer in layers(self.trace)), default=0)

    def special(self) -> list[str]:
        """Names of special tokens that ask in some layer."""
        from vizkit.analysis.attention.attention_map import layers

        return list(dict.fromkeys(name for layer in layers(self.trace) for name in layer.query.special))


def cursor() -> tuple[float, float]:
    """The point of the image that asks, in fractions: from a click, else from the link, else the middle."""
    point = st.session_state.get("at") or linked("at", POINT) or CENTRE
    if point != CENTRE or "at" in st.query_params:
        put("at", f"{point[0]:.4f},{point[1]:.4f}")
    return point


def attempt(source: str, picture: Picture, token: str, point: tuple[float, float]) -> Shown | tuple[str, bool]:
    """A model's trace, or (a sentence, whether the network was missing). No traceback reaches the page."""
    from vizkit.models import ModelError, OfflineError
    from vizkit.traces import NotApplicable, TraceError

    try:
        opening = cached.opening(source, picture if whole_image() else None)
        loaded = opening()
        box = cached.seen_box(picture, loaded)
        query = token if token != "patch" else in_box(point, box, picture)
        trace = cached.trace(source, loaded, picture, query)
        if trace.check.refused:
            return trace.check.refused, False
        return Shown(source, loaded, trace, box, query, lambda: cached.trace(source, opening(), picture, query))
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
    st.warning(plain(sentence), icon=":material/cloud_off:" if offline else ":material/warning:")
    source = bare(source)
    if offline and not source.startswith(("hf-hub:", "torchvision:")) and "/" not in source:

        def untrained() -> None:
            chosen = st.session_state["models"]
            st.session_state["models"] = [f"random:{name}" if name == source else name for name in chosen]

        # The callback changes a sidebar widget, so the whole page has to run again.
        if st.button("Show it with random weights", key=f"random_{source}", on_click=untrained):
            st.rerun()


def accepted(source: str, result: Shown | tuple[str, bool]) -> Shown | None:
    """What `attempt` gave, where it may be shown. A refusal, or a proof that failed, is said here in the page."""
    if not isinstance(result, Shown):
        explain_refusal(source, *result)
        return None
    if failure := result.trace.check.failure:
        st.caption(f":red[:material/error: {plain(failure)}]")
    return result


def keep_valid(key: str, allowed: Any) -> None:
    """A model with fewer layers or heads may have come in: what no longer exists falls back to the default."""
    if key in st.session_state and st.session_state[key] not in allowed:
        del st.session_state[key]


def side_by_side(picture: Picture, sources: list[str], query: str) -> list[tuple[Any, Shown]]:
    """A bordered column for every model and what it computed for the query."""
    return run_in(blocks(len(sources)), picture, sources, query)


def blocks(count: int) -> list[Any]:
    """A bordered block for every model: beside one another, two in a row from three on, those of a row equally high."""
    columns = [column for _ in range(0, count, 2) for column in st.columns(min(count, 2))]
    return [column.container(border=True, height="stretch") for column in columns[:count]]


def run_in(blocks: Sequence[Any], picture: Picture, sources: list[str], query: str) -> list[tuple[Any, Shown]]:
    """Every model in its block of the page, under its name; models that refuse say so there and are left out."""
    results = []
    for source, block in zip(sources, blocks, strict=True):
        with block:
            st.markdown(f"**{plain(title(source))}**")
            place = st.empty()
            with place, st.spinner(f"Running {plain(title(source))} …"):
                result = attempt(source, picture, query, cursor())
            place.empty()
            if shown := accepted(source, result):
                results.append((block, shown))
    return results


def title(source: str) -> str:
    """For people."""
    return model_names.title(bare(source))


def marked(source: str) -> str:
    """The same for the options of pills and segmented controls, which are Markdown."""
    return plain(title(source))


def focus_of(shown: list[Shown], label: str = "Model") -> Shown:
    """One model of several, chosen by name; the only one without asking."""
    if len(shown) == 1:
        return shown[0]
    names = [model.source for model in shown]
    keep_valid("focus", names)
    name = st.segmented_control(
        label,
        names,
        default=names[0],
        required=True,
        key="focus",
        bind="query-params",
        format_func=marked,
        label_visibility="collapsed",
    )
    return next(model for model in shown if model.source == name)


def one_after_another(picture: Picture, sources: list[str], query: str) -> list[Shown]:
    """The models that can be shown, without columns; the others say why not."""
    shown = []
    for source in sources:
        with st.spinner(f"Running {plain(title(source))} …"):
            result = attempt(source, picture, query, cursor())
        if model := accepted(source, result):
            shown.append(model)
    return shown


def choose_view(key: str, views: tuple[str, ...], *, preset: bool = False) -> str:
    """Which of a page's views is open; the address says it. `preset`: the session state has been given one."""
    chosen = st.segmented_control(
        "View",
        views,
        default=None if preset else views[0],
        required=True,
        key=key,
        bind="query-params",
        label_visibility="collapsed",
    )
    return chosen or views[0]
