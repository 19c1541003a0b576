"""Published results: their numbers, how they are filtered and drawn, and the models that stand beside them."""

import re
from itertools import combinations

import numpy as np
import pytest

import vizkit
from tests.ui.conftest import opened, texts
from tests.ui.test_train_page import finished
from vizkit.analysis.comparison.published import DETECTION, IMAGENET, STUDY, TRANSFER
from vizkit.figure.evaluation.accuracy_cost import (
    SPOTS,
    Frame,
    Point,
    accuracy_cost,
    colour_of,
    ordered,
    spots,
    ticks,
)
from vizkit.training.recipe import NAMED
from vizkit.ui.session import model_names
from vizkit.views.compare import cost
from vizkit.views.compare.papers import point
from vizkit.views.compare.tables import TABLES
from vizkit.views.distillation import teacher_gain


@pytest.fixture(autouse=True)
def runs_home(tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


# ---- the numbers -----------------------------------------------------------------------------------------------------
def test_the_tables_hold_what_the_papers_print():
    assert [len(rows) for rows in (IMAGENET, TRANSFER, DETECTION, STUDY)] == [9, 5, 6, 4]
    vit_large, swin_base = IMAGENET[1], IMAGENET[-1]
    assert (vit_large.parameters, vit_large.multiply_adds, vit_large.images_per_s, vit_large.top1) == (
        307e6,
        190.7e9,
        27.3,
        76.5,
    )
    assert (swin_base.side_px, swin_base.parameters, swin_base.multiply_adds, swin_base.images_per_s) == (
        384,
        88e6,
        47.0e9,
        84.7,
    )
    assert [row.top1 for row in IMAGENET] == [77.9, 76.5, 79.8, 81.8, 83.1, 81.3, 83.0, 83.5, 84.5]
    assert [row.imagenet_real for row in TRANSFER] == [90.72, 90.54, 88.62, 90.54, 90.55]
    assert [row.tpu_core_days for row in TRANSFER] == [2500, 680, 230, 9900, 12300]
    assert [row.flowers for row in TRANSFER] == [99.68, 99.74, 99.61, 99.63, None]
    assert [row.ap_small for row in DETECTION] == [26.6, 27.2, 20.5, 22.5, 21.9, 23.7]
    assert [(row.gflops, row.frames_per_s) for row in DETECTION] == [
        (180, 26),
        (246, 20),
        (86, 28),
        (187, 12),
        (152, 20),
        (253, 10),
    ]
    assert [(row.validation, row.test) for row in STUDY] == [
        (97.23, 97.35),
        (86.52, 87.19),
        (98.23, 98.14),
        (96.55, 96.89),
    ]


@pytest.mark.parametrize("table", TABLES)
def test_a_table_names_its_author_and_year_or_says_that_they_are_not_known(table):
    citation = TABLES[table].table.citation
    assert re.search(r"[A-Z]\w+ et al\. (19|20)\d\d", citation) or "not on record" in citation


def test_what_is_printed_elsewhere_in_the_program_agrees():
    by_timm = {row.timm: row for row in IMAGENET}
    assert set(by_timm) <= set(model_names.timm_names())
    assert len(by_timm) == len(IMAGENET)
    alone = teacher_gain.PUBLISHED[0]  # DeiT-Ti, -S, -B without a teacher
    assert alone[2:] == (by_timm["deit_small_patch16_224"].top1, by_timm["deit_base_patch16_224"].top1)
    for row in STUDY:
        recipe = NAMED[row.recipe][1]
        assert (recipe.optimizer, recipe.lr, recipe.epochs, recipe.stop_patience) == (
            row.optimizer.lower(),
            row.learning_rate,
            row.epochs,
            row.patience_epochs,
        )
        assert recipe.pretrained == ("ImageNet" in row.setting)
        assert recipe.model.startswith(row.family.lower())


@pytest.mark.parametrize("table", TABLES)
def test_every_column_is_a_field_of_every_row(table):
    shown = TABLES[table]
    for row in shown.rows:
        for column in shown.columns:
            value = getattr(row, column.field)
            assert value is None or isinstance(value, str) == (column.digits is None)
    assert len({column.title for column in shown.columns}) == len(shown.columns)
    assert all(column.digits is not None for column in (*shown.costs, *shown.accuracies.values()))


@pytest.mark.parametrize(
    "table, against, column",
    [
        ("ImageNet-1K", "seconds", "images_per_s"),
        ("ImageNet-1K", "parameters", "parameters"),
        ("ImageNet-1K", "answering_bytes", "multiply_adds"),
        ("Detection", "multiply_adds", "gflops"),
        ("Large pre-training", "multiply_adds", "tpu_core_days"),
    ],
)
def test_papers_are_drawn_against_what_the_models_here_are_or_what_stands_for_it(table, against, column):
    assert TABLES[table].cost(against).field == column


# ---- the plot --------------------------------------------------------------------------------------------------------
def test_a_name_covers_no_other_mark_and_no_other_name():
    """In a plot of 280 × 290 pixels. Alone a name stands above its mark, and of two whose marks are near each other
    every name on its own side; at an edge one turns inwards."""
    assert spots(["one"], np.array([1.0]), np.array([5.0])) == ["top center"]
    far = np.array([0.0, 1.0]), np.array([0.0, 1.0])
    assert spots(["one", "other"], *far) == ["top center", "top center"]
    assert spots(["one", "x" * 20], *far)[1] == "middle left"
    assert spots(["one"], np.array([1.0]), np.array([5.0]), np.array([2.0])) == ["middle right"]  # beside its whisker
    near = np.array([0.0, 0.02, 1.0]), np.array([0.0, 0.0, 1.0])
    assert spots(["first", "second", "third"], *near) == ["top center", "bottom center", "top center"]


@pytest.mark.parametrize("table", ["ImageNet-1K", "Large pre-training", "Detection"])
def test_names_of_a_published_table_can_all_be_read_on_a_telephone(table):
    shown = TABLES[table]
    for taken in shown.costs:
        for accuracy in shown.accuracies.values():
            points = [point(row, shown, taken, accuracy) for row in shown.rows if getattr(row, accuracy.field)]
            texts = [trace for trace in accuracy_cost(points, "x", "y").data if trace.text]
            frames = [
                Frame(
                    280 * np.interp(np.log10(x), [*span_of(points, 0)], [0.14 / 1.28, 1.14 / 1.28]),
                    290 * np.interp(y, [*span_of(points, 1)], [0.12 / 1.24, 1.12 / 1.24]),
                    12.0,
                    12.0,
                ).beside(5.6 * len(word), *SPOTS[spot])
                for trace in texts
                for x, y, word, spot in zip(trace.x, trace.y, trace.text, trace.textposition, strict=True)
            ]
            assert sum(one.covers(other) for one, other in combinations(frames, 2)) == 0, (taken.title, accuracy.title)
            assert sum(frame.outside for frame in frames) < 60, (taken.title, accuracy.title)


def span_of(points, axis):
    values = [np.log10(each.cost) if axis == 0 else each.accuracy for each in points]
    return min(values), max(values)


@pytest.mark.parametrize(
    "ends, marks",
    [((3.0, 300.0), [5, 10, 20, 50, 100, 200]), ((40.0, 62.0), [40, 50, 60]), ((41.0, 43.0), [41, 41.5, 42, 42.5, 43])],
)
def test_an_axis_has_a_few_round_numbers(ends, marks):
    assert ticks(*ends) == marks


def test_the_chart_holds_the_points_and_their_errors():
    points = [
        Point("b", "mine", 100.0, 90.0, source="yours", line="x"),
        Point("a", "ViT", 10.0, 80.0, 2.0, "bundled"),
        Point("gone", "CNN", 0.0, 1.0),
        Point("c", "mine", 50.0, 85.0, source="yours", line="x"),
    ]
    figure = accuracy_cost(points, "cost", "accuracy")
    line, whisker, vit, mine = figure.data  # nothing stands at a cost of 0 on a logarithmic axis
    assert (vit.name, vit.x, vit.y, vit.text) == ("ViT, bundled", (10.0,), (80.0,), ("a",))
    assert (whisker.x, whisker.y) == ((10.0, 10.0), (78.0, 82.0))
    assert (mine.x, mine.y, mine.text) == ((50.0, 100.0), (85.0, 90.0), ("c", "b"))
    assert (line.x, line.y, line.mode) == ((50.0, 100.0), (85.0, 90.0), "lines")  # joined in the order of cost
    assert (vit.marker.symbol, mine.marker.symbol) == ("diamond", "square")
    x = figure.layout.xaxis
    assert x.type == "log"
    assert x.range[0] < 1 < 2 < x.range[1]
    assert ordered(["mine", "Swin", "CNN"]) == ["CNN", "Swin", "mine"]
    assert colour_of("mine", ["mine"]) not in {colour_of(family) for family in ("CNN", "ViT", "DeiT", "Swin")}
    assert not accuracy_cost([], "cost", "accuracy").data


# ---- the view --------------------------------------------------------------------------------------------------------
def view(**query):
    """By an address of when it stood alone."""
    return opened("evaluate", evaluate_view="Published", **query)


def charts(test):
    return [chart.proto for chart in test.main.get("plotly_chart")]


def test_the_table_stands_below_that_of_the_models_with_units():
    test = opened("compare", compare_view="Cost", models=["bundled:digits_swin", "bundled:digits_cnn"])
    here, *_, papers = (each.value for each in test.dataframe)
    assert {"Swin · digits", "CNN · digits"} <= {*here}
    assert len(papers) == 9
    assert papers["Parameters (M)"].tolist()[:2] == [86, 307]
    assert papers["Multiply–adds (G)"].tolist()[-1] == 47.0
    assert "Liu et al. 2021" in texts(test)
    assert "one V100" in texts(test)
    own, published = map(str, charts(test))
    assert "Swin · digits" in own
    assert "Swin-B 384" in published


@pytest.mark.parametrize("table", [name for name in TABLES if name != "ImageNet-1K"])
def test_the_other_tables_open_by_a_link(table):
    test = view(published=table)
    assert test.session_state["compare_view"] == "Cost"
    shown = TABLES[table]
    assert len(test.dataframe[-1].value) == len(shown.rows)
    assert len(charts(test)) == 1 + bool(shown.costs)
    assert shown.table.citation in texts(test)
    if shown.costs:
        assert "reaches the highest" in texts(test)


def test_a_notebook_needs_no_model_for_a_table():
    shown = vizkit.show("published-detectors")
    assert str(shown).startswith("DETR against Faster R-CNN. ")
    assert shown.numbers["rows"].shape == (6, 11)
    with pytest.raises(ValueError, match="image"):
        vizkit.show("compare-cost", vizkit.load("bundled:digits_cnn"))


def test_a_run_stands_among_the_models_of_its_test_images(runs_home):
    run = finished(runs_home, "mine")  # the weights of digits_cnn, tested on digits
    digits, half = cost.tested(cost.RunFolder(cost.bundled.FOLDER / "digits_cnn")), 1.96 * (0.75 * 0.25 / 359) ** 0.5
    assert cost.tested(run) == {"right": 0.75, "half": pytest.approx(half, rel=1e-4), "test": digits["test"]}
    test = view(models=["run:mine", "bundled:digits_vit"])
    assert "mine" in str(charts(test)[0])
    assert "insects" not in str(charts(test)[0])
    run.write("result.json", {"test_accuracy": "<b>", "test_images": 359})
    assert cost.tested(run) == {}
    run.write("recipe.json", "torn")
    assert cost.tested(run) == {}
