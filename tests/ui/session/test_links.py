"""The address holds everything: whatever is set on a view, whoever opens its address sees it set the same.

Of every view: tests/ui/inventory/test_every_view.py.
"""

import json

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Widget

from tests.ui import test_views
from tests.ui.conftest import choose, texts
from tests.ui.conftest import opened as shell_opened
from vizkit.ui.asking import not_here
from vizkit.ui.session.needs import NEEDS
from vizkit.views.controls import controls
from vizkit.views.train.landscape import LossLandscape

KINDS = ("button_group", "selectbox", "multiselect", "slider", "select_slider", "number_input", "toggle", "checkbox")
KINDS += ("radio", "text_input", "text_area", "pagination", "color_picker", "date_input", "time_input", "feedback")
# What is no part of a picture: forms that start something, names typed before deleting, what a Save button takes, and
# examples that fill in what is typed.
ACTIONS = (
    "field_",
    "train_",
    "run_delete_name",
    "experiment_seed",
    "size_seed",
    "size_data",
    "saved_",
    "edits_temperature",
)
PRIVATE = (
    "run",
    "size_folder",
    "eval_folder",
    "_sequence_text_example",
    "_sequence_letters_example",
    "_sequence_words_example",
)  # mirrored by hand; folders of forms, never
TYPED = {
    "logits": "cat 3, dog 1",
    "sequence_text": "21.11.2026",
    "attention_sentence": "the water is still",
}
ROUNDS = 3  # a choice may bring other widgets with it


def widgets(test):
    for kind in KINDS:
        for widget in test.get(kind):
            assert isinstance(widget, Widget)
            yield widget


def unbound(test):
    return [
        f"{widget.type} {widget.proto.label!r} (key={widget.key!r})"
        for widget in widgets(test)
        if not widget.proto.query_param_key and not str(widget.key).startswith(ACTIONS) and widget.key not in PRIVATE
    ]


def others(test, widget):
    """The values that it does not have: of a range its ends."""
    metadata = test._session_state._state.get_widget_metadata(widget.id)
    value, proto = widget.value, widget.proto
    if options := list(getattr(widget, "options", [])):
        now = metadata.serializer(value)
        taken = [now] if isinstance(now, str) else now or []
        rest = [option for option in options if option not in taken]
        alone = metadata.value_type == "string_value"
        return [metadata.deserializer(option if alone else [option]) for option in rest]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, str):
        return [TYPED[str(widget.key)]]
    kind = type(proto.min if value is None else value)
    return [end for end in (kind(proto.min), kind(proto.max)) if end != value]


def another(test, widget):
    """A value that it does not have, and not its default, which the browser takes out of the address and an AppTest
    does not; its own where there is no other."""
    default = test._session_state._state.get_widget_metadata(widget.id).deserializer(None)
    return next((value for value in others(test, widget) if value != default), widget.value)


def state(test):
    return {str(widget.key): widget.value for widget in widgets(test) if widget.proto.query_param_key}


def shown(test):
    """What is read, and what canvases were given; how often one was clicked it knows alone."""
    sent = [json.loads(component.proto.json) for component in test.main.get("bidi_component")]
    return texts(test), [{key: value for key, value in data.items() if key not in ("heard", "epoch")} for data in sent]


def models_of(view):
    """Two that have what the view needs, where two are at hand: which of them is chosen is part of the address; or one,
    and what is shown beside it."""
    here = [name for name in NEEDS[view.needs or "model"].models if name.startswith(("bundled:", "random:"))]
    if view.beside:
        return [here[0], NEEDS[view.beside].models[0]]
    return [*here, *(["bundled:digits_swin"] if view.needs in ("model", "transformer", "classes") else [])][:2]


def set_otherwise(stem, test):
    """Gives every widget another value than it has; says which of them are not in the address."""
    done, loose = {f"{stem}_view"}, unbound(test)
    for _ in range(ROUNDS):
        todo = [w for w in widgets(test) if w.key not in done and w.proto.query_param_key and not w.disabled]
        if not todo:
            break
        for widget in todo:
            done.add(str(widget.key))
            widget.set_value(another(test, widget))
        test.run()
        loose += unbound(test)  # a choice may take widgets away, too
    for widget in loose:
        yield (
            f'{widget} changes the picture but not its address. Give it bind="query-params" and a clear key; or name '
            "it in ACTIONS of tests/ui/session/test_links.py where it is no part of what is seen."
        )


def test_a_link_has_picture_models_input_and_cursor():
    test = shell_opened()
    for key, value in (("image", "china"), ("models", ["bundled:digits_swin", "bundled:digits_vit"])):
        next(widget for widget in widgets(test) if widget.key == key).set_value(value)
    test.session_state["at"] = (0.25, 0.75)
    test.run()
    next(widget for widget in widgets(test) if widget.key == "input").set_value("whole image")
    test.run()
    assert test.query_params["at"] == "0.2500,0.7500"
    again = shell_opened(**test.query_params)
    assert state(again) == state(test)
    assert again.query_params == test.query_params


def test_the_middle_of_the_picture_is_in_the_address_again_after_another_place():
    test = shell_opened(models="bundled:digits_vit", at="0.2500,0.7500")
    test.session_state["at"] = (0.5, 0.5)
    assert test.run().query_params["at"] == "0.5000,0.5000"


def test_a_link_that_makes_no_sense_opens_the_view_as_it_begins():
    usual, models = shell_opened(models="bundled:digits_vit"), "bundled:digits_vit"
    test = shell_opened(models=models, layer="99", head="zz", query="[nobody]", scale="?", draw="?", focus="?", at="?")
    assert state(test) == state(usual)
    said = texts(test)
    assert "In this link Layer is a number from 1 to 6, not 99. The usual one is shown." in said
    assert "In this link Head is a number from 1 to 4, not 'zz'" in said or "In this link Head cannot be 'zz'" in said
    assert "In this link Query cannot be 'nobody': there are patch, cls." in said
    assert "In this link" not in texts(usual)
    hostile = texts(shell_opened(models=models, layer="[call](http://here)"))
    assert "In this link Layer cannot be what it says." in hostile
    assert "call" not in hostile
    assert "Layer is a number" not in texts(choose(test, layer=2)), "another one is chosen"


def test_a_link_with_a_choice_whose_name_has_an_apostrophe_is_not_refused():
    plane = controls(LossLandscape)["plane"]
    assert not_here(plane, "the run's own path", []) == ""
    assert not_here(plane, "nobody's path", []) == "In this link Plane cannot be what it says. The usual one is shown."


def test_a_default_that_changes_with_the_models_leaves_a_link_what_it_was():
    """Block 1 is not the usual one of a stage with two blocks, but that of a stage with one."""
    test = test_views.opened("swin", "Window", ["bundled:insects_swin"], swin_stage="2", swin_block="1")
    again = test_views.opened("swin", "Window", ["bundled:insects_swin"], **test.query_params)
    assert state(again) == state(test)


# ---- it can fail -----------------------------------------------------------------------------------------------------
def careless():
    import streamlit as st

    from vizkit.ui.session.address import settle

    st.slider("Forgotten", 1, 5, key="forgotten")
    st.toggle("Known", key="known", bind="query-params")
    st.session_state.setdefault("preset", "b")
    st.selectbox("Preset", ["a", "b"], key="preset", bind="query-params")
    if st.query_params.get("settled") == "yes":
        settle()


def test_a_widget_that_is_not_bound_is_named():
    assert unbound(AppTest.from_function(careless).run()) == ["slider 'Forgotten' (key='forgotten')"]


def test_a_value_that_was_set_before_its_widget_was_drawn_is_in_the_address_only_when_settled():
    assert "preset" not in AppTest.from_function(careless).run().query_params
    test = AppTest.from_function(careless)
    test.query_params["settled"] = "yes"
    assert test.run().query_params["preset"] == "b"
