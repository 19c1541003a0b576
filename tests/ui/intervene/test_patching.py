"""The view Patching of the page Intervene, with its work done at once."""

import json
from collections.abc import Callable

import pytest

from tests.ui.conftest import SWIN, VIT, fine, opened, texts
from vizkit.ui.session import background, cached


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(name: str, work: Callable[[background.Task], None]) -> None:
        task = background.Task(cached.device_lock())
        background.run(task, work)
        assert task.state == "done", task.message

    monkeypatch.setattr(background, "start", start)


def drawn(test, key: str) -> dict:
    (figure,) = [each for each in test.get("plotly_chart") if each.proto.id.endswith(key)]
    return json.loads(figure.proto.spec)


@pytest.mark.parametrize("model", [VIT, SWIN])
def test_what_is_put_in_brings_the_answer_back(model: str):
    test = opened("intervene", intervene_view="Patching", models=model, image="digit 3", patching_how="noise",
                  patching_cell="2.3").run()  # fmt: skip
    fine(test)
    assert "The corruption takes 3 from" in texts(test)
    assert "everything put in restores 1, nothing 0" in texts(test)
    heat = drawn(test, "patching_map")["data"][1]
    assert heat["zmax"] == 1
    assert [bar["name"] for bar in drawn(test, "patching_run")["data"]] == ["corrupted", "with the region", "clean"]
    assert "row 2, column 3" in drawn(test, "patching_run")["layout"]["title"]["text"].lower()
    assert drawn(test, "patching_heads")["data"]
    test.slider(key="patching_layer").set_value(2).run()
    fine(test)
    assert drawn(test, "patching_map")["data"][1] != heat


def test_another_picture_can_be_the_corrupted_one():
    test = opened("intervene", intervene_view="Patching", models=VIT, image="digit 3", patching_how="another picture",
                  patching_other="digit 7").run()  # fmt: skip
    fine(test)
    assert "Corrupted: another picture digit 7" in texts(test)
