"""The controls of a view as widgets of the page, bound to the address."""

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import streamlit as st

from vizkit.figure.palette import OPACITIES
from vizkit.ui.plain import plain
from vizkit.ui.session import linked_picture
from vizkit.ui.session.address import drop, keep_valid, put
from vizkit.ui.sidebar import folders
from vizkit.ui.widgets import run_choice, texts
from vizkit.ui.widgets.controls import choose_drawing, more
from vizkit.ui.widgets.stage import PLAYED, scrubber
from vizkit.views import Entry, entry
from vizkit.views.address import as_text, from_text, key_of
from vizkit.views.controls import Control, ControlError, controls, options, refusal, setting
from vizkit.views.subject import Subject
from vizkit.views.view import View

MOST_BUTTONS = 5  # of a choice beside one another; more are a list
LAST = 2  # of what is asked: after what few change, to which it may belong
SAID = ("choice", "number", "layer", "head", "query", "switch")  # of which `ask` says what a link cannot have
_NONE = object()
SLIDER_PX, SCRUBBER_PX, LIST_PX, MOST_LIST_PX, HEAD_PX, TEXT_PX = 150, 270, 150, 320, 110, 480


def ask(
    entry: Entry, cls: type[View], of: Sequence[Subject], given: Mapping[str, Any] = MappingProxyType({})
) -> tuple[View, str]:
    """The view as it is set, and how maps are drawn (a key of OPACITIES). `given`: fields that a page has chosen
    already; then what few change is not asked either."""
    asked = controls(cls)
    values, drawn, refused = dict(given), next(iter(OPACITIES)), list[str]()

    def choose(turn: int) -> None:
        for name in asked:
            control = controls(cls(**values))[name]
            if control.follows and not turn:  # what is asked after it may bound it
                control = controls(cls(**values | _coming(entry, cls(**values), of)))[name]
            later = LAST if control.belongs else int(control.more)
            if name in given or later != turn or not (control.when is None or control.when(cls(**values))):
                continue
            key, default = key_of(entry, name, control), cls.__dataclass_fields__[name].default
            linked = None if key in st.session_state else st.query_params.get(key)
            if control.kind == "choice" and callable(control.options) and len(known := options(control, of)) == 1:
                values[name] = known[0]  # these models leave nothing to choose
            elif control.inside:
                told = _told(key, control, partial(setting, cls(**values), name, of=of), default)
                values[name] = _still(key, control, {"image": of[0].image, **values}, told, default)
            else:
                values[name] = WIDGETS[control.kind](key, control, of, default)
            if linked and (sentence := not_here(control, linked, of)):
                st.session_state[f"_{key}_refused"] = sentence, values[name]
            said, instead = st.session_state.get(f"_{key}_refused", ("", _NONE))
            if values[name] == instead:
                refused.append(said)

    with st.container(horizontal=True, vertical_alignment="bottom"):
        choose(0)
        if not given and (cls.overlays or any(control.more for control in asked.values())):
            with more():
                choose(1)
                drawn = choose_drawing() if cls.overlays else drawn
    choose(LAST)
    for name in asked:
        if asked[name].kind == "run" and name not in given:
            run_choice.say_missing(values[name])
    if refused:
        st.caption(f":material/link_off: {plain(' '.join(refused))}")
    return cls(**values), drawn


def not_here(control: Control, text: str, of: Sequence[Subject]) -> str:
    """Why what a link asks is not shown; "" where it is, and where its own widget says so. It is said until another is
    chosen."""
    if control.pictures or control.meant is not None or control.kind not in SAID or _settled(control, of):
        return ""
    value = from_text(control, text)
    sentence = f"cannot be {text!r}." if value is None else refusal(control, value, of)
    if sentence and not re.fullmatch(r"[\w .\[\]-]{1,30}", text):
        sentence = "cannot be what it says."  # a page repeats no words that somebody has put into a link
    return f"In this link {control.label} {sentence} The usual one is shown." if sentence else ""


def _coming(entry: Entry, view: View, of: Sequence[Subject]) -> dict[str, Any]:
    """Choices that few change, as their widgets have them already."""
    found: dict[str, Any] = {}
    for name, control in controls(view).items():
        key = key_of(entry, name, control)
        value = st.session_state.get(key, st.query_params.get(key))
        if control.more and control.kind == "choice" and value in options(control, of):
            found[name] = value
    return found


def _told(key: str, control: Control, read: Callable[[Any], Any], default: Any) -> Any:
    """What the picture itself has set, else the address."""
    value = default
    with contextlib.suppress(ControlError):
        known = st.session_state.get(key, st.query_params.get(key, ""))
        known = from_text(control, known) if isinstance(known, str) else known  # widgets of heads hold texts
        value = default if known is None else read(known)
    return value


def _still(key: str, control: Control, values: Mapping[str, Any], value: Any, default: Any) -> Any:
    """What the picture has set, the usual where what it belongs to is another since; it is kept in the address."""
    if control.belongs:
        held, to = f"_{key}_of", [values.get(name) for name in control.belongs]
        before, last = st.session_state.get(held, (to, default))
        if before != to and value == last:
            st.session_state.pop(key, None)
            value = default
        st.session_state[held] = to, value
    if value == default:
        drop(key)
    else:
        put(key, str(as_text(control, value)))
    return value


# ---- one widget for each kind ----------------------------------------------------------------------------------------
def _detector(key: str, control: Control, of: Sequence[Subject], default: str) -> str:
    return _choice(key, replace(control, listed=True), of, default)


def _run(key: str, control: Control, of: Sequence[Subject], default: str) -> str:
    return run_choice.choose(options(control, of), default, control.help)


def _choice(key: str, control: Control, of: Sequence[Subject], default: Any) -> Any:
    known = options(control, of)
    if control.pictures:
        linked_picture.say_missing(key, [*known, *map(control.called, known)])
    linked = st.query_params.get(key, "") if key not in st.session_state else ""  # later the widget owns the parameter
    if control.meant is not None and linked and linked not in known:
        try:
            put(key, control.meant(of, linked))
            st.rerun()  # a widget takes its value from the address at the beginning of a run
        except ControlError as sentence:
            st.info(plain(str(sentence)))
    default = default if default in known or not known else known[0]
    keep_valid(key, known, default)
    if not known or (control.listed and len(known) == 1):  # nothing to choose from
        return default
    if control.listed or len(known) > MOST_BUTTONS:
        return st.selectbox(
            control.label,
            known,
            known.index(default),
            control.called,
            key=key,
            bind="query-params",
            help=control.help or None,
            width=min(MOST_LIST_PX, max(LIST_PX, 60 + 8 * max(len(control.called(name)) for name in known))),
        )
    value = st.segmented_control(
        control.label,
        known,
        default=default,
        required=True,
        key=key,
        bind="query-params",
        help=control.help or None,
        format_func=lambda name: plain(control.called(name)),
        wrap=True,  # beside others it would run out at the right of a telephone
    )
    return default if value is None else value  # none at an empty text in the address


def _several(key: str, control: Control, of: Sequence[Subject], default: Any) -> tuple[str, ...]:
    known = options(control, of)
    more = {"key": key, "bind": "query-params", "help": control.help or None}
    if control.pictures:
        linked_picture.say_missing(key, known)
    if len(known) > MOST_BUTTONS:
        usual = ", ".join(control.examples(of) if callable(control.examples) else control.examples)
        more |= {"max_selections": control.most, "placeholder": usual or None}
        chosen = tuple(st.multiselect(control.label, known, list(default), control.called, **more))
        _offer_undo(key, chosen)
        return chosen
    more |= {"format_func": lambda option: plain(control.called(option)), "wrap": True}
    chosen = st.pills(control.label, known, default=list(default), selection_mode="multi", **more)
    return tuple(option for option in known if option in chosen)


def _offer_undo(key: str, chosen: tuple[str, ...]) -> None:
    """The cross of a list takes all of it at once: it can be taken back."""
    held = f"_{key}_chosen"
    before = st.session_state.get(held, ())
    if chosen:
        st.session_state[held] = chosen
    elif len(before) > 1:
        st.button("Undo", icon=":material/undo:", key=f"{key}_undo", on_click=_take, args=(key, list(before)))


def _query(key: str, control: Control, of: Sequence[Subject], default: Any) -> Any:
    known = options(control, of)
    default = default if default in known else known[0]
    keep_valid(key, known, default)
    if len(known) == 1:  # nothing to choose from
        return known[0]
    value = st.pills(
        control.label,
        known,
        default=default,
        required=True,
        key=key,
        bind="query-params",
        help=control.help or None,
        format_func=lambda name: name if name == "patch" else plain(control.words.get(name, f"[{name}]")),
        wrap=True,
    )
    return default if value is None else value


def _slider(key: str, control: Control, of: Sequence[Subject], default: int | float | None) -> Any:
    """None for the last layer, where that is usual: then it stands for whatever is the last."""
    if _settled(control, of):
        return default
    low, high = control.ends(of)
    places = control.places(of)
    kind = float if any(isinstance(each, float) for each in (*places, control.step)) else int
    low, high, step = kind(low), kind(high), kind(control.step)
    if kind is int:
        keep_valid(key, places or range(int(low), int(high) + 1))
    shown: Any = {"key": key, "bind": "query-params", "width": SLIDER_PX, "help": control.help or None}
    place = st.container(key=f"{PLAYED}{key}") if control.plays else contextlib.nullcontext()
    with place:
        if control.typed:
            _untyped(key, default or low)
            value = st.number_input(control.label, low, high, default or low, step, **shown)
        elif places:
            value = st.select_slider(control.label, places, high if default is None else default, _number, **shown)
        else:
            top = max(low + step, high)
            first = control.usual(of) if control.usual else high
            usual = min(kind(first if default is None else default), top)
            value = st.slider(control.label, low, top, usual, step, disabled=high <= low, **shown)
    if control.plays:
        with st.container(width=SCRUBBER_PX):
            scrubber(f"{key}_play", key, control, [kind(step) for step in control.steps(of)], value)
    return None if default is None and (value == control.usual(of) if control.usual else value >= high) else value


def _untyped(key: str, usual: int | float) -> None:
    """What nobody has typed is the usual one of this view, where another of the page has another."""
    former = st.session_state.get(f"_{key}_usual", usual)
    if former != usual and st.session_state.get(key) == former:
        st.session_state[key] = usual
    st.session_state[f"_{key}_usual"] = usual


def _settled(control: Control, of: Sequence[Subject]) -> bool:
    """Whether a number has one value, or its end is not known yet: there is nothing to choose from."""
    if control.kind != "number" or not (control.at or control.follows):
        return False
    low, high = control.ends(of)
    return low == high


def _number(value: int | float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _head(key: str, control: Control, of: Sequence[Subject], default: None) -> int | None:
    last = int(control.ends(of)[1])
    if last < 2:  # no head but one, which is the mean
        return None
    known = ["mean", *(str(number) for number in range(1, last + 1))]
    keep_valid(key, known, known[0])
    value = st.selectbox(control.label, known, key=key, bind="query-params", width=HEAD_PX, help=control.help or None)
    return None if value == "mean" else int(value)


def held(control: Control, value: Any) -> Any:
    """A value as the widget of its field has it."""
    return str(value) if control.kind in ("head", "choice") else value


def open_view(view: View) -> None:
    """Another view of this page, with all its settings."""
    other = entry(view)
    for name, control in controls(view).items():
        if (value := getattr(view, name)) is not None:
            st.session_state[key_of(other, name, control)] = held(control, value)
    st.session_state[f"{other.page}_view"] = other.title


def _switch(key: str, control: Control, of: Sequence[Subject], default: bool) -> bool:
    dead = not control.ends(of)[1]
    on = st.toggle(control.label, default, key=key, bind="query-params", help=control.help or None, disabled=dead)
    return on and not dead


def _text(key: str, control: Control, of: Sequence[Subject], default: str) -> str:
    examples = list(control.examples(of) if callable(control.examples) else control.examples)
    usual = examples[0] if examples else default
    former = st.session_state.get(f"_{key}_examples", examples)
    if former != examples and st.session_state.get(key) in former:  # of another model, and nobody typed it
        del st.session_state[key]
    st.session_state[f"_{key}_examples"] = examples
    text = st.text_input(
        control.label,
        usual,
        control.longest,
        key=key,
        bind="query-params",
        placeholder=usual or None,
        help=control.help or None,
        live=not control.runs,
        width=TEXT_PX,
    )
    if examples:
        with st.popover("Examples", icon=":material/list:"):
            for number, example in enumerate(examples):
                st.button(plain(example), key=f"_{key}_{number}", on_click=_take, args=(key, example), type="tertiary")
    return default if text == usual else text


def _take(key: str, value: object) -> None:
    st.session_state[key] = value


def _folder(key: str, control: Control, of: Sequence[Subject], default: str) -> str:
    path = folders.choose(key, LIST_PX, linked=True, zips=control.zips)
    if not path:
        return default
    for each in of:  # a zip file that is given is at hand from now on
        each.folders = {**each.folders, st.session_state[key]: path}
    return str(st.session_state[key])


def _text_model(key: str, control: Control, of: Sequence[Subject], default: str) -> str:
    known = options(control, of)
    linked = st.query_params.get(key)
    if key not in st.session_state and linked and linked not in known:
        st.session_state[f"_{key}_missing"] = linked[:60]
    if st.session_state.get(key, default) != default:
        st.session_state.pop(f"_{key}_missing", None)
    chosen = str(_choice(key, replace(control, listed=True), of, default))
    texts.dialog(key)
    if name := st.session_state.get(f"_{key}_missing"):  # what another session opened, until a model is chosen
        named = plain(name) if texts.OPENED in name else "a model"  # whatever else somebody wrote there is not shown
        st.warning(f"This link shows {named}, which is not here: open its files again, or choose another model.")
    return chosen


WIDGETS = {
    "choice": _choice,
    "several": _several,
    "query": _query,
    "layer": _slider,
    "head": _head,
    "number": _slider,
    "switch": _switch,
    "text": _text,
    "folder": _folder,
    "text model": _text_model,
    "detector": _detector,
    "run": _run,
}
