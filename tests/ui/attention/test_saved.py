"""Views of Attention, and all that are records, are saved as they are seen, and are the same again from replay.json."""

import base64

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.ui.conftest import SWIN, VIT, click, opened, sent_to
from vizkit.datasets import samples
from vizkit.hosts.paper import numbers
from vizkit.models import load
from vizkit.views.attention.walkthrough import WalkThrough
from vizkit.views.subject import Subject


def shown(test):
    return [entry.item.shows for entry in test.session_state["_report"].values()]


@pytest.mark.product
@pytest.mark.parametrize("weighted", ["true", "false"])
@pytest.mark.parametrize("model", [VIT, SWIN])
def test_the_matrix_is_saved_as_it_is_shown(model, weighted):
    """From the address of an earlier version; its map is the row of the matrix that is framed."""
    test = opened(
        "attention",
        attention_view="Explorer",
        models=model,
        image="digit 3",
        layer="2",
        fusion="max",
        value_weighted=weighted,
    )
    click(test, "report_walk-through0")
    (view,) = shown(test)
    assert view == WalkThrough(2, query="patch", by_values=weighted == "true", staged=True)
    loaded = load(model)
    found = numbers(view.show(Subject(lambda: loaded, samples.picture("digit 3"))))
    (content,) = sent_to(test, "vizkit_matrix")
    rows, keys, queries = (
        np.frombuffer(base64.b64decode(content[name]), kind)
        for name, kind in (("weights", "<u2"), ("key_ids", "<i4"), ("query_ids", "<i4"))
    )
    every = rows.reshape(content["queries"], content["keys"]) * content["step"]
    assert np.abs(every - found["matrix"]).max() <= content["step"]
    places = keys >= len(content["key_special"])
    row = found["matrix"][queries.tolist().index(content["marked"])]
    at = keys[places] - len(content["key_special"])
    assert_allclose(found["places"].ravel()[at], row[places], atol=1e-6)
    assert np.count_nonzero(found["places"]) == np.count_nonzero(row[places])
