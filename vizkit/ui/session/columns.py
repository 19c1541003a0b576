"""What every page does first: run the chosen models on the chosen image, or say in a sentence why not."""

import logging
from typing import Any

import streamlit as st

from vizkit.image import ImageError, Picture
from vizkit.ui.plain import plain
from vizkit.ui.session.chosen import bare, title
from vizkit.ui.session.subjects import NamedSubject


def attempt(source: str, picture: Picture) -> NamedSubject | tuple[str, bool]:
    """A model that has run on the picture, or (a sentence, whether the network was missing). No traceback reaches the
    page."""
    from vizkit.models import ModelError, OfflineError
    from vizkit.traces import NotApplicable, TraceError

    try:
        of = NamedSubject.of_session(source, picture)
        assert of.seen is not None
        return of
    except (ModelError, TraceError, NotApplicable, ImageError) as error:
        return str(error), isinstance(error, OfflineError)
    except Exception as error:
        logging.getLogger("vizkit").exception("%s on an image of %s", source, picture.rgb.shape)
        return f"This model could not be shown ({type(error).__name__}). Choose another one, or another image.", False


def explain_refusal(source: str, sentence: str, offline: bool) -> None:
    st.warning(plain(sentence), icon=":material/cloud_off:" if offline else ":material/warning:")
    source = bare(source)
    if offline and not source.startswith(("hf-hub:", "torchvision:")) and "/" not in source:

        def untrained() -> None:
            chosen = st.session_state["models"]
            st.session_state["models"] = [f"random:{name}" if name == source else name for name in chosen]

        st.button("Show it with random weights", key=f"random_{source}", on_click=untrained)


def accepted(source: str, picture: Picture) -> NamedSubject | None:
    """The model, where it may be shown. A refusal, or a proof that failed, is said here in the page."""
    place = st.empty()
    with place, st.spinner(f"Running {plain(title(source))} …"):
        result = attempt(source, picture)
    place.empty()
    if not isinstance(result, NamedSubject):
        explain_refusal(source, *result)
        return None
    if then := result.open().then:
        st.badge(plain(then), icon=":material/history:", color="gray")
    if failure := result.seen.check.failure:
        st.caption(f":red[:material/error: {plain(failure)}]")
    return result


def side_by_side(picture: Picture, sources: list[str]) -> list[tuple[Any, NamedSubject]]:
    """A bordered block for every model, under its name; models that refuse say so there and are left out."""
    results = []
    for source, block in zip(sources, blocks(len(sources)), strict=True):
        with block:
            st.markdown(f"**{plain(title(source))}**")
            if of := accepted(source, picture):
                results.append((block, of))
    return results


def blocks(count: int) -> list[Any]:
    """A bordered block for every model: beside one another, two in a row from three on, those of a row equally high."""
    columns = [column for _ in range(0, count, 2) for column in st.columns(min(count, 2))]
    return [column.container(border=True, height="stretch") for column in columns[:count]]
