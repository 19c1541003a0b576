"""The Compare page as Streamlit runs it: which images, what a click does, models that cannot, work beside the page."""

import io

import pytest
from PIL import Image

from tests.ui.conftest import CNN, SWIN, VIT, at_rest, fine, opened, sent_to, texts
from vizkit.models.probes.cost import Measured
from vizkit.ui.session import models
from vizkit.ui.widgets import known

INSECTS_VIT = "bundled:insects_vit"
DIGITS = ["digit 3", "digit 5", "digit 2"]
FEATURES = "random:vit_small_patch16_dinov3_qkvb"


def side_by_side(**query):
    return opened("compare", **query)


def grid(test):
    (data,) = sent_to(test, "vizkit_tiles")
    return data


def rows_of(test):
    """By the names of the images the cell of each model."""
    data = grid(test)
    heads, many = data["matrix"]["rows"][: data["matrix"]["pictured"]], len(data["matrix"]["columns"])
    return {name: data["maps"][at * many : (at + 1) * many] for at, (name, *_) in enumerate(heads)}


def png(pixels) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


# ---- images ----------------------------------------------------------------------------------------------------------
def test_the_page_opens_on_maps_and_answers_of_all_models_on_one_scale():
    test = side_by_side(models=[VIT, SWIN, CNN], image="digit 3", layer="2")
    assert not test.exception
    data = grid(test)
    assert [name for name, *_ in data["matrix"]["rows"]] == [*DIGITS, "Average over 3 images"]
    assert [each["rows"] for each in data["maps"][:2]] == [8, 16]
    assert all(each["scale"] == data["maps"][0]["scale"] for each in data["maps"])
    assert [each["answers"][0][0] for each in rows_of(test)["digit 3"]] == ["3", "3", "3"]
    assert [len(each["answers"]) for each in data["maps"]] == [5] * 9 + [0] * 3
    assert data["pick"] == 9, "an average is of no image"
    test.selectbox(key="compare_method").set_value("Rollout").run()
    assert not test.exception
    cells = rows_of(test)["digit 3"]
    assert [each["rows"] > 0 for each in cells] == [True, True, False]
    assert cells[2]["note"]
    assert cells[2]["answers"], "a model without this map answers all the same"


@pytest.mark.parametrize(
    ("was", "key", "words", "held"),
    [
        ("Maps", "compare_method", "Grad-CAM", "grad_cam"),
        ("Predictions", "compare_order", "where they disagree first", "where they disagree first"),
    ],
)
def test_the_views_that_stood_alone_lead_here(was, key, words, held):
    query = {"compare_view": was, "images": ["digit 7"], key: words}
    test = side_by_side(models=[VIT, SWIN], image="digit 3", **query)
    assert not test.exception
    assert test.session_state["compare_view"] == "Side by side"
    assert {*rows_of(test)} == {"digit 3", "digit 7"}
    assert test.session_state[key] == held


def test_what_the_cross_has_cleared_comes_back():
    test = side_by_side(models=[VIT, SWIN], image="digit 3", images=["digit 3", "digit 7"])
    test.multiselect(key="images").set_value([]).run()
    assert list(rows_of(test)) == DIGITS
    test.button(key="images_undo").click().run()
    assert not test.exception
    assert list(rows_of(test)) == ["digit 3", "digit 7"]


def test_the_link_holds_the_images_and_the_sidebars_is_one_of_them():
    test = side_by_side(models=[VIT, SWIN], image="digit 7", images=["flower", "digit 2"])
    assert list(rows_of(test)) == ["digit 7", "flower", "digit 2"]
    test.selectbox(key="image").set_value("china").run()
    assert list(rows_of(test)) == ["china", "flower", "digit 2"]
    assert not test.exception


def test_other_models_bring_samples_that_suit_them_unless_the_user_has_chosen():
    test = side_by_side(models=[VIT], image="digit 3")
    test.multiselect(key="models").set_value([INSECTS_VIT]).run()
    assert list(rows_of(test)) == ["digit 3", "mayfly nymph", "stonefly nymph"]
    test.multiselect(key="images").set_value(["digit 3", "flower"]).run()
    test.multiselect(key="models").set_value([SWIN]).run()
    assert list(rows_of(test)) == ["digit 3", "flower"]


def test_all_uploads_up_to_eight_are_compared(photo):
    test = side_by_side(models=[VIT, SWIN, CNN])
    uploader = test.file_uploader(key="uploads")
    uploader.set_value([(f"=photo {n}.png", png(photo[n:]), "image/png") for n in range(9)])
    test.run()
    assert not test.exception
    rows = rows_of(test)
    assert len(rows) == 8
    assert all(name.startswith("=photo") for name in rows)
    assert [each["size"] for each in rows["=photo 3.png"]] == [[45, 64]] * 3


def test_a_click_on_a_thumbnail_makes_the_image_the_sidebars():
    test = side_by_side(models=[VIT], image="digit 3", images=DIGITS)
    test.session_state["image"] = "digit 5"  # what the click does
    test.run()
    assert list(rows_of(test)) == DIGITS, "the order stays"
    assert grid(test)["chosen"] == 2, "the first of its row, of two models"


# ---- models ----------------------------------------------------------------------------------------------------------
@pytest.mark.rest
def test_a_model_of_features_answers_with_likeness_and_one_that_is_missing_says_so():
    test = side_by_side(models=[FEATURES, "bundled:nothing", VIT], image="digit 3")
    assert not test.exception
    likest, classes = (cell["answers"] for cell in rows_of(test)["digit 3"])
    assert likest[0][0] == "most alike images", "no answers"
    assert {name for name, *_ in likest[1:]} == {*DIGITS} - {"digit 3"}
    assert classes[0][0] == "3"
    assert f"{FEATURES} gives features, not classes: shown beside the others, not compared" in texts(test)
    assert [each.value.partition(";")[0] for each in test.warning] == ["There is no bundled model 'nothing'"]
    test.segmented_control(key="compare_view").set_value("Robustness").run()
    assert f"{FEATURES}: the likeness of the changed images to the image itself" in texts(at_rest(test))


def test_the_whole_image_in_place_of_the_crop():
    test = side_by_side(models=[VIT], image="flower", input="whole image", images=["flower"])
    assert not test.exception
    assert rows_of(test)["flower"][0]["box"] == pytest.approx([0, 0, 1, 1], abs=0.02)


@pytest.mark.rest
@pytest.mark.parametrize("view", ["Cost", "Robustness"])
def test_models_made_for_the_whole_image_where_they_can_be(view, monkeypatch: pytest.MonkeyPatch):
    from vizkit.models.probes import shape
    from vizkit.traces import NotApplicable

    see_everything = shape.see_everything

    def refuse_cnn(loaded):
        if not any(hasattr(module, "num_heads") for module in loaded.model.modules()):
            raise NotApplicable("This one takes squares only.")
        return see_everything(loaded)

    monkeypatch.setattr(shape, "see_everything", refuse_cnn)
    models._whole.clear()
    test = opened("compare", models=[VIT, CNN], image="flower", input="whole image", compare_view=view)
    models._whole.clear()
    assert not test.exception
    assert "takes squares only" in "".join(each.value for each in test.warning)


def test_several_models_know_and_one_knows(monkeypatch):
    digits, insects = ":gray-badge[knows 10 handwritten digits]", ":gray-badge[knows 12 drawn insects]"

    def said(of: dict[str, str]) -> str:
        words: list[str] = []
        monkeypatch.setattr(known.st, "markdown", words.append)
        known.chips(of)
        return "".join(words)

    assert said({"a": ""}) == ""
    assert said({"a": digits}) == digits
    assert said({"a": digits, "b": digits}) == "Both :gray-badge[know 10 handwritten digits]"
    assert said({"a": digits, "b": digits, "c": digits}) == "All :gray-badge[know 10 handwritten digits]"
    assert said({"a": digits, "b": digits, "c": insects, "d": ""}) == (
        "a and b :gray-badge[know 10 handwritten digits] · c :gray-badge[knows 12 drawn insects]"
    )


# ---- work beside the page --------------------------------------------------------------------------------------------
def test_the_strength_runs_no_model(monkeypatch: pytest.MonkeyPatch):
    test = at_rest(opened("compare", models=[CNN], image="digit 3", compare_view="Robustness", compare_draws="1"))
    (before,) = sent_to(test, "vizkit_withstands")
    assert all(kind["curves"][0] for kind in before["kinds"])

    def refuse(*_: object) -> None:
        raise AssertionError("a model ran")

    monkeypatch.setattr("vizkit.models.probes.model_functions.logits_of_batch", refuse)
    monkeypatch.setattr("vizkit.views.compare.robustness.changed_pictures", refuse)
    test.session_state["robust_level"] = 7  # what the slider in the picture sends
    test.run()
    assert not test.exception
    (after,) = sent_to(test, "vizkit_withstands")
    assert after == before | {"level": 7}
    assert test.query_params["robust_level"] == "7"


@pytest.mark.rest
def test_cost_is_measured_beside_the_page():
    test = at_rest(opened("compare", models=[VIT, CNN], image="digit 3", compare_view="Cost", cost_batch="2"))
    assert not test.exception
    table = test.dataframe[0].value.set_index("")
    assert table.loc["Tokens or places", "ViT · digits"] == "65"
    assert all("ms (" in each and each.endswith("of 2") for each in table.loc["Time of each of many at once"])
    assert "Measured on: CPU" in texts(test)


def test_what_was_measured_is_measured_again_by_a_click(monkeypatch: pytest.MonkeyPatch):
    """Of a time that something else disturbed."""
    made = []

    def measure(loaded, pixels, batch, tell):
        made.append(loaded.name)
        ms = 1e-3 * len(made)
        return Measured(1, 1, {1: (5 * ms, ms, 9 * ms), batch: (ms, ms, ms)}, 3, "CPU")

    monkeypatch.setattr("vizkit.views.compare.cost.measure", measure)
    test = opened("compare", models=[VIT, CNN], image="digit 3", compare_view="Cost", compare_against="Time")
    test = at_rest(test)
    assert test.dataframe[0].value.set_index("").loc["Time, one image", "CNN · digits"] == "2 ms (median 10 ms)"
    assert "Of the models that are measured " in texts(test)
    assert "2.0 times the time of ViT · digits" in texts(test)
    assert "Measured of chosen models alone, so not drawn: Swin · digits" in texts(test)
    (again,) = [each for each in test.button if each.label == "Measure again"]
    again.click().run()
    test = at_rest(test)
    assert len(made) == 4
    assert test.dataframe[0].value.set_index("").loc["Time, one image", "CNN · digits"] == "4 ms (median 20 ms)"


def test_where_one_model_is_shown_two_are_a_click_away():
    test = side_by_side(image="china")
    assert len(test.session_state["models"]) == 1
    (link,) = [each for each in test.button if each.label == "See two models on a drawn insect"]
    link.click().run()
    fine(test)
    assert test.session_state["image"] == "mayfly nymph"
    assert len(test.session_state["models"]) == 2
    assert {len(row) for row in rows_of(test).values()} == {2}


def test_one_model_is_compared_with_another_that_knows_the_same_images():
    test = side_by_side(models=[VIT], image="digit 3", images=DIGITS)
    fine(test)
    assert [len(row) for row in rows_of(test).values()] == [2, 2, 2]
    assert "One model is chosen; to compare it with: Swin · digits." in texts(test)
    test.button(key=f"add_{SWIN}").click().run()
    assert [*test.session_state["models"]] == [VIT, SWIN]
    assert "One model is chosen" not in texts(test)
