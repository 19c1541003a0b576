"""The Swin page without a browser: every view for a Swin, a sentence for the others, and what the canvas is told."""

import base64

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import vizkit
from tests.ui.conftest import CNN, VIT, fine, opened, sent_to, texts
from vizkit.ui.pages.swin import VIEWS

SWIN, DIGITS_SWIN = "bundled:insects_swin", "bundled:digits_swin"
SMALL = "8 × 8, to be counted"


def told(test: AppTest) -> dict:
    """What the canvas of the shift was given."""
    (content,) = sent_to(test, "vizkit_windows")
    return content


def numbers(text: str, kind: str) -> torch.Tensor:
    return torch.from_numpy(np.frombuffer(base64.b64decode(text), kind).astype(np.int64))


@pytest.mark.parametrize("model", [SWIN, DIGITS_SWIN])
@pytest.mark.parametrize("name", [view.title for view in VIEWS])
def test_every_view_draws_something_and_says_how_to_read_it(name: str, model: str):
    test = opened("swin", models=model, image="flower", swin_view=name)
    fine(test)
    assert not test.info
    assert test.main.get("plotly_chart") or test.main.get("image") or test.main.get("bidi_component")
    assert "What it does not show" in texts(test)


@pytest.mark.parametrize("models", [[VIT], [VIT, CNN]])
def test_without_a_swin_the_bundled_one_of_the_picture_is_shown_and_said_so(models: list[str]):
    test = opened("swin", models=models, image="mayfly nymph", swin_view="Shift")
    fine(test)
    assert "None of your models is a Swin; shown: Swin · insects." in texts(test)
    assert told(test)["grid"] == [14, 14]


def test_a_swin_among_others_is_the_one_that_is_shown():
    test = opened("swin", models=[CNN, DIGITS_SWIN], image="digit 3", swin_view="Shift")
    fine(test)
    assert "This view needs a Swin: Swin · digits." in texts(test)
    assert "None of your models" not in texts(test)
    assert told(test)["grid"] == [16, 16]


def test_of_two_swins_one_is_chosen():
    test = opened("swin", models=[DIGITS_SWIN, SWIN], image="digit 3", swin_view="Shift")
    assert told(test)["grid"] == [16, 16]
    test.segmented_control(key="focus").set_value(SWIN).run()
    fine(test)
    assert told(test)["grid"] == [14, 14]


# ---- what is drawn is what the model does ----------------------------------------------------------------------------


@pytest.mark.parametrize("at", ["0.2000,0.2000", "0.9000,0.2000", "0.1000,0.9000", "0.9500,0.9500"])
def test_the_drawn_mask_regions_and_ids_are_the_models_own(at: str):
    test = opened("swin", models=SWIN, image="mayfly nymph", swin_view="Shift", at=at)
    fine(test)
    content, block = told(test), vizkit.load(SWIN, device="cpu").model.layers[0].blocks[1]  # pyright: ignore
    area = block.window_area
    drawn = numbers(content["allowed"], "u1").view(area, area)
    assert torch.equal(drawn == 1, block.attn_mask[content["chosen"]] == 0)
    regions, ids = numbers(content["regions"], "u1").view(14, 14), numbers(content["ids"], "<i4").view(14, 14)
    assert torch.equal(ids, torch.arange(196).view(14, 14).roll((-3, -3), (0, 1)))
    windows = regions.view(2, 7, 2, 7).permute(0, 2, 1, 3).reshape(4, 49)
    assert torch.equal(windows[:, :, None] == windows[:, None], block.attn_mask == 0)
    x, y = (float(part) for part in at.split(","))
    assert content["token"] == int(y * 14) * 14 + int(x * 14)
    assert "the mask is the model's own attn_mask in all 4 windows" in texts(test)


def test_the_drawn_weights_are_the_recorded_ones():
    from vizkit.ui.sidebar import inputs

    test = opened("swin", models=SWIN, image="mayfly nymph", swin_view="Shift", swin_block="4", at="0.9500,0.9500")
    content = told(test)
    layer = vizkit.trace(vizkit.load(SWIN, device="cpu"), inputs.sample("mayfly nymph").rgb).attention[3]
    assert layer.name == "layers.0.blocks.3.attn"
    drawn = numbers(content["weights"], "<u2").view(49, 49) * content["unit"]
    torch.testing.assert_close(drawn.float(), layer.weights[content["chosen"]].mean(0), atol=2e-5, rtol=1e-4)


def test_before_any_click_the_last_window_is_shown_where_regions_meet():
    test = opened("swin", models=SWIN, image="mayfly nymph", swin_view="Shift")
    assert told(test)["chosen"] == 3
    assert "625 of 49² = 2,401 pairs may see each other: 26%" in texts(test)


def test_the_small_example_can_be_counted():
    test = opened("swin", models=VIT, image="digit 3", swin_view="Shift", shift_grid=SMALL)
    fine(test)
    content = told(test)
    assert content["grid"] == [8, 8]
    assert content["numbers"]
    assert numbers(content["ids"], "<i4").view(8, 8)[0].tolist() == [18, 19, 20, 21, 22, 23, 16, 17]
    assert "64 of 16² = 256 pairs may see each other: 25%" in texts(test)
    assert "1/4 for each" in content["steps"][4][1]
    test.session_state["_shift_token"] = 36
    test.run()
    assert told(test)["chosen"] == 0
    assert "256 of 16² = 256 pairs may see each other: 100%" in texts(test)


# ---- links, steps, blocks --------------------------------------------------------------------------------------------


def test_a_link_opens_stage_block_and_step():
    test = opened(
        "swin", models=SWIN, image="digit 3", swin_view="Shift", swin_stage="2", swin_block="1", shift_step="4"
    )
    fine(test)
    content = told(test)
    assert content["grid"] == [7, 7]
    assert content["step"] == 3
    assert (
        "7 × 7 tokens of 16 pixels · 128 channels · 4 heads · windows of 7 × 7 tokens · one window, no shift"
        in texts(test)
    )
    assert "one window holds the whole grid" in content["steps"][1][1]


@pytest.mark.parametrize("step", ["x", "0", "99", "-3"])
def test_a_broken_link_opens_the_defaults(step: str):
    test = opened("swin", models=SWIN, swin_view="nonsense", swin_stage="9", swin_block="77", shift_step=step)
    fine(test)
    assert test.segmented_control(key="swin_view").value == "Stages"
    test.segmented_control(key="swin_view").set_value("Shift").run()
    fine(test)
    assert 0 <= told(test)["step"] <= 5


def test_another_stage_with_fewer_blocks_falls_back():
    test = opened("swin", models=SWIN, swin_view="Shift", swin_block="4")
    test.segmented_control(key="swin_stage").set_value("2").run()
    fine(test)
    assert test.segmented_control(key="swin_block").value == "2"


def test_padding_after_the_roll_is_told():
    """timm pads what it has rolled, and its mask misses the line where the edges of the image meet."""
    test = opened(
        "swin",
        models=DIGITS_SWIN,
        image="flower",
        input="whole image",
        swin_view="Shift",
        at="0.5000,0.9500",
        swin_stage="2",
    )
    fine(test)
    assert told(test)["size"] != told(test)["grid"]
    assert "across the edges of the image" in texts(test)
    assert "the mask is the model's own" in texts(test)


def test_stepping_and_clicking_run_no_model(monkeypatch: pytest.MonkeyPatch):
    test = opened("swin", models=DIGITS_SWIN, image="digit 5", swin_view="Shift")
    fine(test)
    import vizkit.models

    def ran(*_: object, **__: object) -> None:
        raise AssertionError("a model ran")

    monkeypatch.setattr(vizkit.models, "trace", ran)
    for step in range(6):
        test.session_state["_shift_step"] = step
        test.session_state["at"] = (0.1 + 0.1 * step, 0.5)
        test.run()
        fine(test)
        assert told(test)["step"] == step


# ---- switched off ----------------------------------------------------------------------------------------------------


def test_switching_off_changes_what_is_shown_and_nothing_else():
    test = opened("swin", models=SWIN, image="mayfly nymph", swin_view="Switched off")
    fine(test)
    shown = texts(test)
    assert "without shift" in shown
    assert 0 < elsewhere(shown) < 100
    test.pills(key="swin_off").set_value(["relative bias"]).run()
    fine(test)
    assert "without relative bias" in texts(test)
    assert elsewhere(texts(test)) not in (0, elsewhere(shown))
    test.pills(key="swin_off").set_value([]).run()
    fine(test)
    assert elsewhere(texts(test)) == 0


def elsewhere(text: str) -> float:
    line = next(line for line in text.splitlines() if "of the rollout lies elsewhere" in line)
    return float(line.split("· ")[1].split("%")[0])


def test_stages_tell_the_golden_shapes_of_swin_t():
    test = opened("swin", models="random:swin_tiny_patch4_window7_224", image="flower")
    fine(test)
    table = test.main.table[0].value
    assert list(table["tokens"]) == ["56 × 56 = 3,136", "28 × 28 = 784", "14 × 14 = 196", "7 × 7 = 49"]
    assert list(table["channels"]) == ["96", "192", "384", "768"]
    assert len(test.main.get("image")) + len(test.main.get("imgs")) >= 4
