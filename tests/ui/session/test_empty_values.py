"""An empty value in the address, `&learned_grid=`, is what a field usually is; nothing chosen of several stays so."""

from functools import cache

import pytest
from streamlit.testing.v1 import AppTest

from vizkit.datasets import samples
from vizkit.models import load
from vizkit.views import VIEWS, class_of
from vizkit.views.address import key_of
from vizkit.views.controls import controls
from vizkit.views.subject import Subject

MODELS = {"swin": "digits_swin", "convolution": "digits_cnn"}


@cache
def subject(name):
    loaded = load(f"bundled:{name}")
    return Subject(lambda: loaded, samples.picture("digit 3"), image="digit 3", model=name)


def asked(name, of, empty):
    """The view as its controls give it; `empty`: what stands in the address without a value."""

    def script(name, of):
        import streamlit as st

        from vizkit.ui.asking import ask
        from vizkit.views import VIEWS, class_of

        st.session_state["_view"] = ask(VIEWS[name], class_of(name), of)

    test = AppTest.from_function(script, default_timeout=60, args=(name, of))
    for key in empty:
        test.query_params[key] = ""
    for _ in range(2):
        test.run()
    return test.session_state["_view"]


@pytest.mark.product
@pytest.mark.parametrize("page", sorted({entry.page for entry in VIEWS.values()}))
def test_an_empty_value_is_the_usual_one(page):
    for name in [name for name, entry in VIEWS.items() if entry.page == page]:
        entry, fields = VIEWS[name], controls(class_of(name))
        of = [subject(each) for each in (MODELS.get(page, "digits_vit"), *(["digits_vit"] if entry.beside else []))]
        keys = [key_of(entry, field, each) for field, each in fields.items() if each.kind not in ("several", "text")]
        assert asked(name, of, [*keys, "draw"]) == asked(name, of, []), name
