"""What the sidebar has chosen for every page: a picture, one to four models, and how they are given the picture."""

import hashlib
from typing import NamedTuple

import streamlit as st

from vizkit.datasets import photographs, samples
from vizkit.image import Picture
from vizkit.ui.canvas import linked
from vizkit.ui.plain import plain
from vizkit.ui.session import model_names
from vizkit.ui.session.address import drop, put
from vizkit.views import bundled
from vizkit.views.entry import Entry, Reads
from vizkit.views.rules import POINT

CENTRE = (0.5, 0.5)
MAX_MODELS = 4
MOST_CLASSES, LONGEST_CLASS = 100, 200  # as vizkit.models.sources.zero_shot, whose import takes seconds
FIRST_CLASSES = "a photo of a flower\na photo of a building\na photo of an insect\na photo of a cat\na photo of a dog"
MARK = " classes-"
PICKERS = ("models", "focus", "teacher", "students", "student", "token_teacher", "beside_vit")  # of models, by name
RENAMED = {
    "det_of": dict.fromkeys(("picture of the sidebar", "image of the sidebar"), "your image"),
    "train_task": {"Tell pictures apart": "Tell images apart", "Enlarge pictures": "Enlarge images"},
}
"""By their names in the address options of earlier versions, and what they are called now."""
INPUTS = ("cropped", "whole image")
OFFERED, SHOWN, FOLLOWED = "_sidebar_offers", "_sidebar_shows", "_models_followed"
KEPT, KEPT_KEYS = "kept_", ("models", "image", "input")


class Opened(NamedTuple):
    """Weights of a visitor, as `vizkit.load` takes them: a file or a folder, and what it does not say itself."""

    path: str
    architecture: str | None = None
    head: str | None = None
    part: str | None = None
    image_size: tuple[int, int] | None = None


def picture() -> Picture:
    """The image that every page shows."""
    return st.session_state["_picture"]


def cursor() -> tuple[float, float]:
    """The point of the image that asks, in fractions: from a click, else from the link, else the middle."""
    usual = photographs.POINTS.get(str(st.session_state.get("image")), CENTRE)
    point = st.session_state.get("at") or linked("at", POINT) or usual
    if point != usual or "at" in st.query_params:
        put("at", f"{point[0]:.4f},{point[1]:.4f}")
    return point


def whole_image() -> bool:
    """Of a picture that is not shown the shape must not matter."""
    return st.session_state.get("input") == INPUTS[1] and "picture" in offered("picture")


def offered(otherwise: str) -> str:
    """What the sidebar offers now (`views.Reads`); where there is none, as in tests of a view, `otherwise`."""
    return st.session_state.get(OFFERED, otherwise)


def followed() -> bool:
    """Whether the sidebar shows what is chosen now: what a view changes by itself is not drawn there again."""
    shown = st.session_state.get(SHOWN)
    return shown is None or shown == {key: st.session_state.get(key) for key in shown}


def reads_now(view: Entry) -> Reads:
    """What a view reads as it will be set, known before it is drawn."""
    if view.only is None:
        return view.reads
    now = st.session_state.get(view.only.key) or st.query_params.get(view.only.key)
    chosen = now in (view.only.option, view.only.words, *([None] if view.only.usual else []))
    return view.reads if chosen is view.only.reads else "nothing"


def sources() -> list[str]:
    """The chosen models, checked again: what a browser sends is not to be trusted with a path.

    To those that read text belong the classes that were typed: results are kept by this name, so it holds their digest.
    """
    chosen = st.session_state.get("models") or []
    names = list(dict.fromkeys(str(name) for name in chosen))[:MAX_MODELS]
    texts = classes()
    return [f"{name}{MARK}{digest_of(texts)}" if texts and name in readers() else name for name in names]


def add(name: str) -> None:
    """Choose a model too; where there is room for no more, in the place of the last."""
    st.session_state["models"] = [*_others(name), name]


def choose_first(name: str) -> None:
    """The same as the first of all: a page of one model shows it."""
    st.session_state["models"] = [name, *_others(name)]


def _others(name: str) -> list[str]:
    return [model for model in st.session_state.get("models") or [] if model != name][: MAX_MODELS - 1]


def follow(image: str) -> list[str]:
    """The models that are shown of this picture where nobody has chosen any: with the picture they change too, but
    those that a link named."""
    usual = bundled.usual(image)
    before = st.session_state.setdefault(FOLLOWED, [] if models_named() else usual)
    if before and st.session_state.get("models") == before != usual:
        st.session_state["models"] = usual
    st.session_state[FOLLOWED] = usual if before else []
    return usual


def models_named() -> list[str]:
    """Those that are chosen, or that the address names."""
    of_address = [*st.query_params.get_all("models"), *st.query_params.get_all(f"{KEPT}models")]
    return list(st.session_state.get("models") or _sources_of(of_address))


def _sources_of(titles: list[str]) -> list[str]:
    """As an address names models, or whatever else stands there."""
    sources = {model_names.title(source): source for source in model_names.bundled()}
    return [sources.get(name, name) for name in titles]


def picture_of_models() -> str:
    """Where an address names no picture: the first of the kind that the first model that it names was trained on."""
    model = next(map(bundled.known, models_named()), None)
    return next(name for name in samples.names() if model is None or samples.kind_of(name) == model.pictures)


def usual_picture(image: str) -> str:
    """Which picture an address leaves out while this one is shown: where it leaves out the models too, for they follow
    from the picture, the first of all; else that of the models."""
    return samples.names()[0] if models_named() in ([], bundled.usual(image)) else picture_of_models()


def take_from_address() -> None:
    """What a link names for pickers that the open view has not: without a widget nobody else remembers it."""
    named = {key: st.query_params.get_all(key) or st.query_params.get_all(KEPT + key) for key in KEPT_KEYS}
    named["models"] = _sources_of(named["models"])[:MAX_MODELS]
    for key, values in named.items():
        if values and key not in st.session_state and (key != "input" or values[0] in INPUTS):
            st.session_state[key] = values if key == "models" else values[0]


def keep_in_address(reads: str) -> None:
    """What is chosen in pickers that the open view has not, under a name that no widget is bound to: a reload would
    lose it. A default is in no address."""
    image = str(st.session_state.get("image") or samples.names()[0])
    usual = {"models": bundled.usual(image), "image": usual_picture(image), "input": INPUTS[0]}
    for key in KEPT_KEYS:
        value = st.session_state.get(key)
        if (
            not value
            or value == usual[key]
            or {"models": "models", "image": "picture", "input": "picture and models"}[key] in reads
        ):
            drop(KEPT + key)
            continue
        names = [model_names.title(source) for source in value] if key == "models" else [str(value)]
        if st.query_params.get_all(KEPT + key) != names:
            st.query_params[KEPT + key] = names


def renew_address() -> None:
    """An address holds the names that pickers show. In those of older links bundled models have the names of their
    folders, and some options other words: put today's in their place, once, before any picker reads them."""
    if st.session_state.setdefault("_address_renewed", False):
        return
    st.session_state["_address_renewed"] = True
    today = {
        name: model_names.title(source)
        for source in model_names.bundled()
        for name in (source, source.removeprefix("bundled:"))
    }
    renamed = dict.fromkeys(PICKERS, today) | RENAMED
    older = {key: names for key, of in renamed.items() if of.keys() & set(names := st.query_params.get_all(key))}
    for key, names in older.items():
        st.query_params[key] = [renamed[key].get(name, name) for name in names]
    if older:
        st.rerun()  # a widget takes its value from the address at the beginning of a run


# ---- classes typed as words ------------------------------------------------------------------------------------------
def readers() -> set[str]:
    """The models that this session has seen to read text."""
    return st.session_state.setdefault("_readers", set())


def classes() -> tuple[str, ...]:
    """The typed classes, each once: text, never a path and never Markdown."""
    lines = str(st.session_state.get("classes", FIRST_CLASSES)).splitlines()
    texts = dict.fromkeys(text for line in lines if (text := " ".join(line.split())[:LONGEST_CLASS].strip()))
    return tuple(texts)[:MOST_CLASSES]


def digest_of(texts: tuple[str, ...]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def bare(source: str) -> str:
    """The model of one of `sources`, without its classes."""
    return source.partition(MARK)[0]


def title(source: str) -> str:
    """For people."""
    return model_names.title(bare(source))


def marked(source: str) -> str:
    """The same for the options of pills and segmented controls, which are Markdown."""
    return plain(title(source))


def classes_of(source: str) -> tuple[str, ...]:
    """The classes of one of `sources`; none where others have been typed since."""
    texts = classes()
    return texts if source.partition(MARK)[2] == digest_of(texts) else ()
