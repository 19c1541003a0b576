"""What a view can need of a model, and which models have it: the chosen ones first, else one that comes with vizkit."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from vizkit.ui.plain import plain
from vizkit.ui.session import cached
from vizkit.ui.session.chosen import add
from vizkit.ui.session.model_names import knows
from vizkit.ui.session.shown import title

if TYPE_CHECKING:
    from vizkit.models import Loaded


@dataclass(frozen=True)
class Need:
    """`what` ends the sentence "This view needs …". `refusal(loaded, name)` is a sentence about a model that lacks it,
    "" for all others. `models` have it: where no chosen model has, the first is shown, or with `alike` the first that
    knows the pictures that the chosen ones know, digits or insects."""

    what: str
    refusal: "Callable[[Loaded, str], str]"
    models: tuple[str, ...]
    alike: bool = False


def _not_of_family(family: str, what: str, loaded: "Loaded", name: str) -> str:
    from vizkit.models import family_of

    return "" if family_of(loaded.model) == family else f"{name} is not {what}."


def _no_transformer(loaded: "Loaded", name: str) -> str:
    from vizkit.models import family_of

    others = {"cnn": "convolutional network", "mlp": "multilayer perceptron"}
    what = others.get(family_of(loaded.model))
    return f"{name} is a {what}." if what else ""


def _no_two_tokens(loaded: "Loaded", name: str) -> str:
    from vizkit.models.probes.two_heads import refuse_one_token
    from vizkit.traces import NotApplicable

    try:
        refuse_one_token(loaded)
    except NotApplicable as sentence:
        return str(sentence)
    return ""


def _no_classes(loaded: "Loaded", name: str) -> str:
    return "" if loaded.classifies else f"{name} gives {loaded.head.gives}."


def _no_transformer_with_classes(loaded: "Loaded", name: str) -> str:
    return _no_transformer(loaded, name) or _no_classes(loaded, name)


def _no_positions(which: tuple[str, ...], what: str, loaded: "Loaded", name: str) -> str:
    from vizkit.models.probes.positions import kind

    kinds = kind(loaded)
    if set(kinds) & set(which):
        return ""
    return f"{name} has no {what}" + (
        "." if kinds == ("none",) else f", but {' and '.join(kinds).replace('learned', 'a learned table')}."
    )


def family(name: str, what: str, *models: str) -> Need:
    return Need(what, partial(_not_of_family, name, what), models)


# Every need that a view may name; "" is none at all.
NEEDS = {
    "model": Need("a model", lambda loaded, name: "", ("bundled:digits_vit",)),
    "transformer": Need("a transformer", _no_transformer, ("bundled:digits_vit", "bundled:insects_vit"), alike=True),
    "classes": Need("a model with classes", _no_classes, ("bundled:digits_vit",)),
    "transformer with classes": Need(
        "a transformer with classes", _no_transformer_with_classes, ("bundled:digits_vit", "bundled:insects_vit"),
        alike=True,
    ),
    "two tokens": Need("a model with a class and a distillation token", _no_two_tokens, ("bundled:insects_deit",)),
    "learned positions": Need(
        "a learned table of positions", partial(_no_positions, ("learned",), "learned table"), ("bundled:digits_vit",)
    ),
    "relative positions": Need(
        "relative positions", partial(_no_positions, ("relative bias", "rotary"), "relative positions"),
        ("bundled:digits_swin",),
    ),
    "swin": family("swin", "a Swin", "bundled:insects_swin", "bundled:digits_swin"),
    "vit": family("vit", "a ViT", "bundled:digits_vit", "bundled:insects_vit"),
    "cnn": family("cnn", "a CNN", "bundled:digits_cnn", "bundled:insects_cnn"),
    "tnt": family("tnt", "a TNT", "random:tnt_s_patch16_224", "tnt_s_patch16_224"),
    "dual_scale": family(
        "dual_scale", "a dual-scale ViT", "bundled:insects_dual", "bundled:digits_dual", "random:dual_scale_tiny"
    ),
    "gradual_reduction": family(
        "gradual_reduction", "a gradual-reduction ViT", "bundled:insects_gradual", "bundled:digits_gradual",
        "random:gradual_reduction_tiny",
    ),
}  # fmt: skip


def _suitable(sources: list[str], need: str) -> tuple[list[str], list[str]]:
    """(the models that have what is needed, a sentence about each of the others). One that does not load is kept: why
    it does not is said where it is shown."""
    if need in ("", "model"):
        return sources, []  # nothing to load the models for
    fitting, sentences = [], []
    for source in sources:
        try:
            sentence = NEEDS[need].refusal(cached.model(source), title(source))
        except Exception:
            sentence = ""
        fitting += [] if sentence else [source]
        sentences += [sentence] if sentence else []
    return fitting, sentences


def models_for(need: str, sources: list[str]) -> list[str]:
    """The chosen models that fit. Without any, one that comes with vizkit, and buttons that add such models."""
    fitting, sentences = _suitable(sources, need)
    left_out = plain(" ".join(sentences))
    if fitting or not need:
        if left_out:
            st.caption(f":material/info: {left_out}")
        return fitting
    if need == "model":
        st.info("Choose a model in the sidebar, for example a bundled one.", icon=":material/arrow_back:")
        return []
    models = NEEDS[need].models
    instead = _alike(models, sources) if NEEDS[need].alike else models[0]
    shown = ("bundled " if instead.startswith("bundled:") else "untrained ") + title(instead).removeprefix("random:")
    sentences = [f"This view needs {NEEDS[need].what}.", left_out, f"It shows the {plain(shown)} instead."]
    st.info(" ".join(filter(None, sentences)), icon=":material/info:")
    with st.container(horizontal=True):
        for name in models:
            # The callback changes a sidebar widget, so the whole page has to run again.
            if st.button(_words_for(name), key=f"add_{name}", icon=":material/add:", on_click=add, args=(name,)):
                st.rerun()
    return [instead]


def _alike(models: tuple[str, ...], sources: list[str]) -> str:
    """The first of `models` that knows what a chosen one knows; else the first."""
    known = {knows(source) for source in sources} - {""}
    return next((name for name in models if knows(name) in known), models[0])


def _words_for(name: str) -> str:
    if name.startswith("bundled:"):
        return f"Add {plain(title(name))}, trained"
    if name.startswith("random:"):
        return f"Add {name.removeprefix('random:')}, untrained"
    return f"Add {name}, weights from the hub"
