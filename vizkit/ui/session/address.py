"""The address of what is shown: page, choices, cursor. Whoever opens it elsewhere sees the same."""

from collections.abc import Mapping, Sequence
from math import isinf
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import streamlit as st
from streamlit.runtime.scriptrunner_utils.script_run_context import get_script_run_ctx

NEXT = "_page_next"


def link(changed: Mapping[str, str | Sequence[str]] | None = None) -> str:
    """The page that is shown now and its parameters by name, but those `changed`: an address without the server's.

    The browser sends its address with every run, with the value of every bound widget that differs from its default.
    Without a browser only "?" and the parameters.
    """
    page = urlsplit(st.context.url or "").path.rpartition("/")[2]
    shown = {name: st.query_params.get_all(name) for name in st.query_params} | dict(changed or {})
    query = urlencode(sorted(shown.items()), doseq=True, quote_via=quote, safe=":,/")
    return f"{page}?{query}" if query else page


def put(name: str, value: str) -> None:
    """A parameter that no widget is bound to. Only a change is sent: the browser may have gone on meanwhile."""
    if st.query_params.get(name) != value:
        st.query_params[name] = value


def drop(name: str) -> None:
    if name in st.query_params:
        del st.query_params[name]


def keep_valid(key: str, allowed: Any, usual: object = None) -> None:
    """A model with fewer layers or heads may have come in: what no longer exists falls back to `usual`, or to what a
    slider stands at first, which is another one with other ends. Of other options the browser would go on showing the
    one that is gone."""
    if key not in st.session_state or st.session_state[key] in allowed:
        return
    if usual is None:
        del st.session_state[key]
    else:
        st.session_state[key] = usual


def stay(key: str, value: object) -> None:
    """In a fragment that is drawn only while `key` is `value`: where code has just made it so, the browser may send
    what it was before with the fragment's first run, which would turn the page back."""
    if st.session_state.get(key, value) != value:
        st.session_state[key] = value


def drop_infinite() -> None:
    """Of a link, once, before a page draws what is bound to it: where a number is asked for Streamlit makes an int of
    1e999, and fails."""
    if st.session_state.setdefault("_address_finite", False):
        return
    st.session_state["_address_finite"] = True
    infinite = [name for name, value in st.query_params.items() if _infinite(value)]
    for name in infinite:
        drop(name)
    if infinite:
        st.rerun()  # a widget takes its value from the address at the beginning of a run


def _infinite(text: str) -> bool:
    try:
        return isinf(float(text))
    except ValueError:
        return False


def go_to(page: str) -> None:
    """Turn to another page ("pages/explore.py"); what widgets hold goes along. Not without parameters at all: Streamlit
    refuses to clear those that widgets are bound to."""
    st.switch_page(page, query_params={})


def go_next(page: str) -> None:
    """The same from a callback, which cannot turn: the view that is drawn next does."""
    st.session_state[NEXT] = page


def turn_where_asked() -> None:
    if page := st.session_state.pop(NEXT, ""):
        go_to(page)


def settle() -> None:
    """Write into the address what Streamlit leaves out of it: a value that was set before its widget was first drawn,
    and what differs from a default that has changed with the models since. Call it when a view has been drawn."""
    context = get_script_run_ctx()
    if context is None:
        return
    state = context.session_state._state
    with context.session_state.query_params() as parameters:
        for widget_id in context.shared.widget_ids_this_run.snapshot():
            binding, metadata = parameters.get_binding_for_widget(widget_id), state.get_widget_metadata(widget_id)
            if binding is None or metadata is None:
                continue
            value = state.get_widget_value(widget_id)
            if value == metadata.deserializer(None):
                parameters.remove_param(binding.param_key)
                continue
            sent = _as_sent(metadata.serializer(value))
            if not parameters.stored_param_matches_corrected_value(binding.param_key, sent, binding.value_type):
                parameters.set_corrected_value(binding.param_key, sent, binding.value_type)


def _as_sent(value: Any) -> Any:
    """A widget's serialized value as the browser writes it: nothing chosen is an empty text, one value no list."""
    if value is None or (isinstance(value, list) and not value):
        return ""
    return value[0] if isinstance(value, list) and len(value) == 1 else value
