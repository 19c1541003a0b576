"""The Distillation page without a browser: Temperature, and Teacher and student."""

import numpy as np
import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from tests.figure.plots import class_bars_of, figures
from tests.ui.conftest import CNN, SWIN, VIT, opened, texts
from tests.ui.test_pages import png
from vizkit.ui.pages.distillation import pair, typed_logits

DEIT = "bundled:insects_deit"
PAIR = "Teacher and student"
DIGITS = {"distillation_view": PAIR, "models": VIT, "teacher": "digits_cnn", "students": "digits_vit"}
MANY = DIGITS | {"distil_over": "many pictures", "distil_images": "50"}


def short(model: str) -> str:
    """As the pickers of the page show it and the address says it."""
    return model.removeprefix("bundled:")


# ---- temperature -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("model", [VIT, SWIN, CNN, DEIT])
def test_temperature_of_every_kind_of_model(model: str):
    test = opened("distillation", models=model, image="digit 3")
    assert not test.exception
    assert not test.warning
    assert not test.error
    assert len(class_bars_of(test)) == 5  # four temperatures, dark knowledge
    assert len(figures(test)) == 1  # the axis
    for column in range(4):
        shown = class_bars_of(test)[column]
        assert sum(shown["value"]) == pytest.approx(1)
        assert shown["value"] == sorted(shown["value"], reverse=True)
        assert shown["name"] == class_bars_of(test)[0]["name"]  # the order never changes
        assert shown["colour"] == class_bars_of(test)[0]["colour"]
    assert "T = 10" in texts(test)


def test_typed_logits_are_the_golden_example():
    test = opened("distillation", logits_of="typed logits", models=VIT)
    assert test.text_input(key="logits").value == typed_logits.GOLDEN
    assert class_bars_of(test)[0]["value"] == pytest.approx([0.997, 0.002, 0, 0, 0], abs=1e-3)
    assert class_bars_of(test)[2]["value"] == pytest.approx([0.637, 0.192, 0.129, 0.021, 0.021], abs=1e-3)
    assert sum(class_bars_of(test)[4]["value"]) == pytest.approx(1)
    assert "log 5 = 1.61" in texts(test)


def test_typed_logits_survive_what_cannot_be_read():
    test = opened("distillation", logits_of="typed logits", logits="cow = 4, dog = 2", models=VIT)
    assert class_bars_of(test)[0]["name"] == ["cow", "dog"]
    for text in ("cow = 4, dog = much", "", "1e9, 2", "nan, 1", "*_*"):
        test.text_input(key="logits").set_value(text).run()
        assert not test.exception
        assert len(test.warning) == 1
        assert class_bars_of(test)[0]["name"] == ["cow", "dog"]  # the last that could be read
    test.text_input(key="logits").set_value("-10000; 10000; 9999,5").run()
    assert not test.warning
    test.select_slider(key="temperature").set_value(0.05).run()
    assert not test.exception
    assert class_bars_of(test)[3]["value"][0] == pytest.approx(1 - 4.54e-5, abs=1e-6)


def test_a_link_reopens_temperature():
    test = opened(
        "distillation", logits_of="typed logits", logits="1, 2, 3", temperature="0.5", log_scale="true", models=VIT
    )
    assert test.select_slider(key="temperature").value == 0.5
    assert "T = 0.5" in texts(test)
    assert test.toggle(key="log_scale").value
    broken = opened("distillation", logits_of="nonsense", logits="x", temperature="-3", models=VIT)
    assert not broken.exception
    assert broken.select_slider(key="temperature").value == 10


def test_without_a_model_there_are_typed_logits():
    test = opened("distillation", models=VIT)
    test.multiselect(key="models").set_value([]).run()
    assert not test.exception
    assert (len(class_bars_of(test)), len(figures(test))) == (5, 1)


def test_a_thousand_classes_show_the_first_and_the_rest():
    test = opened("distillation", models="random:test_vit", image="flower")
    shown = class_bars_of(test)[3]
    assert shown["name"][-1] == "990 others"
    assert sum(shown["value"]) == pytest.approx(1)
    assert len(shown["name"]) == 11


def test_moving_a_slider_runs_no_model_and_changes_only_its_own_bars(monkeypatch: pytest.MonkeyPatch):
    test = opened("distillation", models=VIT, image="digit 3")
    before = class_bars_of(test)
    forbid_models(monkeypatch)
    test.select_slider(key="temperature").set_value(20.0).run()
    assert not test.exception
    assert not test.warning
    after = class_bars_of(test)
    assert after[:3] == before[:3]
    assert after[3]["value"] != before[3]["value"]
    assert after[3]["axis"] == before[3]["axis"]


def forbid_models(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    import vizkit.models

    def ran(*_: object, **__: object) -> None:
        raise AssertionError("a model ran because a slider moved")

    monkeypatch.setattr(vizkit.models, "trace", ran)
    monkeypatch.setattr(torch.nn.Module, "__call__", ran)


# ---- teacher and student ---------------------------------------------------------------------------------------------
def losses(test: AppTest) -> dict[str, list[float]]:
    """The table of losses, by student."""
    lines = next(each.value for each in test.markdown if each.value.startswith("|  | KL |")).split("\n")[2:]
    rows = [[cell.strip(" *%") for cell in line.strip("|").split("|")] for line in lines]
    return {row[0].replace("\\", ""): [float(cell) for cell in row[1:]] for row in rows}


def test_the_default_is_the_bundled_teacher_and_two_students():
    test = opened("distillation", distillation_view=PAIR, models=VIT, image="water strider")
    assert not test.exception
    assert not test.warning
    assert not test.info
    assert test.selectbox(key="teacher").value == "bundled:insects_cnn"
    assert test.selectbox(key="label").value == "water strider"
    assert list(losses(test)) == ["DeiT · insects", "ViT · insects"]
    for kl, scaled, label, choice, soft, hard in losses(test).values():
        assert scaled == pytest.approx(9 * kl, abs=0.006)
        assert soft == pytest.approx((label + scaled) / 2, abs=0.002)
        assert hard == pytest.approx((label + choice) / 2, abs=0.002)
    assert len(class_bars_of(test)) == 5  # three answers, who adds what, the gradient
    assert len(figures(test)) == 2  # why T², the surface
    parts = class_bars_of(test)[3]["value"]
    assert sum(parts) == pytest.approx(losses(test)["DeiT · insects"][0], abs=6e-4)


@pytest.mark.parametrize(
    ("teacher", "student"), [(CNN, VIT), ("bundled:insects_swin", "bundled:insects_cnn"), ("bundled:insects_vit", DEIT)]
)
def test_every_kind_teaches_every_kind(teacher: str, student: str):
    test = opened(
        "distillation",
        distillation_view=PAIR,
        models=VIT,
        image="digit 3",
        teacher=short(teacher),
        students=short(student),
    )
    assert not test.exception
    assert not test.warning
    assert not test.info, test.info[0].value
    assert (len(class_bars_of(test)), len(figures(test))) == (4, 2)
    assert class_bars_of(test)[0]["colour"] == class_bars_of(test)[1]["colour"]


def test_other_label_sets_are_refused_in_a_sentence():
    test = opened(
        "distillation",
        distillation_view=PAIR,
        models=VIT,
        teacher=short(CNN),
        students=[short(DEIT), short(VIT)],
        image="digit 3",
    )
    assert not test.exception
    assert len(test.info) == 1
    assert "CNN · digits knows 10 classes (0, 1, …) and DeiT · insects 12 classes" in test.info[0].value
    assert list(losses(test)) == ["ViT · digits"]  # the other student is shown
    alone = opened(
        "distillation", distillation_view=PAIR, models=VIT, teacher=short(CNN), students=short(DEIT), image="digit 3"
    )
    assert not alone.exception
    assert len(alone.info) == 1
    assert not figures(alone)
    assert not class_bars_of(alone)


def test_sliders_run_no_model_and_the_loss_follows_them(monkeypatch: pytest.MonkeyPatch):
    test = opened("distillation", **DIGITS, image="digit 3")
    axes = [drawn["axis"] for drawn in class_bars_of(test)[:2]]
    forbid_models(monkeypatch)
    test.select_slider(key="loss_temperature").set_value(8.0).run()
    test.slider(key="share").set_value(1.0).run()
    assert not test.exception
    assert not test.warning
    kl, scaled, _, choice, soft, hard = losses(test)["ViT · digits"]
    assert scaled == pytest.approx(64 * kl, abs=0.04)
    assert soft == pytest.approx(scaled, abs=1e-3)
    assert hard == pytest.approx(choice, abs=1e-3)
    point = figures(test)[1]["data"][-1]
    assert (point["x"], point["y"]) == ([8.0], [1.0])
    assert [drawn["axis"] for drawn in class_bars_of(test)[:2]] == axes


def test_a_label_belongs_to_its_image():
    test = opened("distillation", **DIGITS, image="digit 3")
    assert test.selectbox(key="label").value == "3"
    right = losses(test)["ViT · digits"][2]
    test.selectbox(key="label").set_value("8").run()
    assert losses(test)["ViT · digits"][2] > right + 1
    test.sidebar.selectbox(key="image").set_value("digit 7").run()
    assert test.selectbox(key="label").value == "7"
    test.sidebar.selectbox(key="image").set_value("flower").run()
    assert not test.exception
    assert "not known" in texts(test)


def test_many_pictures_are_asked_once(monkeypatch: pytest.MonkeyPatch):
    test = opened("distillation", **MANY, distil_set="digits")
    assert not test.exception
    assert not test.error
    assert "mean over 50 pictures" in texts(test)
    found = losses(test)["ViT · digits"]
    assert (np.array(found[-2:]) > 90).all()  # right, and as the teacher, in percent
    forbid_models(monkeypatch)
    test.select_slider(key="loss_temperature").set_value(8.0).run()
    assert not test.exception
    assert losses(test)["ViT · digits"][0] != found[0]
    assert losses(test)["ViT · digits"][2] == found[2]  # the label knows no T


def test_pictures_of_other_classes_are_refused():
    test = opened("distillation", **MANY)
    assert not test.exception
    assert "insects shows mayfly nymph and other classes that CNN · digits does not know" in test.info[0].value


def test_a_folder_and_no_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_DATA_ROOTS", str(tmp_path))
    draw = np.random.default_rng(0)
    for folder in ("train/3", "train/8", "test/3", "test/8"):
        (tmp_path / folder).mkdir(parents=True)
        for index in range(3):
            picture = draw.integers(0, 255, (32, 32, 3), dtype=np.uint8)
            Image.fromarray(picture).save(tmp_path / folder / f"{index}.png")
    test = opened("distillation", **MANY, distil_set="a folder")
    assert not test.exception
    assert "Choose a folder" in texts(test)
    test.selectbox(key="distil_folder").set_value(tmp_path.name).run()
    assert not test.exception
    assert not test.error, test.error[0].value
    assert "mean over 6 pictures" in texts(test)
    (tmp_path / "test" / "3" / "0.png").write_bytes(png()[:80])
    pair.opened_set.clear()
    test.run()
    assert not test.exception
    assert len(test.error) == 1
    assert "damaged" in test.error[0].value


def test_no_student_asks_for_one():
    test = opened("distillation", **DIGITS)
    test.multiselect(key="students").set_value([]).run()
    assert not test.exception
    assert "Choose a student" in texts(test)
