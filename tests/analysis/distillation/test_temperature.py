"""Softmax at a temperature: golden numbers, limits, dark knowledge; typed logits; the bars and lines that show them."""

import math
import re

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from tests.figure.plots import bars
from vizkit.analysis.distillation.temperature import (
    along,
    dark_knowledge,
    entropy,
    entropy_share,
    log_probabilities,
    probabilities,
    ranking,
    softened,
    temperatures,
)
from vizkit.figure import palette
from vizkit.figure.class_bars import FLOOR, Axis, ClassBars, distinct, reach
from vizkit.figure.distillation.lines_at import Line, lines_at
from vizkit.traces import NotApplicable
from vizkit.views.distillation import typed_logits

GOLDEN = torch.tensor([17.0, 0.0, 11.0, 9.0, 0.0])
EXTREME = torch.tensor([1e4, -1e4, 9999.0, 0.0])


@pytest.mark.parametrize(
    "temperature, expected",
    [
        (1.0, [0.997, 0.000, 0.002, 0.000, 0.000]),
        (2.0, [0.936, 0.0002, 0.047, 0.017, 0.0002]),
        (5.0, [0.637, 0.021, 0.192, 0.129, 0.021]),
    ],
)
def test_the_golden_example(temperature, expected):
    found = probabilities(GOLDEN, temperature)
    assert found.tolist() == pytest.approx(expected, abs=1e-3)
    assert float(found.sum()) == pytest.approx(1, abs=1e-12)
    by_hand = [math.exp(z / temperature) for z in GOLDEN.tolist()]
    assert found.tolist() == pytest.approx([each / sum(by_hand) for each in by_hand], rel=1e-12)


def test_entropy_by_hand():
    half = torch.tensor([0.0, 0.0, -1e4])
    assert float(entropy(log_probabilities(half, 1.0))) == pytest.approx(math.log(2))
    assert softened(torch.zeros(7), 3.0).entropy_share == pytest.approx(1)
    p = [0.5, 0.25, 0.25]
    found = softened(torch.tensor(p).log(), 1.0)
    assert found.entropy_share == pytest.approx(-sum(each * math.log(each) for each in p) / math.log(3), abs=1e-6)


def test_entropy_rises_with_the_temperature_and_the_order_stays():
    draw = torch.Generator().manual_seed(3)
    for _ in range(20):
        logits = torch.randn(11, generator=draw) * 8
        log_p = along(logits, temperatures(40))
        rising = entropy(log_p)
        assert (rising.diff() > -1e-12).all()
        assert float(rising[-1] - rising[0]) > 0.1
        order = ranking(logits)
        assert (log_p[:, order].diff(dim=-1) <= 0).all()
        assert order.tolist() == sorted(range(11), key=lambda label, z=logits: -float(z[label]))


@pytest.mark.parametrize("temperature", [0.05, 1.0, 100.0])
def test_extreme_logits_give_numbers(temperature):
    for logits in (EXTREME, -EXTREME, torch.full((4,), 1e4)):
        found = softened(logits, temperature)
        numbers = [*found.probabilities.tolist(), found.entropy_share]
        assert all(math.isfinite(number) for number in numbers)
        assert min(numbers) >= 0
        assert float(found.probabilities.sum()) == pytest.approx(1)
        dark = dark_knowledge(logits, temperature)
        assert float(dark.shares.sum()) == pytest.approx(1)
        assert bool(dark.shares.isfinite().all())
        assert bool(log_probabilities(logits, temperature).isfinite().all())


def test_the_limits():
    cold, hot = probabilities(GOLDEN, 1e-6), probabilities(GOLDEN, 1e9)
    assert cold.tolist() == [1, 0, 0, 0, 0]
    assert hot.tolist() == pytest.approx([0.2] * 5, abs=1e-8)
    assert probabilities(torch.tensor([3.0, 5.0, 5.0]), 1e-6).tolist() == [0, 0.5, 0.5]
    assert float(entropy_share(log_probabilities(GOLDEN, 1e9))) == pytest.approx(1)
    assert float(entropy(log_probabilities(GOLDEN, 1e-6))) == 0
    # Adding to all logits changes nothing.
    assert probabilities(GOLDEN + 123, 2.0).tolist() == pytest.approx(probabilities(GOLDEN, 2.0).tolist())


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.inf, math.nan])
def test_no_such_temperature(temperature):
    with pytest.raises(ValueError, match="above 0"):
        probabilities(GOLDEN, temperature)


def test_one_class_is_refused():
    with pytest.raises(NotApplicable):
        softened(torch.zeros(1), 1.0)
    with pytest.raises(NotApplicable):
        dark_knowledge(torch.zeros(1), 1.0)


@pytest.mark.parametrize("temperature", [1.0, 5.0])
def test_dark_knowledge_is_what_the_first_choice_leaves(temperature):
    p = probabilities(GOLDEN, temperature)
    found = dark_knowledge(GOLDEN, temperature)
    assert found.top == 0
    assert found.labels.tolist() == [2, 3, 1, 4]  # of tied ones the first first
    assert found.shares.tolist() == pytest.approx((p[[2, 3, 1, 4]] / (1 - p[0])).tolist(), rel=1e-9)
    assert found.left == pytest.approx(1 - float(p[0]), rel=1e-9)


def test_dark_knowledge_has_digits_where_one_minus_p_has_none():
    logits = torch.tensor([900.0, 2.0, 1.0])
    assert float(1 - probabilities(logits, 1.0)[0]) == 0
    assert dark_knowledge(logits, 1.0).shares.tolist() == pytest.approx([math.e / (1 + math.e), 1 / (1 + math.e)])


def test_others_together():
    found = softened(GOLDEN, 5.0)
    first, second, others = found.of([0, 2])
    assert (first, second) == (float(found.probabilities[0]), float(found.probabilities[2]))
    assert others == pytest.approx(float(found.probabilities[[1, 3, 4]].sum()))
    assert len(found.of([4, 3, 2, 1, 0])) == 5


# ---- typed -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "text, names, logits",
    [
        ("17, 0, 11, 9, 0", [f"class {n}" for n in range(1, 6)], [17, 0, 11, 9, 0]),
        ("17 0 -11", ["class 1", "class 2", "class 3"], [17, 0, -11]),
        ("1,5; −2,25;", ["class 1", "class 2"], [1.5, -2.25]),
        ("cow = 17, old car: .5,\n1e2", ["cow", "old car", "class 3"], [17, 0.5, 100]),
        ("+3.,-4", ["class 1", "class 2"], [3, -4]),
    ],
)
def test_typed_logits_are_read(text, names, logits):
    assert typed_logits.read(text) == (names, logits)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "5",
        "a, b",
        "1, two",
        "1, nan",
        "1, inf",
        "1, 1e5",
        "1, -10001",
        "1, 1e999",
        "1 2 x",
        "=, =",
        "<b>=1, **=2, 3x",
        "1, " * 60,
        "😀",
        "1, 2=3=4",
    ],
)
def test_what_cannot_be_read_is_one_sentence(text):
    with pytest.raises(typed_logits.TypedError) as found:
        typed_logits.read(text)
    assert re.fullmatch(r"[A-Z“][^\n]{20,160}\.", str(found.value)), str(found.value)


def test_the_golden_example_is_the_default():
    assert typed_logits.read(typed_logits.GOLDEN)[1] == GOLDEN.tolist()


# ---- pictures --------------------------------------------------------------------------------------------------------
def drawn(names, values, colours, before=None, **axis):
    return bars(ClassBars(names, values, colours, before, Axis(**axis)).html())


def test_bars_show_their_numbers():
    p, q = probabilities(GOLDEN, 5.0).tolist(), probabilities(GOLDEN, 1.0).tolist()
    names, colours = ["a", "b", "c", "d", "e"], palette.class_colours(range(5), 5)
    first, second = drawn(names, p, colours, q), drawn(names, q, colours, q)
    assert first["value"] == pytest.approx(p, rel=1e-7)
    assert first["before"] == second["value"] == pytest.approx(q, rel=1e-7)
    assert first["number"] == ["0.637", "0.021", "0.192", "0.129", "0.021"]
    assert (first["name"], first["colour"]) == (names, colours)
    log = drawn(names, q, colours, log=True)
    assert log["width"][4] == 0.0  # below the floor
    assert log["width"][2] == pytest.approx(100 * (1 - math.log(q[2]) / math.log(FLOOR)), abs=1e-3)
    assert log["number"][4] == "4.1 · 10⁻⁸"  # the number says what the bar cannot
    assert first["width"] == pytest.approx([100 * value for value in p], abs=1e-3)
    assert first["axis"] == second["axis"] == ["0", "0.5", "1"]  # it stands still while a slider moves


def test_a_negative_value_has_room_too():
    given, found = (drawn(["a", "b"], [-0.3, 0.1], ["#111111"] * 2, **axis) for axis in ({"signed": True}, {}))
    assert found == given
    assert drawn(["a"], [0.3], ["#111111"], [-0.1])["axis"] == ["−1", "0", "1"]  # the tick counts too


def test_signed_bars_have_zero_in_the_middle():
    shown = drawn(["a", "b"], [-0.3, 0.1], ["#111111", "#222222"], signed=True, top=reach([-0.3, 0.1]))
    assert shown["axis"] == ["−0.5", "0", "0.5"]
    assert (shown["left"], shown["width"]) == ([20, 50], [30, 10])
    assert shown["number"] == ["−0.300", "+0.100"]


def test_names_are_shown_as_they_are_written():
    assert drawn(["<b>x</b> & y"], [0.1], ["#111111"])["name"] == ["<b>x</b> & y"]


def test_small_words_of_pictures():
    numbers = (1.0, 0.0, 0.00094, 2.2e-4)
    assert [Axis().number(x) for x in numbers] == ["1.000", "0.000", "0.001", "< 0.001"]  # one notation for an axis
    assert [Axis(log=True).number(x) for x in numbers] == ["1.0 · 10⁰", "0", "9.4 · 10⁻⁴", "2.2 · 10⁻⁴"]
    assert [Axis(signed=True).number(x) for x in (0.1, -0.3, 1e-5)] == ["+0.100", "−0.300", "≈ 0"]
    assert [reach([0.3, -0.6]), reach([2.0]), reach([0.0]), reach()] == [1, 2, 1, 1]
    assert distinct(["crane", "cat", "crane"]) == ["crane", "cat", "crane (3)"]


def test_dots_lie_on_their_lines():
    x = temperatures().numpy()
    at = temperatures()[90].item()
    curves = along(GOLDEN, temperatures()).exp().T.numpy()
    lines = [Line(f"class {i}", curve, "#123456") for i, curve in enumerate(curves)]
    figure = lines_at(x, lines, at, "T", "p")
    sizes = np.array([line.marker.size for line in figure.data])
    assert (np.count_nonzero(sizes, axis=1) == 1).all()
    dots = sizes[0].argmax()
    assert [line.y[dots] for line in figure.data] == pytest.approx(probabilities(GOLDEN, at).tolist(), rel=1e-9)
    assert {line.x[dots] for line in figure.data} == {at} == {figure.layout.shapes[0].x0}
    assert_allclose([np.delete(line.y, dots) for line in figure.data], curves)
    low = lines_at(x, lines, at, "T", "p", log_y=True, y_domain=(1e-6, 1.0))
    ys = np.array([line.y for line in low.data])
    assert np.nanmin(ys) >= 1e-6
    assert np.isnan(ys).any()  # a line ends where it leaves the axis


def test_a_class_keeps_its_colour_and_stands_out_from_both_pages():
    assert palette.class_colours([3, 1], 12) == [palette.CLASSES[3], palette.CLASSES[1]]
    many = palette.class_colours(list(range(900, 920)), 1000)
    assert many[:12] == list(palette.CLASSES)
    assert set(many[12:]) == {palette.OTHERS}
    assert len(set(palette.CLASSES)) == len(palette.CLASSES)
    for colour in (*palette.CLASSES, palette.OTHERS):
        for page in ("#ffffff", "#0f1120"):
            assert contrast(colour, page) >= 3, (colour, page)


def contrast(one, other):
    """Of two colours, 1 to 21 (WCAG 2.1)."""
    levels = []
    for colour in (one, other):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        levels.append(0.2126 * r + 0.7152 * g + 0.0722 * b)
    return (max(levels) + 0.05) / (min(levels) + 0.05)
