"""All charts have one template and one set of palettes; no builder is left out."""

import importlib
import inspect
import itertools
import json
import pkgutil
import re
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest

from vizkit import figure as package
from vizkit.figure import palette
from vizkit.figure.charts import STEPS, Figure, literal, template
from vizkit.figure.distillation.lines_at import Line
from vizkit.figure.evaluation import points
from vizkit.figure.evaluation.accuracy_cost import Point
from vizkit.figure.evaluation.data_size import Line as Family
from vizkit.figure.scales import SHARES, between, robust
from vizkit.figure.sequences.repeated import Repeated
from vizkit.figure.training.learning_curves import Curve

RNG = np.random.default_rng(0)
X, GRID = np.array([1.0, 2.0, 4.0]), RNG.normal(size=(3, 3))
LIST, NO = X.tolist(), np.zeros((3, 3), bool)
NAMES = ["a", "b", "c"]


def given(*values, **named):
    return values, named


EXAMPLES = {
    "charts.heat_map": [given(GRID, "x", "y", "title", digits=1), given(GRID, "x", "y", signed=True)],
    "charts.curves": [given({"a": (X, X)}, "x", "y", marked={1.0: "dot"})],
    "charts.dots_by_depth": [given([X, X], "y", spread=[X, X])],
    "charts.bars": [given(NAMES, LIST, "x")],
    "charts.paired_bars": [given(NAMES, {"one": LIST, "other": LIST}, "x")],
    "charts.laid_out": [given([], "x", "y")],
    "attention.by_layer.by_layer": [given({"a": X, "b": X}, "y", published=[(1, 0.5, "paper")])],
    "attention.token_lengths.token_lengths": [given({"lower quartile": X, "upper quartile": X, "[cls]": X}, 1)],
    "attention.head_grid.head_grid": [given(GRID, signed=signed, chosen=(0, 1)) for signed in (False, True)],
    "sequences.repeated.repeated_lines": [given([Repeated("a", [1, 2, 3], [LIST, LIST])], "x", "y", 2)],
    "contributions.contributions": [given(0.5, X, X, -0.5, before) for before in (0, 2)],
    "contributions.heads_added": [given(GRID, before) for before in (0, 2)],
    "contributions.appearing": [given({"<b>": (palette.CLASSES[0], X)}, "value", (), 1)],
    "patch_cells.class_cells": [
        given(
            "data:,", (6, 6), np.eye(3, dtype=np.int64), [NAMES] * 3, X / 4 + GRID * 0, [(1, "a", palette.CLASSES[0])]
        )
    ],
    "patch_cells.restored_cells": [given("data:,", (6, 6), GRID, (1, 1), robust([GRID], signed=True))],
    "patch_cells.numbered_cells": [given("data:,", (6, 6), (3, 3), (4, 0), kept) for kept in (False, True)],
    "patch_cells.share_cells": [given("data:,", (6, 6), X / 4 + GRID * 0, "a", between(0, 1, "%"))],
    "convolution.sharing.sharing": [
        given(RNG.normal(size=(2, 3, 4)), together, (0, 1, 2), "title", limit=2.0)
        for together in (None, np.broadcast_to(np.arange(4) == 2, (2, 3, 4)))
    ],
    "detection.cost_matrix.cost_matrix": [given(GRID, NAMES, [(0, 1)], [(1, 1)])],
    "detection.query_habits.habits": [given([GRID[:, :2]] * 5, [X / 8] * 5, 1)],
    "distillation.lines_at.lines_at": [given(X, [Line("a", X, palette.CLASSES[0], "dash")], 2.0, "x", "y")],
    "evaluation.accuracy_cost.accuracy_cost": [
        given([Point("a", "ViT", 1.0, 80.0, 1.0, line="x"), Point("b", "mine", 9.0, 70.0, source="yours")], "x", "y")
    ],
    "evaluation.confusion.confusion": [given(NAMES, NAMES, np.eye(3, dtype=np.int64), 0.5)],
    "evaluation.data_size.data_size": [
        given([Family("ViT", "ViT", (1, 2), (0.1, 0.2), (0.1, 0.1), (0.2, 0.3))], 0.1, (1, 2))
    ],
    "evaluation.points.scatter": [
        given(np.stack([X, X], 1), points.by_kind(np.arange(len(X)) % 2, NAMES, "label"), "t-SNE", [1]),
        given(np.stack([X, X], 1), points.by_number(X, "confidence"), "PCA"),
    ],
    "evaluation.precision_recall.precision_recall": [given(X / 4, {"a": X / 4}, [palette.CLASSES[0]], ("mean", X / 4))],
    "evaluation.reliability.reliability": [
        given([0.0, 0.5], 0.5, [0.2, 0.7], [0.2, 0.7], [3, 9], palette.CLASSES[0], "m")
    ],
    "evaluation.removal_curves.removal_curves": [given({"a": X / 4}, X / 4, X / 4, "x", "title")],
    "evaluation.strength_curves.strength_curves": [given({"a": X[None] / 4, "b": np.stack([X, X]) / 4}, LIST, 1, "°")],
    "shift.answers": [given([0, 1, 2], {"a": X[:3] / 4}, {"a": ["ant", "bee", "ant"]}, 1, "probability")],
    "shift.right_answers": [given({"a": ([0, 1], [0.5, 0.4], [0.1, 0.1])}, ["a"])],
    "swin.power_laws.power_laws": [given({"a": (X, X, 1.0)}, "x", "y")],
    "swin.window_map.window_map": [
        given(values, "title", scale, hidden=~NO, padded=NO, row_names=NAMES, column_names=NAMES, query=(1, 1))
        for values, scale in ((GRID, between(-1, 1, signed=True)), (np.abs(GRID), SHARES))
    ],
    "training.by_step.by_step": [given(np.arange(1, 4), {"a": X[:3]}, "y", others={"b": X[:3]}, level=(0.5, "chance"))],
    "training.landscape.surface": [given(np.eye(2), np.arange(2.0), np.arange(2.0), ("x", "y"), np.eye(2), [1, 2])],
    "training.learning_curves.learning_curves": [
        given([Curve("a", LIST, LIST, [0, 1, 2], [4, 5, 6]), Curve("b", LIST, LIST)], "y")
    ],
}
GIVEN_A_FIGURE = {"charts.squared", "charts.framed"}


def builders():
    """Every public function of the package that returns a figure."""
    made = {}
    for module in pkgutil.walk_packages(package.__path__, "vizkit.figure."):
        if module.ispkg:
            continue
        for name, each in inspect.getmembers(importlib.import_module(module.name), inspect.isfunction):
            returned = inspect.get_annotations(each).get("return")
            if each.__module__ == module.name and returned == Figure and not name.startswith("_"):
                made[f"{module.name.removeprefix('vizkit.figure.')}.{name}"] = each
    return made


def foreign(figure):
    """What is wrong with the look of a figure: another template, colours of no palette."""
    bad = [] if figure.layout.template == template() else ["template"]
    spec = figure.to_plotly_json()
    spec["layout"].pop("template", None)
    text = json.dumps(spec, default=lambda value: np.asarray(value).tolist())
    ours = {*palette.CLASSES, palette.OTHERS, palette.DARK, palette.LIGHT}
    bad += [colour for colour in re.findall(r"#[0-9a-fA-F]{6}\b", text) if colour not in ours]
    bad += [colour for colour in re.findall(r"rgb\([^)]*\)", text) if colour not in scale_colours()]
    faint = {palette.faint(colour, 1.0).removesuffix("1.0)") for colour in ours}
    faint |= {colour.replace("rgb", "rgba").replace(")", ", ") for colour in scale_colours()}
    bad += [colour for colour in re.findall(r"rgba\([^)]*\)", text) if colour.rpartition(" ")[0] + " " not in faint]
    return bad + re.findall(r'"colorscale": "\w+"', text)


def scale_colours():
    """A placeholder of Streamlit, #000001 to #000040, is none of them."""
    scales = itertools.product((palette.SCALE, palette.SIGNED), (STEPS, 256))
    return {colour for scale, steps in scales for colour in palette.ramp(scale, steps=steps)}


def test_every_builder_has_an_example():
    missing = set(builders()) - set(EXAMPLES) - GIVEN_A_FIGURE
    assert not missing, "a new builder needs an example in EXAMPLES"
    assert set(EXAMPLES) <= set(builders())


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_has_the_template_and_the_colours_of_the_palettes(name):
    for values, named in EXAMPLES[name]:
        assert not foreign(builders()[name](*values, **named))


def test_a_figure_of_another_look_is_noticed():
    from vizkit.figure.charts import laid_out

    assert foreign(go.Figure()) == ["template"]
    assert foreign(laid_out([go.Scatter(x=[1], y=[1], line={"color": "#123456"})], "x", "y")) == ["#123456"]
    assert foreign(laid_out([go.Bar(x=[1], y=[1], marker={"color": "rgba(1, 2, 3, .5)"})], "x", "y"))
    assert foreign(laid_out([go.Heatmap(z=[[1]], colorscale="Viridis")], "x", "y"))


def test_charts_are_shown_in_one_place():
    root = Path(package.__path__[0]).parent
    code = {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in root.rglob("*.py")}
    shows = re.compile(r"\.(plotly|vega_lite|altair|line|bar|area|scatter)_chart\(")
    assert {name for name, text in code.items() if shows.search(text)} == {"ui/widgets/chart.py"}
    assert {name for name, text in code.items() if "go.Figure(" in text} == {"figure/charts.py"}


def test_a_name_is_no_html():
    assert literal("<b>a & b</b>") == "&lt;b&gt;a &amp; b&lt;/b&gt;"


# ---- the palette of things without order -----------------------------------------------------------------------------
# What eyes without one kind of cones see (Machado, Oliveira & Fernandes 2009, severity 1), on linear RGB.
EYES = {
    "all cones": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
# OKLab (Ottosson 2020).
CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
LAB = np.array(
    [
        [0.2104542553, 0.793617785, -0.0040720468],
        [1.9779984951, -2.428592205, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.808675766],
    ]
)


def nearest(colours, eyes):
    """The least distance of two colours in OKLab, white being 1."""
    rgb = np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in colours]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    lab = np.cbrt(np.clip(linear @ np.transpose(EYES[eyes]), 0, 1) @ CONES.T) @ LAB.T
    return min(float(np.linalg.norm(one - other)) for one, other in itertools.combinations(lab, 2))


@pytest.mark.parametrize("eyes", EYES)
def test_any_two_colours_are_told_apart_by_all_eyes(eyes):
    assert nearest(palette.CLASSES, eyes) > 0.06
    assert nearest(palette.CLASSES[:8], eyes) > 0.065


def test_two_that_only_some_eyes_tell_apart_are_noticed():
    green, pink = "#059669", "#db2777"
    assert nearest((green, pink), "all cones") > 0.3
    assert nearest((green, pink), "deuteranopia") < 0.02
