"""The Compare page as Streamlit runs it: which images, what a click does, models that cannot, work beside the page."""

import io

import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from tests.ui.conftest import CNN, ROOT, SWIN, VIT, at_rest, choose, click, fine, opened, sent_to, texts
from vizkit.models.probes.cost import Measured
from vizkit.ui.session import models
from vizkit.ui.widgets import known

INSECTS_VIT = "bundled:insects_vit"
DIGITS = ["digit 3", "digit 5", "digit 2"]


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


def png(pixels):
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


# ---- images ----------------------------------------------------------------------------------------------------------
def test_the_page_opens_on_maps_and_answers_of_all_models_on_one_scale():
    test = side_by_side(models=[VIT, SWIN, CNN], image="digit 3", layer="2")
    data = grid(test)
    assert [name for name, *_ in data["matrix"]["rows"]] == [*DIGITS, "Average over 3 images"]
    assert [each["rows"] for each in data["maps"][:2]] == [8, 16]
    assert all(each["scale"] == data["maps"][0]["scale"] for each in data["maps"])
    assert [each["answers"][0][0] for each in rows_of(test)["digit 3"]] == ["3", "3", "3"]
    assert [len(each["answers"]) for each in data["maps"]] == [5] * 9 + [0] * 3
    assert data["pick"] == 9, "an average is of no image"
    choose(test, compare_method="Rollout")
    cells = rows_of(test)["digit 3"]
    assert [each["rows"] > 0 for each in cells] == [True, True, False]
    assert cells[2]["note"]
    assert cells[2]["answers"], "a model without this map answers all the same"


def test_what_the_cross_has_cleared_comes_back():
    test = side_by_side(models=[VIT, SWIN], image="digit 3", images=["digit 3", "digit 7"])
    choose(test, images=[])
    assert list(rows_of(test)) == DIGITS
    click(test, "images_undo")
    assert list(rows_of(test)) == ["digit 3", "digit 7"]


def test_the_link_holds_the_images_and_the_sidebars_is_one_of_them():
    test = side_by_side(models=[VIT, SWIN], image="digit 7", images=["flower", "digit 2"])
    assert list(rows_of(test)) == ["digit 7", "flower", "digit 2"]
    choose(test, image="china")
    assert list(rows_of(test)) == ["china", "flower", "digit 2"]


def test_other_models_bring_samples_that_suit_them_unless_the_user_has_chosen():
    test = side_by_side(models=[VIT], image="digit 3")
    choose(test, models=[INSECTS_VIT])
    assert list(rows_of(test)) == ["digit 3", "mayfly nymph", "stonefly nymph"]
    choose(test, images=["digit 3", "flower"])
    choose(test, models=[SWIN])
    assert list(rows_of(test)) == ["digit 3", "flower"]


def test_all_uploads_up_to_eight_are_compared(photo):
    test = side_by_side(models=[VIT, SWIN, CNN])
    uploader = test.file_uploader(key="uploads")
    uploader.set_value([(f"=photo {n}.png", png(photo[n:]), "image/png") for n in range(9)])
    test.run()
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


def test_the_whole_image_in_place_of_the_crop():
    test = side_by_side(models=[VIT], image="flower", input="whole image", images=["flower"])
    assert rows_of(test)["flower"][0]["box"] == pytest.approx([0, 0, 1, 1], abs=0.02)


@pytest.mark.rest
@pytest.mark.parametrize("view", ["Cost", "Robustness"])
def test_models_made_for_the_whole_image_where_they_can_be(view, monkeypatch):
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
    assert "takes squares only" in "".join(each.value for each in test.warning)


def test_several_models_know_and_one_knows(monkeypatch):
    digits, insects = ":gray-badge[knows 10 handwritten digits]", ":gray-badge[knows 12 drawn insects]"

    def said(of):
        words = []
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


def test_what_was_measured_is_measured_again_by_a_click(monkeypatch):
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
    assert test.dataframe[0].value.set_index("").loc["Images per second", "CNN · digits"] == "500, 8 at once"
    assert "Of the models that are measured " in texts(test)
    assert "2.0 times the time of ViT · digits" in texts(test)
    assert "Measured of chosen models alone, so not drawn: Swin · digits" in texts(test)
    (again,) = [each for each in test.button if each.label == "Measure again"]
    again.click().run()
    test = at_rest(test)
    assert len(made) == 4
    assert test.dataframe[0].value.set_index("").loc["Time, one image", "CNN · digits"] == "4 ms (median 20 ms)"


def test_where_nobody_has_chosen_it_opens_on_two_models_and_the_next_page_on_its_own_image():
    test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=600).switch_page("pages/compare.py").run()
    fine(test)
    assert {len(row) for row in rows_of(test).values()} == {2}
    pair = test.session_state["models"]
    choose(test, compare_view="Similarity")
    assert test.session_state["models"] == pair, "which stays on the page"
    test.switch_page("pages/intervene.py").run()
    assert test.session_state["image"] == "china"
    assert len(test.session_state["models"]) == 1


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
    click(test, f"add_{SWIN}")
    assert [*test.session_state["models"]] == [VIT, SWIN]
    assert "One model is chosen" not in texts(test)
