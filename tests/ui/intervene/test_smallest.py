"""The view Smallest set: it searches when it is asked to, keeps what there is, and says that it is greedy."""

import time

import pytest

from tests.ui.conftest import CNN, VIT, fine, opened, texts


@pytest.mark.parametrize(
    ("model", "query"),
    [(VIT, {"smallest_of": "heads", "smallest_goal": "flip the answer"}), (CNN, {"smallest_goal": "flip the answer"})],
)
def test_a_search_ends_in_a_picture_a_curve_and_a_sentence(model: str, query: dict):
    test = opened("intervene", intervene_view="Smallest set", models=model, image="digit 3", **query)
    fine(test)
    assert len(test.get("plotly_chart")) == 1
    test.button(key="smallest_start").click().run()
    end = time.monotonic() + 60
    while test.session_state["_task_smallest"].running and time.monotonic() < end:
        time.sleep(0.1)
    test.run()
    fine(test)
    assert test.session_state["_task_smallest"].state == "done"
    assert len(test.get("plotly_chart")) == 2
    assert "Without " in texts(test)
    assert "the answer is no longer 3" in texts(test)
