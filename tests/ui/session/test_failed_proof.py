"""What a page shows when the proof of a picture fails: no picture of weights that no layer used, and never green."""

import pytest
import streamlit as st

from tests.ui.conftest import SWIN, VIT, opened, texts
from tests.ui.test_pages import components
from vizkit.models.recording import forward, recorder
from vizkit.ui.session import remembered

PAGES = ("explore", "attention", "rollout", "relevance")
TRUE_WEIGHTS, TRUE_DISTANCE = recorder.attention_weights, forward.apart


@pytest.fixture(autouse=True)
def nothing_remembered():
    """Models and traces made anew: what was compared before would still stand."""

    def forget():
        st.cache_data.clear()
        remembered.shelf.cache_clear()

    forget()
    yield
    forget()


def reversed_channels(query, key, **options):
    return TRUE_WEIGHTS(query.flip(-1), key, **options)


def badges(test):
    return [caption.value for caption in test.caption if ":material/verified:" in caption.value]


@pytest.mark.product
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("model", [VIT, SWIN])
def test_a_prediction_that_recording_changes_is_said_in_red_beside_every_picture(page, model, monkeypatch):
    monkeypatch.setattr(forward, "apart", lambda logits, plain: TRUE_DISTANCE(logits, plain) + 0.01)
    test = opened(page, models=model)
    red = [caption.value for caption in test.caption if caption.value.startswith(":red[")]
    assert any("with recording the prediction is another than without" in value for value in red)
    assert any("logits within 1e-02" in value for value in red)
    assert not badges(test)


@pytest.mark.product
@pytest.mark.parametrize("page", PAGES)
def test_weights_that_no_layer_used_are_not_drawn(page, monkeypatch):
    whole = opened(page, models=VIT)
    assert components(whole) or whole.get("imgs") or whole.get("plotly_chart")
    remembered.shelf.cache_clear()
    monkeypatch.setattr(recorder, "attention_weights", reversed_channels)
    test = opened(page, models=VIT)
    assert "the recorded weights do not give what a layer itself gave" in texts(test)
    assert not components(test)
    assert not test.get("imgs")
    assert not test.get("plotly_chart")
    assert not badges(test)


def test_the_same_pages_are_green_when_nothing_is_wrong():
    assert badges(opened("explore", models=VIT))
