"""The view Steer of the page Intervene, with its work done at once."""

import json

import pytest

import vizkit.models
from tests.ui.conftest import VIT, fine, opened, texts
from tests.ui.intervene.test_patching import at_once  # noqa: F401  a fixture


def drawn(test, key: str) -> dict:
    (figure,) = [each for each in test.get("plotly_chart") if each.proto.id.endswith(key)]
    return json.loads(figure.proto.spec)


def test_a_direction_turns_the_answer_and_the_slider_runs_no_model(monkeypatch: pytest.MonkeyPatch):
    test = opened("intervene", intervene_view="Steer", models=VIT, image="digit 3", steer_class="7").run()
    fine(test)
    assert "Towards 7: from λ = " in texts(test)
    assert "7 (" in texts(test)
    names = {line["name"].strip() for line in drawn(test, "steer_curves")["data"]}
    assert {"3", "7"} <= names

    def no_more(*_: object, **__: object) -> None:
        raise AssertionError("a model ran because a slider moved")

    monkeypatch.setattr(vizkit.models, "trace", no_more)
    test.select_slider(key="steer_by").set_value(3.0).run()
    fine(test)
    assert "**λ = 3**" in texts(test)
