"""What a view can need of a model, and which models have it: the chosen ones first, else one that comes with vizkit."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from vizkit.datasets import samples
from vizkit.heads import REGRESSION
from vizkit.ui.plain import plain
from vizkit.ui.session import models as opened_models
from vizkit.ui.session.chosen import add, title
from vizkit.ui.session.model_names import CLASSLESS, KNOWN, knows

if TYPE_CHECKING:
    from vizkit.models import Loaded


@dataclass(frozen=True)
class Need:
    """`words` say of a model that it has what is needed: "is a CNN". `has(loaded)`: whether it does. `models` have it:
    where no chosen model has, the first is shown that knows what the picture is of; where none knows a photograph, the
    first that knows more than digits."""

    words: str
    has: "Callable[[Loaded], bool]"
    models: tuple[str, ...]

    @property
    def what(self) -> str:
        return self.words.partition(" ")[2]


def _of_family(family: str, loaded: "Loaded") -> bool:
    from vizkit.models import family_of

    return family_of(loaded.model) == family


def _transformer(loaded: "Loaded") -> bool:
    """Of CNNs some have attention here and there."""
    from vizkit.models import family

    return not _of_family("cnn", loaded) and family(loaded.model).expected(loaded.model) != 0


def _two_tokens(loaded: "Loaded") -> bool:
    from vizkit.models.probes.two_heads import refuse_one_token
    from vizkit.traces import NotApplicable

    try:
        refuse_one_token(loaded)
    except NotApplicable:
        return False
    return True


def family(name: str, what: str, *models: str) -> Need:
    return Need(f"is {what}", partial(_of_family, name), models)


MOST_MODELS = 4
WITH_CLASSES = ("bundled:digits_vit", "bundled:insects_vit")
VITS = (*WITH_CLASSES, "bundled:photographs_vit")
# Every need that a view may name; "" is none at all.
NEEDS = {
    "model": Need("is a model", lambda loaded: True, VITS),
    "transformer": Need("is a transformer", _transformer, VITS),
    "classes": Need("gives classes", lambda loaded: loaded.classifies, WITH_CLASSES),
    "answers": Need("gives classes or an embedding", lambda loaded: loaded.head is not REGRESSION, VITS),
    "two tokens": Need(
        "has a class and a distillation token, each with its head", _two_tokens, ("bundled:insects_deit",)
    ),
    "swin": family("swin", "a Swin", "bundled:insects_swin", "bundled:digits_swin"),
    "vit": family("vit", "a ViT", *VITS),
    "cnn": family("cnn", "a CNN", "bundled:digits_cnn", "bundled:insects_cnn"),
    "dual_scale": family(
        "dual_scale", "a dual-scale ViT", "bundled:insects_dual", "bundled:digits_dual", "random:dual_scale_tiny"
    ),
    "gradual_reduction": family(
        "gradual_reduction",
        "a gradual-reduction ViT",
        "bundled:insects_gradual",
        "bundled:digits_gradual",
        "random:gradual_reduction_tiny",
    ),
}


def _suitable(sources: list[str], need: str) -> list[str]:
    """The models that have what is needed. One that does not load is kept: why it does not is said where it is
    shown."""
    if need in ("", "model"):
        return sources  # nothing to load the models for
    fitting = []
    for source in sources:
        try:
            fits = NEEDS[need].has(opened_models.model(source))
        except Exception:
            fits = True
        fitting += [source] if fits else []
    return fitting


def models_for(need: str, sources: list[str], picture: bool = True, beside: str = "") -> list[str]:
    """The chosen models that fit. Without any, one that comes with vizkit and knows what the picture is of, where
    `picture` says that one is shown, and buttons that add such models; in one quiet line, for it stands above it.
    `beside`: another need, of which one more model is shown at least."""
    if beside:
        first = _models_for(need, sources, picture, whole=False)[: MOST_MODELS - 1]
        return [*first, *_models_for(beside, sources, picture, whole=False)][:MOST_MODELS]
    return _models_for(need, sources, picture)


def _models_for(need: str, sources: list[str], picture: bool, *, whole: bool = True) -> list[str]:
    """`whole`: what is not shown of the chosen models is said."""
    fitting = _suitable(sources, need)
    if fitting or not need:
        if len(fitting) < len(sources) and whole:
            named = " and ".join(plain(title(source)) for source in fitting)
            st.caption(f":material/info: This view needs {NEEDS[need].what}: {named}.", width="content")
        return fitting
    if need == "model":
        st.info("Choose a model in the sidebar, for example a bundled one.", icon=":material/arrow_back:")
        return []
    data = _data_at_hand(sources, picture)
    far = KNOWN["digits"] if data == CLASSLESS else ""  # from photographs
    models = sorted(NEEDS[need].models, key=lambda name: (knows(name) != data, knows(name) == far != ""))
    instead = next((name for name in models if _suitable([name], need)), models[0])
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        none = "None of your models" if sources else "No chosen model"
        untrained = " (untrained)" if instead.startswith("random:") else ""
        shown = f"shown: {plain(title(instead).removeprefix('random:'))}{untrained}"
        st.caption(f":material/info: {none} {NEEDS[need].words}; {shown}.", width="content")
        for name in (instead, *(name for name in models if ":" not in name)):
            st.button(_words_for(name), key=f"add_{name}", type="tertiary", on_click=add, args=(name,))
    return [instead]


def _data_at_hand(sources: list[str], picture: bool) -> str:
    """What a bundled model has to know here: what the picture is one of, or else what a chosen model knows."""
    image = str(st.session_state.get("image", "")) if picture else ""
    if image and (known := KNOWN.get(samples.kind_of(image))):
        return known
    return next(filter(None, map(knows, sources)), "")


def _words_for(name: str) -> str:
    return "Add it to your models" if ":" in name else f"Add {name}, weights from the hub"
