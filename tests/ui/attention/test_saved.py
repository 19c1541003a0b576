"""Views of Attention, and all that are records, are saved as they are seen, and are the same again from replay.json."""

import base64

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.conftest import SWIN, VIT, at_rest, fine, opened, saved_again, sent, texts
from vizkit.datasets import samples
from vizkit.hosts.paper import numbers
from vizkit.models import load
from vizkit.traces import NotApplicable
from vizkit.ui.session.needs import NEEDS
from vizkit.views import VIEWS, Entry
from vizkit.views.attention.explorer import Explorer
from vizkit.views.subject import Subject


def fitting(entry: Entry) -> str:
    """A model that the view has a meaning for: of digits, where one has."""
    models = NEEDS[entry.needs or "model"].models
    return next((name for name in models if "digits" in name), models[0])


# One of each page, and of what views read, need and work for: that every view is its JSON, shows the same twice and is
# on paper as it is seen, the contract says; that each page offers to keep it, the inventory.
KINDS = {
    (entry.page, entry.reads, entry.needs == "", entry.only is None): name for name, entry in reversed(VIEWS.items())
}


@pytest.mark.product
@pytest.mark.parametrize(("kind", "name"), [(kind[1:], name) for kind, name in KINDS.items()])
def test_pictures_are_the_same_again(kind: tuple, name: str):
    entry = VIEWS[name]
    of = {"models": fitting(entry), "image": "digit 3", "layer": "2", "fusion": "max"}
    test = opened(entry.page, **{f"{entry.page}_view": entry.title}, **of)
    if test.info and not any(str(button.key).startswith("report_") for button in test.button):
        return  # it has no meaning for this model, and says so
    fine(test)
    said = ""
    try:
        saved_again(test, f"{name}0", 1)
    except NotApplicable as sentence:  # of work that the page does afterwards
        said = str(sentence)
    assert said in texts(at_rest(test) if said else test)


def shown(test: AppTest) -> list:
    return [entry.item.shows for entry in test.session_state["_report"].values()]


@pytest.mark.product
@pytest.mark.parametrize("weighted", ["true", "false"])
@pytest.mark.parametrize("model", [VIT, SWIN])
def test_the_explorer_saves_the_map_that_it_shows(model: str, weighted: str):
    """Its places are a row of what the canvas was given, whose query the file names."""
    test = opened(
        "attention",
        attention_view="Explorer",
        models=model,
        image="digit 3",
        layer="2",
        fusion="max",
        value_weighted=weighted,
    )
    test.button(key="report_fused-heads0").click().run()
    (fused,) = shown(test)
    assert fused == Explorer(2, "patch", "max", weighted == "true")
    loaded = load(model)
    places = numbers(fused.show(Subject(lambda: loaded, samples.picture("digit 3"))))["places"]
    content = sent(test, "fused-heads0")
    rows, ids = (
        np.frombuffer(base64.b64decode(content[name]), kind) for name, kind in (("weights", "<u2"), ("key_ids", "<i4"))
    )
    keys = ids[ids >= 0] - len(content["key_special"])
    row = places.ravel()[keys[keys >= 0]]
    every = rows.reshape(content["queries"], content["keys"])[:, ids >= 0][:, keys >= 0] * content["step"]
    off = np.abs(every - row).max(1)
    assert (off <= content["step"]).sum() == 1
    assert np.count_nonzero(places) == np.count_nonzero(row)
