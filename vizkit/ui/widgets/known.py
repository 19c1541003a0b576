"""What a model can answer at all: a chip beside every answer, a banner over a visitor's picture that none knows."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from vizkit.analysis.remarks.remark import joined
from vizkit.ui.plain import plain
from vizkit.ui.session import model_names
from vizkit.ui.sidebar import gallery, inputs

if TYPE_CHECKING:
    from vizkit.models import Loaded


def chip(loaded: "Loaded") -> str:
    """For a place beside a model's answers, as Markdown; "" where it knows much. A model that knows drawn insects gives
    a photograph one of their names too."""
    if loaded.text_tower is not None and loaded.classifies:
        return chip_of_typed(len(loaded.labels))
    bundled = {model_names.title(source): source for source in model_names.bundled()}
    return chip_of(bundled.get(loaded.name, loaded.name))


def chip_of_typed(count: int) -> str:
    return f":gray-badge[knows {count} typed class{'es' if count > 1 else ''}]"


def chip_of(source: str) -> str:
    """The same of a model that is not loaded."""
    known = model_names.knows(source)
    return f":gray-badge[knows {known}]" if known else ""


def say(loaded: "Loaded", key: str) -> None:
    """The chip on a line of its own; where a model of photographs names nothing, one that does is a click away."""
    words = chip(loaded)
    if words:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(words, width="content")
            if model_names.CLASSLESS in words:
                gallery.offer(key, quiet=True)


def chips(of: Mapping[str, str]) -> None:
    """One line with the chips of several models, by their names, whose answers share a table; where all have the same
    one, it needs no names."""
    said = []
    for words in sorted(set(of.values()) - {""}):
        names = [plain(name) for name in of if of[name] == words]
        if len(names) > 1:  # several know
            words = words.replace("knows", "know", 1)
        all_of_them = ("", "Both", "All")[min(len(of), 3) - 1]
        who = joined(names) if len(names) < len(of) else all_of_them
        said.append(f"{who} {words}".strip())
    if said:
        st.markdown(" · ".join(said))  # in a caption a chip is too pale to be read


def banner(sources: Sequence[str], picture: str) -> None:
    """Over a visitor's own picture where every model that is shown knows only drawn insects or digits. Not over
    samples: of those nobody expects a true answer, and the chips say what the models know."""
    known = list(dict.fromkeys(map(model_names.knows, sources)))
    if not known or {"", model_names.CLASSLESS} & {*known} or picture in inputs.samples():
        return
    who, their = (
        ("These models know", "their answers mean") if len(sources) > 1 else ("This model knows", "its answer means")
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.info(f"{who} {' and '.join(known)} only: unless {plain(picture[:80])} shows one of them, {their} nothing.")
        gallery.offer("banner")
