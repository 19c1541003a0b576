"""Rules for what is seen of all views and what is saved of it, and toys that break each of them."""

from typing import ClassVar

import numpy as np
import pytest

from tests.views import sight
from tests.views.contract import seen, subject
from vizkit.figure.canvas.rows import Rows
from vizkit.figure.charts import bars, curves, heat_map
from vizkit.figure.scales import between
from vizkit.views import VIEWS, Entry
from vizkit.views.blocks import Answered, Canvas, Chart, Columns, Folded, Line, Map, Picture, Said, Tile, Tiles
from vizkit.views.controls import number
from vizkit.views.relevance.decision import Decision
from vizkit.views.view import How, View

# ---- each rule can fail ----------------------------------------------------------------------------------------------
HEAT = np.array([[0.1, 0.2], [0.3, 0.4]])


def tiles(*tops, title="Small maps", values=(1, 2), picks="level"):
    maps = tuple(Tile(f"map {top}", HEAT, scale=between(0, top)) for top in tops)
    return Tiles(title, maps, "Small.", picks, values, 1)


def line(name, top=1.0, y="value"):
    return Chart(curves({name: (np.arange(3), np.linspace(0, top, 3))}, "step", y), name)


def heat(quantity="weight"):
    return Chart(heat_map(HEAT, "key", "query", quantity=quantity), "A heat map")


def over(top, quantity="share"):
    rows = Rows(HEAT.reshape(1, 4), (2, 2), (2, 2), np.array([3]), scale=between(0, top))
    return Map(rows, (0.9, 0.9), "Toy of", quantity, said="It is 0.4 at most.")


class Toy(View):
    how: ClassVar = How("It is read.", "x", "anything.", "nobody")

    level: int = number("Level", 1, 2, 1)

    def title(self, of):
        return "A toy"

    def show(self, of):
        yield Line("First a line.")
        yield over(0.4)
        yield tiles(0.5, 0.5)
        yield tiles(0.5, 0.6, title="Each to its own largest")
        yield Columns(((line("a"),), (line("a"), heat())))
        yield Chart(bars(["one", "two"], [1.0, 2.0], "how many"), "Bars")
        yield Picture(np.arange(12, dtype=np.uint8).reshape(2, 2, 3), "An image", "its caption")
        yield Folded("More", lambda: [Line("Few read this.")])


class Silent(Toy):
    def show(self, of):
        yield Said("")


class Hidden(Toy):
    """Whose remark nobody sees but who opens it."""

    def show(self, of):
        yield tiles(0.5, 0.5)
        yield Folded("More", lambda: [Line("It is 0.4 at most.")])


class Vague(Toy):
    def show(self, of):
        yield Said("There is something to be seen.")


class Even(Toy):
    def show(self, of):
        yield Said("It is 0 everywhere.")
        yield Tiles("", (Tile("none", np.zeros((2, 2))),), "Small.")


class Bare(Toy):
    """A canvas without what stands in its place."""

    def show(self, of):
        yield Said("It is 1.")
        yield Canvas("vizkit_look", {}, "A canvas")


class Apart(Toy):
    def show(self, of):
        yield tiles(0.5, 0.6)


class Maps(Toy):
    def show(self, of):
        yield Columns(((over(0.4),), (over(0.8),)))


class Charts(Toy):
    def show(self, of):
        yield Columns(((line("a", 1.0),), (line("a", 2.0),)))


class NoUnit(Toy):
    def show(self, of):
        yield line("a", y="")


class NoQuantity(Toy):
    def show(self, of):
        yield heat("")


class TwoColours(Toy):
    def show(self, of):
        steps = np.arange(3)
        yield line("a")
        yield Chart(curves({"b": (steps, steps), "a": (steps, steps)}, "step", "value"), "Other colours")


class OneColour(Toy):
    def show(self, of):
        steps = np.arange(3)
        figure = curves({"a": (steps, steps), "b": (steps, steps)}, "step", "value")
        yield Chart(figure.update_traces(line_color="#000000"), "Two lines alike")


class Unannounced(Toy):
    def show(self, of):
        yield Answered(of.loaded)


class Unexplained(Toy, Decision):
    """Explains a class."""


class Nowhere(Toy):
    def show(self, of):
        yield tiles(0.5, 0.5, picks="nothing")


class Beyond(Toy):
    def show(self, of):
        yield tiles(0.5, 0.5, values=(1, 3))


@pytest.fixture(autouse=True)
def known(monkeypatch):
    """A report and an address take the name of a view from the table."""
    for cls in (Toy, *Toy.__subclasses__()):
        where = f"{cls.__module__}:{cls.__qualname__}"
        monkeypatch.setitem(VIEWS, cls.__name__, Entry("Toy", "A toy.", where, name=cls.__name__, page="toy"))


@pytest.mark.parametrize("rule", sight.RULES, ids=lambda rule: rule.__name__)
def test_a_good_toy_breaks_no_rule(rule):
    found = seen(Toy, subject("digits_vit"))
    assert [one.refusal for one in found] == [None] * 3
    assert rule(found) == []


@pytest.mark.parametrize(
    "rule, toy",
    [
        (sight.silent, Silent),
        (sight.silent, Hidden),
        (sight.says_nothing, Vague),
        (sight.without_effect, Even),
        (sight.lost_on_paper, Bare),
        (sight.scales_of_their_own, Apart),
        (sight.scales_of_their_own, Maps),
        (sight.scales_of_their_own, Charts),
        (sight.bare_axes, NoUnit),
        (sight.bare_axes, NoQuantity),
        (sight.colours_that_change, TwoColours),
        (sight.colours_that_change, OneColour),
        (sight.unannounced, Unannounced),
        (sight.unexplained, Unexplained),
        (sight.not_a_setting, Nowhere),
        (sight.not_a_setting, Beyond),
    ],
)
def test_each_rule_can_fail(rule, toy):
    assert rule(seen(toy, subject("digits_vit")))


@pytest.mark.parametrize("lost", ["on_paper", "in_a_page"])
def test_a_file_without_the_remark_is_found(lost, monkeypatch):
    monkeypatch.setattr(sight, lost, lambda *_: "First a line.")
    assert sight.not_as_seen(seen(Toy, subject("digits_vit")))


def test_the_order_of_words_counts():
    assert sight.misplaced(["one two", "three"], "one  two three") == ""
    assert sight.misplaced(["three", "one two"], "one two three") == "one two"
