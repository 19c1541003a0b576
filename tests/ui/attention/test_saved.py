"""Views of Attention, and all that are records, are saved as they are seen, and are the same again from replay.json."""

import base64

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.conftest import SWIN, VIT, fine, opened, saved_again, sent
from vizkit.datasets import samples
from vizkit.models import load
from vizkit.report.kinds import Fused, Heads
from vizkit.views import VIEWS
from vizkit.views.subject import Subject

SAVES = {  # page, view → key of its Save, how many pictures it has
    ("attention", "Explorer"): ("explorer", 2),
    **{(each.page, each.title): (f"{each.name}0", 1) for each in VIEWS.values()},
}


@pytest.mark.parametrize("model", [VIT, SWIN])
@pytest.mark.parametrize(("page", "view"), SAVES)
def test_pictures_are_the_same_again(page: str, view: str, model: str):
    test = opened(page, **{f"{page}_view": view}, models=model, image="digit 3", layer="2", fusion="max")
    fine(test)
    saved_again(test, *SAVES[page, view])


def shown(test: AppTest) -> list:
    return [entry.item.shows for entry in test.session_state["_report"].values()]


@pytest.mark.parametrize("weighted", ["true", "false"])
@pytest.mark.parametrize("model", [VIT, SWIN])
def test_the_explorer_saves_the_map_that_it_shows(model: str, weighted: str):
    """Its places are a row of what the canvas was given, whose query the file names."""
    test = opened("attention", attention_view="Explorer", models=model, image="digit 3", layer="2", fusion="max",
                  value_weighted=weighted)  # fmt: skip
    test.button(key="report_explorer").click().run()
    (fused,) = shown(test)
    assert fused == Fused((0.5, 0.5), 2, "max", weighted == "true")
    places = fused.drawn(Subject(lambda: load(model), samples.picture("digit 3"))).numbers["places"]
    content = sent(test, "explorer_map")
    rows, ids = (np.frombuffer(base64.b64decode(content[name]), kind) for name, kind in
                 (("weights", "<u2"), ("key_ids", "<i4")))  # fmt: skip
    keys = ids[ids >= 0] - len(content["key_special"])
    row = places.ravel()[keys[keys >= 0]]
    every = rows.reshape(content["queries"], content["keys"])[:, ids >= 0][:, keys >= 0] * content["step"]
    off = np.abs(every - row).max(1)
    assert (off <= content["step"]).sum() == 1
    assert np.count_nonzero(places) == np.count_nonzero(row)


def test_all_heads_are_saved_for_the_query():
    test = opened("attention", attention_view="Explorer", models=VIT, image="digit 3", query="[cls]")
    test.selectbox(key="saved_explorer").set_value("All layers and heads").run()
    test.button(key="report_explorer").click().run()
    assert shown(test) == [Heads("cls")]
