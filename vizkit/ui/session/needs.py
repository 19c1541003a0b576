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
from vizkit.ui.session.chosen import add, bare, title
from vizkit.ui.session.model_names import CLASSLESS, KNOWN, knows
from vizkit.views import bundled

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


def family(name: str, what: str, *models: str) -> Need:
    return Need(f"is {what}", partial(_of_family, name), models)


MOST_MODELS = 4
VITS = ("bundled:digits_vit", "bundled:insects_vit", "bundled:photographs_vit")
# Every need that a view may name; "" is none at all.
NEEDS = {
    "model": Need("is a model", lambda loaded: True, VITS),
    "transformer": Need("is a transformer", _transformer, VITS),
    "answers": Need("gives classes or an embedding", lambda loaded: loaded.head is not REGRESSION, VITS),
    "swin": family("swin", "a Swin", "bundled:insects_swin", "bundled:digits_swin"),
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


def models_for(
    need: str, sources: list[str], picture: bool = True, beside: str = "", least: int = 1, first: str = ""
) -> list[str]:
    """The chosen models that fit. Without any, one that comes with vizkit and knows what the picture is of, where
    `picture` says that one is shown, and buttons that add such models; in one quiet line, for it stands above it.
    `beside`: another need, of which one more model is shown at least; `least`: so many are shown, of one alone another
    that comes with vizkit and knows such pictures; `first`: this one before those that follow from the picture, unless
    they know more of it, and alone where they know no class at all."""
    known = _data_at_hand(sources, picture) if first and sources == bundled.usual(_image()) else ""
    if known in (knows(first), CLASSLESS) and known:
        _say_added(f"Shown first: {plain(title(first))}.", first)
        return [first] if known == CLASSLESS else [first, *sources]
    if need == "model" and not sources:
        st.info("Choose a model in the sidebar, for example a bundled one.", icon=":material/arrow_back:")
        return []
    needs = [each for each in (need, beside) if each]
    fitting = {each: _suitable(sources, each) for each in needs}
    if not beside and 0 < len(fitting.get(need, sources)) < len(sources):
        named = " and ".join(plain(title(source)) for source in fitting[need])
        st.caption(f":material/info: This view needs {NEEDS[need].what}: {named}.", width="content")
    data = _data_at_hand(sources, picture)
    offers = {each: _offered(each, data) for each in needs if not fitting[each]}
    instead = {
        each: next((name for name in models if _suitable([name], each)), models[0]) for each, models in offers.items()
    }
    if offers:
        _say_instead(instead, offers, bool(sources))
    shown = [fitting[each] or [instead[each]] for each in needs] or [sources]
    if beside:
        both = [*shown[0][: MOST_MODELS - 1], *shown[1]][:MOST_MODELS]
        return sorted(both, key=lambda each: each not in sources)  # the chosen ones before those shown beside them
    return [*shown[0], *_stand_in(shown[0])] if 0 < len(shown[0]) < least else shown[0]


def _stand_in(sources: list[str]) -> list[str]:
    """A model to compare the chosen one with, said in one line; none where only models of other images are here."""
    name = bundled.beside(bare(sources[0]), _image())
    if name:
        _say_added(f"One model is chosen; to compare it with: {plain(title(name))}.", name)
    return [name] if name else []


def _say_added(words: str, name: str) -> None:
    """One line on a model that nobody has chosen, with a button that does."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        st.caption(f":material/info: {words}", width="content")
        st.button("Add it to your models", key=f"add_{name}", type="tertiary", on_click=add, args=(name,))


def _offered(need: str, data: str) -> list[str]:
    """The models that have what is needed, those first that know such pictures; of photographs those of digits last."""
    far = KNOWN["digits"] if data == CLASSLESS else ""
    return sorted(NEEDS[need].models, key=lambda name: (knows(name) != data, knows(name) == far != ""))


def _say_instead(instead: dict[str, str], offers: dict[str, list[str]], chosen: bool) -> None:
    """By what is needed the model that is shown for it, and those that a button adds."""
    words = [NEEDS[need].words for need in instead]
    verb = words[0].partition(" ")[0]  # said once
    needed = " or ".join([words[0], *(each.removeprefix(f"{verb} ") for each in words[1:])])
    shown = " and ".join(
        plain(title(name).removeprefix("random:")) + (" (untrained)" if name.startswith("random:") else "")
        for name in instead.values()
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        none = "None of your models" if chosen else "No chosen model"
        st.caption(f":material/info: {none} {needed}; shown: {shown}.", width="content")
        for need, name in instead.items():
            for each in (name, *(other for other in offers[need] if ":" not in other)):
                own = "it to your models" if len(instead) == 1 else plain(title(each))
                words = f"Add {own}" if ":" in each else f"Add {each}, weights from the hub"
                st.button(words, key=f"add_{each}", type="tertiary", on_click=add, args=(each,))


def _data_at_hand(sources: list[str], picture: bool) -> str:
    """What a bundled model has to know here: what the picture is one of, or else what a chosen model knows."""
    image = _image() if picture else ""
    if image and (known := KNOWN.get(samples.kind_of(image))):
        return known
    return next(filter(None, map(knows, sources)), "")


def _image() -> str:
    return str(st.session_state.get("image", ""))
