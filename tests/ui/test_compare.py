"""The Compare page as Streamlit runs it: answers of models with and without common classes, maps, cost, changes."""

import csv
import io
import math
from dataclasses import replace

import pytest
import torch
from PIL import Image

import vizkit
from tests.ui.conftest import CNN, SWIN, VIT, opened, sent, sent_to, texts
from tests.ui.test_relevance_page import forget_results, until_done
from vizkit.analysis.attribution.subject import Stopped
from vizkit.analysis.comparison.average_map import average, doublings, strongest, times_equal
from vizkit.analysis.comparison.disagreement import overlaps
from vizkit.analysis.comparison.perturbation import PERTURBATIONS, perturbed
from vizkit.figure.evaluation.strength_curves import legend, strength_curves
from vizkit.figure.overlay import times_of
from vizkit.figure.saved.single import number_words
from vizkit.ui.pages.compare import answers as compare_answers
from vizkit.ui.pages.compare import changes, cost, images, predictions, robustness
from vizkit.ui.session import cached
from vizkit.ui.session.background import Task
from vizkit.ui.session.remembered import shelf
from vizkit.ui.sidebar import inputs
from vizkit.ui.widgets import known
from vizkit.views.compare.maps import Found, limits_of

INSECTS_VIT, INSECTS_CNN = "bundled:insects_vit", "bundled:insects_cnn"
DIGITS = ["digit 3", "digit 5", "digit 2"]
FEATURES = "random:vit_small_patch16_dinov3_qkvb"


@pytest.fixture(autouse=True)
def no_results():
    forget_results()


def rows_of(test):
    return {row["name"]: row for row in sent(test, "compare_grid")["rows"]}


def table_of(test, index=0):
    return test.dataframe[index].value


def png(pixels) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


# ---- predictions -----------------------------------------------------------------------------------------------------
def test_vit_swin_and_cnn_on_three_digits():
    test = opened("compare", models=[VIT, SWIN, CNN], image="digit 3")
    assert not test.exception
    assert test.session_state["images"] == DIGITS
    rows = rows_of(test)
    assert list(rows) == DIGITS
    assert sent(test, "compare_grid")["models"] == ["ViT · digits", "Swin · digits", "CNN · digits"]
    loaded = vizkit.load(VIT, device="cpu")
    expected = vizkit.trace(loaded, inputs.sample("digit 5").rgb).logits.softmax(0)
    first = rows["digit 5"]["cells"][0]["bars"][0]
    assert first["name"] == loaded.labels[int(expected.argmax())]
    assert first["share"] == pytest.approx(float(expected.max()), abs=1e-5)
    assert rows["digit 3"]["lines"][0] == "All 3 predict 3."
    assert "bit of Jensen–Shannon divergence, mean of the pairs" in rows["digit 3"]["lines"][1]
    assert [cell["mark"] for cell in rows["digit 3"]["cells"]] == ["A", "A", "A"]
    assert [bar["right"] for bar in rows["digit 3"]["cells"][0]["bars"]].count(True) == 1
    assert list(table_of(test)["same first class"]) == ["3 of 3"] * 3
    assert "not compared" not in texts(test)


def test_a_class_has_one_colour_over_the_page():
    """Two models put 1 before 3 in the first image, and 2 before 1 in the second."""
    own = vizkit.load(VIT, device="cpu")
    opened_here = {"a": own, "b": own}
    agreed = images.agreed(opened_here, {})
    found = []
    for first, second in ((1, 3), (2, 1)):
        logits = torch.zeros(10)
        logits[first], logits[second] = 9.0, 8.0
        each = images.Answer(logits, (0.0, 0.0, 8.0, 8.0))
        found.append(compare_answers.Row("", inputs.sample("digit 3"), [each, each], {}, (), {}))
    table = compare_answers.Table(opened_here, agreed, {}, found)
    colours = predictions.colours_of(table)
    bars = [predictions.drawn(row, table, colours)["cells"][place]["bars"] for row in found for place in (0, 1)]
    by_class: dict[str, set] = {}
    for bar in [bar for each in bars for bar in each]:
        by_class.setdefault(bar["name"], set()).add(bar["colour"])
    assert all(len(each) == 1 for each in by_class.values())
    assert len({*by_class["1"], *by_class["2"], *by_class["3"]}) == 3


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


def test_what_clears_all_images_says_so_and_can_be_undone():
    test = opened("compare", models=[VIT, SWIN], image="digit 3")
    assert list(rows_of(test)) == DIGITS
    assert not [button for button in test.button if button.key == "images_undo"]
    test.multiselect(key="images").set_value([]).run()
    assert list(rows_of(test)) == ["digit 3"]
    assert "Cleared, but for the sidebar's image" in texts(test)
    test.button(key="images_undo").click().run()
    assert not test.exception
    assert list(rows_of(test)) == DIGITS
    assert "Cleared" not in texts(test)


def test_models_of_other_classes_are_shown_beside_and_not_compared():
    test = opened("compare", models=[VIT, INSECTS_VIT, INSECTS_CNN], image="mayfly nymph")
    assert not test.exception
    assert "not compared: ViT · digits; ViT · insects and CNN · insects." in texts(test)
    row = rows_of(test)["mayfly nymph"]
    assert [cell["mark"] for cell in row["cells"]] == ["", "A", "A"]
    assert row["lines"][0] == "Both predict mayfly nymph."
    assert len(table_of(test)) == 1


def test_lists_that_share_a_part_say_how_much():
    own, labels = vizkit.load(VIT, device="cpu"), {"few": ("Cat", "dog, hound"), "more": ("ant", "cat", "dog")}
    models = {name: replace(own, labels=each) for name, each in labels.items()}
    agreed = images.agreed(models, {})
    table = compare_answers.Table(models, agreed, overlaps(agreed), [])
    assert predictions.unmatched(table) == (
        "few and more have 2 classes in common by name, of 2 and 3; only these are compared."
    )


def test_disagreement_orders_and_filters():
    every = {"models": [SWIN, CNN], "images": ["digit 3", "flower", "digit 7"]}
    test = opened("compare", **every, image="digit 3", compare_order="where they disagree first")
    assert not test.exception
    bits = [float(row["lines"][1].split()[0]) for row in rows_of(test).values()]
    assert len(bits) == 3
    differ = [not row["lines"][0].startswith("Both") for row in rows_of(test).values()]
    assert differ == sorted(differ, reverse=True)
    test.toggle(key="compare_differ").set_value(True).run()
    if any(differ):
        assert list(rows_of(test).values()) == [row for row in rows_of(test).values() if "B " in row["lines"][0]]
    else:
        assert "give the same first class" in texts(test)


def test_the_link_holds_the_images_and_the_sidebars_is_one_of_them():
    test = opened("compare", models=[VIT, SWIN], image="digit 7", images=["flower", "digit 2"])
    assert list(rows_of(test)) == ["digit 7", "flower", "digit 2"]
    test.multiselect(key="images").set_value(["flower"]).run()
    assert list(rows_of(test)) == ["digit 7", "flower"]
    test.selectbox(key="image").set_value("china").run()
    assert list(rows_of(test)) == ["china", "digit 7", "flower"]
    assert not test.exception


def test_other_models_bring_samples_that_suit_them_unless_the_user_has_chosen():
    test = opened("compare", models=[VIT], image="digit 3")
    assert test.session_state["images"] == DIGITS
    test.multiselect(key="models").set_value([INSECTS_VIT]).run()
    assert test.session_state["images"] == ["digit 3", "mayfly nymph", "stonefly nymph"]
    test.multiselect(key="images").set_value(["digit 3", "flower"]).run()
    test.multiselect(key="models").set_value([SWIN]).run()
    assert test.session_state["images"] == ["digit 3", "flower"]


def test_the_suggestion_follows_image_and_models_and_new_uploads_join_what_was_chosen(photo):
    test = opened("compare", models=[VIT], image="digit 3")
    test.selectbox(key="image").set_value("backswimmer").run()
    assert test.session_state["images"] == ["backswimmer", *DIGITS]
    test.multiselect(key="models").set_value([INSECTS_VIT]).run()
    assert test.session_state["images"] == ["backswimmer", "mayfly nymph", "stonefly nymph"]
    test.multiselect(key="images").set_value(["backswimmer", "flower"]).run()
    test.file_uploader(key="uploads").set_value([(f"{n}.png", png(photo[n:]), "image/png") for n in range(2)]).run()
    assert test.session_state["images"] == ["0.png", "1.png", "backswimmer", "flower"]
    assert not test.exception


def test_all_uploads_up_to_eight_are_compared(photo):
    test = opened("compare", models=[VIT, SWIN, CNN])
    uploader = test.file_uploader(key="uploads")
    uploader.set_value([(f"=photo {n}.png", png(photo[n:]), "image/png") for n in range(9)])
    test.run()
    assert not test.exception
    rows = rows_of(test)
    assert len(rows) == 8
    assert all(name.startswith("=photo") for name in rows)
    assert rows["=photo 3.png"]["size"] == [64, 45]
    assert all(len(row["cells"]) == 3 for row in rows.values())


def test_a_click_on_a_thumbnail_makes_the_image_the_sidebars():
    test = opened("compare", models=[VIT], image="digit 3")
    test.session_state["image"] = "digit 5"  # what the click does
    test.run()
    assert list(rows_of(test)) == DIGITS, "the order stays"
    assert sent(test, "compare_grid")["focus"] == "digit 5"


def test_a_model_of_features_and_one_that_is_missing_say_so():
    test = opened("compare", models=[FEATURES, "bundled:nothing", VIT], image="digit 3")
    assert not test.exception
    assert "features, not classes" in rows_of(test)["digit 3"]["cells"][0]["refused"]
    assert len(rows_of(test)["digit 3"]["cells"]) == 2
    assert test.warning
    test.segmented_control(key="compare_view").set_value("Robustness").run()
    assert "features, not classes" in texts(test)


def test_the_csv_has_every_answer_and_no_formula():
    loaded = {source: vizkit.load(source, device="cpu") for source in (VIT, CNN)}
    rgb = inputs.sample("digit 3")
    answers = [images._answer((source, "test"), source, rgb) for source in loaded]
    agreed = images.agreed(loaded, {})
    firsts = {i: int(each.logits.argmax()) for i, each in enumerate(answers)}
    row = compare_answers.Row("=1+1", rgb, list(answers), firsts, ((0, 1),), {(0, 1): 0.125})
    table = compare_answers.Table(loaded, agreed, {(0, 1): ([], [])}, [row])
    lines = list(csv.DictReader(io.StringIO(compare_answers.as_csv(table))))
    assert len(lines) == 10
    assert lines[0]["image"] == "'=1+1"
    assert [line["rank"] for line in lines] == ["1", "2", "3", "4", "5"] * 2
    assert (lines[0]["class"], lines[0]["answer"], lines[1]["answer"]) == ("3", "A", "")
    assert float(lines[0]["probability"]) == pytest.approx(float(answers[0].logits.softmax(0).max()), rel=1e-4)
    assert float(lines[0]["apart_bits"]) == 0.125


def test_the_whole_image_in_place_of_the_crop():
    test = opened("compare", models=[VIT], image="flower", input="whole image", images=["flower"])
    assert not test.exception
    cell = rows_of(test)["flower"]["cells"][0]
    assert cell["box"] == pytest.approx([0, 0, 1, 1], abs=0.02)


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
    cached._whole.clear()
    test = opened("compare", models=[VIT, CNN], image="flower", input="whole image", compare_view=view)
    cached._whole.clear()
    assert not test.exception
    assert "takes squares only" in "".join(each.value for each in test.warning)
    if view == "Cost":
        assert list(table_of(test).columns) == ["ViT · digits"]
        assert table_of(test).loc["Input", "ViT · digits"] != "32 × 32 pixels"


# ---- maps ------------------------------------------------------------------------------------------------------------
def test_one_map_of_every_model_on_every_image_on_one_scale():
    test = opened("compare", models=[VIT, SWIN, CNN], image="digit 3", compare_view="Maps", layer="2")
    assert not test.exception
    grid, average = sent_to(test, "vizkit_tiles")
    assert [name for name, *_ in grid["matrix"]["rows"]] == DIGITS
    assert [each["rows"] for each in grid["maps"][:2]] == [8, 16]
    assert len({(each["from"], each["to"]) for each in (*grid["maps"], *average["maps"])}) == 1
    assert len(grid["images"]) == len(DIGITS)
    test.selectbox(key="compare_method").set_value("Rollout").run()
    assert not test.exception
    assert [each["rows"] > 0 for each in sent_to(test, "vizkit_tiles")[0]["maps"][:3]] == [True, True, False]


def test_maps_of_any_unit_and_grid_are_compared_and_averaged():
    fine, coarse = torch.tensor([[1.0, 3.0], [0.0, 0.0]]), torch.tensor([[8.0]])
    torch.testing.assert_close(times_equal(fine), fine)
    torch.testing.assert_close(times_equal(5 * fine), fine)
    torch.testing.assert_close(
        average([times_equal(fine), times_equal(coarse)]), torch.tensor([[1.0, 2.0], [0.5, 0.5]])
    )
    assert strongest(fine) == 0.75
    assert strongest(-fine) == 0
    times = torch.tensor([[0.0, 1.0], [-3.0, 63.0]])
    assert doublings(times).tolist() == [[0.0, 1.0], [-2.0, 6.0]]
    assert [times_of(value) for value in doublings(times).flatten().tolist()] == times.flatten().tolist()
    assert number_words(float(doublings(times).max()), "×") == "63 ×"
    assert limits_of([Found(each, False, None) for each in (times, 2 * times)]) == (0.0, pytest.approx(math.log2(127)))


def test_what_the_cross_has_cleared_comes_back():
    test = opened("compare", models=[VIT, SWIN], image="digit 3", images=["digit 3", "digit 7"], compare_view="Maps")
    test.multiselect(key="images").set_value([]).run()
    test.button(key="images_undo").click().run()
    assert not test.exception
    assert test.session_state["images"] == ["digit 3", "digit 7"]


# ---- cost ------------------------------------------------------------------------------------------------------------
def test_cost_is_counted_at_once_and_measured_when_asked():
    test = opened("compare", models=[VIT, SWIN, CNN], image="digit 3", compare_view="Cost", cost_batch="2")
    assert not test.exception
    table = table_of(test)
    loaded = vizkit.load(VIT, device="cpu")
    assert table.loc["Parameters", "ViT · digits"] == cost.counted_in(loaded.parameters)
    assert table.loc["Tokens or places", "ViT · digits"] == "65"
    assert set(table.loc["Time, one image"]) == {"–"}
    test.button(key="compare_measure").click().run()
    test = until_done(test, "compare_cost")
    assert not test.exception
    table = table_of(test)
    assert all("ms (" in each for each in table.loc["Time per image, 2 at once"])
    assert all("MiB" in each for each in table.loc["Memory, training"])
    assert "CPU" in texts(test)


def test_published_numbers_stand_in_brackets():
    test = opened("compare", models="random:deit_small_patch16_224", image="flower", compare_view="Cost")
    assert not test.exception
    table = table_of(test)["random:deit_small_patch16_224"]
    assert list(table.loc[["Parameters", "Multiply–adds"]]) == ["22.1 M (22 M)", "4.6 G (4.6 G)"]
    assert table.loc["Images per second"] == "– (V100: 940.4)"


def test_published_numbers_belong_to_a_size():
    loaded = vizkit.load("deit_small_patch16_224", pretrained=False, device="cpu", image_size=(112, 112))
    assert cost.published(loaded) is None


# ---- robustness ------------------------------------------------------------------------------------------------------
def test_curves_are_the_models_answers_to_the_changed_picture():
    test = opened("compare", models=[VIT, CNN], image="digit 3", compare_view="Robustness")
    test = until_done(test, "robustness")
    assert not test.exception
    charts = test.get("plotly_chart")
    assert len(charts) == len(PERTURBATIONS) == len(test.main.get("image"))
    loaded, rgb = vizkit.load(VIT, device="cpu"), inputs.sample("digit 3").rgb
    request = changes.Request({VIT: cached.model(VIT)}, {VIT: None}, inputs.sample("digit 3"), 0)
    for kind in ("rotation", "noise", "shuffle"):
        logits = request.logits(VIT, kind)
        assert logits is not None
        level = 4
        changed = perturbed(rgb, kind, PERTURBATIONS[kind].strengths[level], 0)
        torch.testing.assert_close(logits[level], vizkit.trace(loaded, changed).logits, rtol=1e-4, atol=1e-4)
        plain = vizkit.trace(loaded, rgb).logits
        assert changes.followed(logits, loaded.head)[0] == pytest.approx(float(plain.softmax(0).max()), abs=1e-5)
    lines = list(csv.DictReader(io.StringIO(changes.as_csv(request))))
    assert len(lines) == 9 * 8
    assert {line["answer"] for line in lines if line["strength"] == "0"} == {"3"}


def test_the_slider_runs_no_model(monkeypatch: pytest.MonkeyPatch):
    test = until_done(opened("compare", models=[VIT], image="digit 3", compare_view="Robustness"), "robustness")

    def refuse(*_: object) -> None:
        raise AssertionError("a model ran")

    monkeypatch.setattr("vizkit.models.probes.model_functions.logits_of_batch", refuse)
    monkeypatch.setattr("vizkit.analysis.comparison.perturbation.perturbed", refuse)
    before = [image.proto.imgs[0].url for image in test.main.get("image")]
    test.slider(key="robust_level").set_value(7).run()
    assert not test.exception
    assert "180°" not in texts(test)
    assert "135°" in texts(test)
    after = [image.proto.imgs[0].url for image in test.main.get("image")]
    assert len(after) == len(PERTURBATIONS)
    assert all(one != other for one, other in zip(before, after, strict=True))


def test_stop_keeps_what_is_there_and_going_on_does_the_rest(monkeypatch: pytest.MonkeyPatch):
    request = changes.Request({VIT: cached.model(VIT)}, {VIT: None}, inputs.sample("digit 3"), 0)
    task = Task(cached.device_lock())

    put = shelf().put

    def put_and_stop(key: tuple, value: object) -> None:
        put(key, value)
        if key[:1] == ("changed",) and key[2] == list(PERTURBATIONS)[1]:
            task.stopping.set()

    monkeypatch.setattr(shelf(), "put", put_and_stop)
    with task.lock, pytest.raises(Stopped):
        changes.compute(request, request.todo(), task)
    left = request.todo()
    assert left == list(PERTURBATIONS)[2:]
    task = Task(cached.device_lock())
    with task.lock:
        changes.compute(request, left, task)
    assert request.todo() == []
    assert replace(request, seed=1).todo() == ["noise", "occlusion", "shuffle"]


def test_an_image_without_cells_is_refused_in_a_sentence():
    from vizkit.image import Picture
    from vizkit.traces import NotApplicable

    tiny = Picture(torch.zeros(9, 40, 3).byte().numpy(), "tiny", "")
    with pytest.raises(NotApplicable, match="fewer than 14 pixels"):
        robustness.strip_of(tiny, [VIT])


# ---- its charts ------------------------------------------------------------------------------------------------------
def test_the_chart_holds_the_numbers_and_marks_the_strength():
    figure = strength_curves(["a", "b"], (0.0, 1.0, 4.0), [torch.tensor([0.9, 0.5, 0.1]).numpy(), None], 1, "px")
    (curve,) = figure.data
    assert curve.name == "a"
    assert list(curve.x) == [0, 1, 4]
    assert list(curve.y) == pytest.approx([0.9, 0.5, 0.1])
    assert [size > 0 for size in curve.marker.size] == [False, True, False]
    assert [shape.x0 for shape in figure.layout.shapes] == [1]


def test_the_legend_shows_names_as_text():
    assert "&lt;b&gt;" in legend(["<b>", "x"])
    assert "<b>" not in legend(["<b>", "x"])
