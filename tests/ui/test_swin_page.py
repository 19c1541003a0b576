"""The Swin page as a host draws it: links, the step that the canvas tells, and that a click runs no model."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.conftest import CNN, fine, opened, sent_to, texts

SWIN, DIGITS_SWIN = "bundled:insects_swin", "bundled:digits_swin"


def told(test: AppTest) -> dict:
    """What the canvas of the shift was given."""
    (content,) = sent_to(test, "vizkit_windows")
    return content


def test_of_two_swins_one_is_chosen():
    test = opened("swin", models=[CNN, DIGITS_SWIN, SWIN], image="digit 3", swin_view="Shift")
    assert told(test)["grid"] == [16, 16]
    test.segmented_control(key="focus").set_value(SWIN).run()
    fine(test)
    assert told(test)["grid"] == [14, 14]


def test_a_link_opens_block_and_step():
    test = opened("swin", models=SWIN, image="digit 3", swin_view="Shift", swin_block="5", shift_step="4")
    fine(test)
    assert told(test)["grid"] == [7, 7]
    assert told(test)["step"] == 4
    assert "Block 5, number 1 of 2 in stage 2 · 7 × 7 tokens of 16 pixels" in texts(test)


@pytest.mark.product
@pytest.mark.parametrize("step", ["x", "0", "99", "-3"])
def test_a_broken_link_opens_the_defaults(step: str):
    test = opened("swin", models=SWIN, swin_view="nonsense", swin_block="77", shift_step=step)
    fine(test)
    assert test.segmented_control(key="swin_view").value == "Shift"
    assert told(test)["step"] == 1


@pytest.mark.rest
def test_stepping_and_clicking_run_no_model(monkeypatch: pytest.MonkeyPatch):
    test = opened("swin", models=DIGITS_SWIN, image="digit 5", swin_view="Shift")
    fine(test)
    import vizkit.models

    def ran(*_: object, **__: object) -> None:
        raise AssertionError("a model ran")

    monkeypatch.setattr(vizkit.models, "trace", ran)
    for step in range(1, 7):
        test.session_state["shift_step"] = step
        test.session_state["at"] = (0.1 + 0.1 * step, 0.5)
        test.run()
        fine(test)
        assert told(test)["step"] == step
        assert test.query_params.get("shift_step", "1") == str(step)
