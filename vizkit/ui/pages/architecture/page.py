"""The Architecture page: the chosen models as flows of blocks, and four architectures taken apart."""

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from vizkit.image import Picture
from vizkit.ui import reading
from vizkit.ui.pages.architecture import dual, flow, gradual, parts, tnt
from vizkit.ui.plain import plain
from vizkit.ui.session import cached, model_names
from vizkit.ui.session.shown import Shown, attempt, choose_view, cursor, explain_refusal, focus_of, title
from vizkit.ui.sidebar.inputs import MAX_MODELS


@dataclass(frozen=True)
class Special:
    """A view for one family of `vizkit.models`. `offers`: models to begin with, those that are here."""

    draw: Callable[[Shown, Picture], None]
    family: str
    what: str
    offers: tuple[str, ...]


SPECIAL = {
    "Dual-scale": Special(
        dual.view, "dual_scale", "a dual-scale ViT",
        ("bundled:insects_dual", "bundled:digits_dual", "random:dual_scale_tiny"),
    ),
    "Gradual reduction": Special(
        gradual.view, "gradual_reduction", "a gradual-reduction ViT",
        ("bundled:insects_gradual", "bundled:digits_gradual", "random:gradual_reduction_tiny"),
    ),
    "TNT": Special(tnt.view, "tnt", "a TNT", ("random:tnt_s_patch16_224", "tnt_s_patch16_224")),
    "From parts": Special(parts.view, "vit", "a ViT", ("bundled:digits_vit", "bundled:insects_vit")),
}  # fmt: skip
VIEWS = ("Flow", *SPECIAL)


def view(picture: Picture, sources: list[str]) -> None:
    name = choose_view("architecture_view", VIEWS)
    if name == "Flow":
        flow.view(picture, sources)
    else:
        one_model(picture, sources, name)


@st.fragment
def one_model(picture: Picture, sources: list[str], name: str) -> None:
    found = fitting(picture, sources, SPECIAL[name])
    if found:
        reading.guarded(SPECIAL[name].draw, focus_of(found), picture)


def fitting(picture: Picture, sources: list[str], special: Special) -> list[Shown]:
    """The chosen models of this family, run. Without any, a sentence and a button for each model to begin with."""
    others = [source for source in sources if is_another(source, special.family)]
    wanted = [source for source in sources if source not in others]
    if not wanted:
        offer(others, special)
    elif others:
        verb = "is" if len(others) == 1 else "are"
        st.caption(f":material/info: {plain(' and '.join(map(title, others)))} {verb} not {special.what}.")
    shown = []
    for source in wanted:
        with st.spinner(f"Running {plain(title(source))} …"):
            result = attempt(source, picture, "patch", cursor())
        if isinstance(result, Shown):
            shown.append(result)
        else:
            explain_refusal(source, *result)
    return shown


def is_another(source: str, family: str) -> bool:
    """Whether the model loads and is something else; what refuses to load says so when it is shown."""
    from vizkit.models import family_of

    try:
        return family_of(cached.model(source).model) != family
    except Exception:
        return False


def offer(others: list[str], special: Special) -> None:
    verb = "is" if len(others) == 1 else "are"
    chosen = plain(" and ".join(map(title, others)))
    st.info(f"This view needs {special.what}, and {chosen} {verb} built differently.", icon=":material/block:")
    here = [name for name in special.offers if not name.startswith("bundled:") or name in model_names.bundled()]
    with st.container(horizontal=True):
        for index, name in enumerate(here):
            kind = "primary" if index == 0 else "secondary"
            # The callback changes a sidebar widget, so the whole page has to run again.
            if st.button(
                words_for(name), key=f"add_{name}", type=kind, icon=":material/add:", on_click=add, args=(name,)
            ):
                st.rerun()


def words_for(name: str) -> str:
    if name.startswith("bundled:"):
        return f"Add {plain(title(name))}, trained"
    if name.startswith("random:"):
        return f"Add {name.removeprefix('random:')}, untrained"
    return f"Add {name}, weights from the hub"


def add(name: str) -> None:
    st.session_state["models"] = [*st.session_state.get("models", []), name][-MAX_MODELS:]
