"""Rules for all views, and toys that break each of them."""

import re
from copy import copy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import vizkit.views
from tests.views import contract, sight
from tests.views.contract import model, seen, subject, subjects_of
from tests.views.unusual import UNUSUAL
from vizkit.datasets import samples
from vizkit.figure.charts import curves
from vizkit.from_json import read_fields
from vizkit.traces import NotApplicable
from vizkit.ui.asking import MOST_BUTTONS
from vizkit.ui.plain import plain
from vizkit.views import VIEWS, Entry, class_of
from vizkit.views.address import as_text, from_address, from_text, key_of, to_address
from vizkit.views.blocks import Chart, Later, Line, Numbers, Said
from vizkit.views.controls import choice, controls, layer, number, options, switch
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

NAMES = tuple(VIEWS)  # toys come in later
ALL = [(view, name) for view, entry in VIEWS.items() for name in subjects_of(entry)]
RULES = (
    contract.not_blocks,
    contract.not_plain,
    contract.of_controls,
    contract.not_whole,
    contract.not_refused,
    contract.of_another,
    contract.not_finite,
    contract.other_keys,
    contract.not_read_back,
    contract.not_its_address,
    contract.runs_the_model,
)


@pytest.fixture(autouse=True)
def _few_pictures(monkeypatch):
    contract.few_pictures(monkeypatch)


@pytest.fixture(autouse=True)
def _quick_races(few_steps):
    """No rule depends on how many steps there are."""


@pytest.fixture(autouse=True)
def _quick_tiles(monkeypatch):
    """Of a whole picture that is enlarged: no rule depends on what is in them."""
    monkeypatch.setattr("vizkit.models.super_resolution.enlarging._tile", lambda model, pixels, _: bicubic(pixels))


def bicubic(pixels):
    return torch.nn.functional.interpolate(pixels, scale_factor=4, mode="bicubic")


STANDING = [
    (view, field)
    for view in NAMES
    for field, control in controls(class_of(view)).items()
    if not control.inside and control.kind in ("number", "layer", "choice")
    if class_of(view).__dataclass_fields__[field].default is None
]


@pytest.mark.product("field")
@pytest.mark.parametrize("view, field", STANDING)
def test_a_control_shows_the_value_in_use(view, field):
    """Of the first model of which it is asked: what a page shows for None is what None stands for."""
    found = (uses_what_it_shows(class_of(view), field, shared(name)) for name in subjects_of(VIEWS[view]))
    assert next((each for each in found if each is not None), True)


def test_one_that_uses_another_value_is_found():
    class First(View):
        layer: int | None = layer("Layer")
        how: ClassVar = How("", "", "", "")

        def title(self, of):
            return ""

        def show(self, of):
            yield Numbers(lambda: {"layer": self.layer or 1})

    assert uses_what_it_shows(First, "layer", shared("digits_vit")) is False


def uses_what_it_shows(cls, field, of):
    """The end of a slider, or what is usual there; the first option. None where it is not asked of this subject, or
    leaves no choice."""
    control = controls(cls)[field]
    try:
        asked = next((each for changed, each in contract.settings(cls, of) if changed == field), None)
        last = control.usual([of]) if control.usual else control.ends([of])[1]
        known = options(control, [of]) if control.kind == "choice" else [last]
        if asked is None or not known:
            return None
        views = [contract.checked(replace(asked, **{field: value}), [of]) for value in (None, known[0])]
        used, shown = ([*arrays(each, of)] for each in views)
        return used == shown
    except NotApplicable:
        return None


def arrays(view, of):
    for block in contract.everything(view.show(contract.given(view, of))):
        if isinstance(block, Numbers):
            yield from ((name, array.shape, array.tobytes()) for name, array in block.arrays().items())


def test_a_number_that_is_no_quantity_stands_for_itself():
    """Where 0 means another one, the control shows a number that is not in use."""
    for view in NAMES:
        for name, control in controls(class_of(view)).items():
            assert control.inside or not control.typed or control.low == 1, f"{view}, {name}"


@pytest.mark.product("view")  # with a Swin and a CNN: tests/ui/inventory/test_every_view.py
@pytest.mark.parametrize(
    "view, name, options",
    [(*row, "one of each") for row in ALL if row[1] not in ("two_heads", "stranger")] + [(*row, "all") for row in ALL],
)
def test_a_view_breaks_no_rule(view, name, options):
    """What it shows of a model is made once, for all rules."""
    found = seen(class_of(view), subject(name), options == "all")
    broken = {rule.__name__: rule(found) for rule in (*RULES, *sight.RULES)}
    if options == "all":
        broken["not_the_same_twice"] = contract.not_the_same_twice(found[0], subject(name))
    assert {rule: what for rule, what in broken.items() if what} == {}


@pytest.mark.parametrize("view", NAMES)
def test_how_it_is_read_is_plain_in_a_file(view):
    assert contract.raw(class_of(view)) == []


@pytest.mark.parametrize("name", contract.MODELS)
def test_the_example_of_architecture_breaks_no_rule(name, tmp_path, monkeypatch):
    told = (Path(__file__).parents[2] / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("### Add a view")[2]
    code, line = re.findall(r"```python\n(.*?)```", told, re.DOTALL)[:2]
    (tmp_path / "sizes.py").write_text(code, encoding="utf-8")
    monkeypatch.setattr(vizkit.views, "__path__", [*vizkit.views.__path__, str(tmp_path)])
    entry = eval(line, {"Entry": Entry})
    monkeypatch.setitem(VIEWS, entry.name, entry)
    found = seen(class_of(entry.name), subject(name))
    broken = {rule.__name__: rule(found) for rule in (*RULES, *sight.RULES)}
    broken["not_the_same_twice"] = contract.not_the_same_twice(found[0], subject(name))
    assert {rule: what for rule, what in broken.items() if what} == {}
    assert all((one.refusal is None) is (name != "digits_cnn") for one in found)


@pytest.mark.product
@pytest.mark.parametrize("view", [view for view, entry in VIEWS.items() if "models" in entry.reads])
def test_classes_may_have_no_names(view):
    name = contract.FITTING.get(view, "digits_vit")
    loaded = copy(model(name))
    loaded.labels = ()
    picture = contract.PICTURES[name]
    found = seen(class_of(view), Subject(lambda: loaded, samples.picture(picture), image=picture), False)
    assert contract.not_refused(found) == []


@pytest.mark.product
@pytest.mark.parametrize("name", UNUSUAL)
@pytest.mark.parametrize("view", [view for view, entry in VIEWS.items() if "models" in entry.reads])
def test_of_any_model_a_view_shows_something_or_says_in_a_sentence_why_not(view, name):
    found = seen(class_of(view), subject(name), False)
    rules = (contract.not_blocks, contract.not_plain, contract.not_refused, contract.not_finite)
    assert {rule.__name__: broken for rule in rules if (broken := rule(found))} == {}


@pytest.mark.parametrize("view", VIEWS)
def test_settings_have_names_of_their_own(view):
    assert contract.taken_names(class_of(view)) == set()


# ---- addresses -------------------------------------------------------------------------------------------------------
def any_of(control, of):
    """All values of a field, not its ends alone."""
    values = contract.values(control, [of])
    if control.kind not in ("number", "layer", "head"):
        return st.sampled_from(values)
    if control.at:
        return st.sampled_from(control.places([of]))
    if control.kind == "number" and isinstance(control.step, int) and control.step > 1:
        return st.sampled_from(control.steps([of]))
    low, high = values[0], values[-1]
    return st.integers(int(low), int(high)) if control.step == 1 else st.floats(low, high)


@pytest.mark.parametrize("view", VIEWS)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_settings_are_their_address(view, data):
    names = [name for name in subjects_of(VIEWS[view]) if name in ("digits_vit", "two_heads", *contract.NO_MODEL)]
    cls, of = class_of(view), shared(data.draw(st.sampled_from(names)))
    chosen = data.draw(st.fixed_dictionaries({field: any_of(each, of) for field, each in controls(cls).items()}))
    made = cls(**read_fields(cls, chosen))
    assert from_address(cls, to_address(made)) == made
    assert to_address(cls()) == {}


@cache
def shared(name):
    return subject(name)


ODD = ("1e999", "-1", "99999999999", "9" * 500, "true", "nan", "0,0", "1,1", "[", "", "<b>../../etc/passwd")


def keys_of(view):
    return [key_of(VIEWS[view], field, control) for field, control in controls(class_of(view)).items()]


def read_of(view, address):
    """What is left of an address is a view that has an address."""
    cls = class_of(view)
    found = from_address(cls, address)
    assert from_address(cls, to_address(found)) == found


@pytest.mark.parametrize("view", VIEWS)
def test_nonsense_in_an_address_is_left_out(view):
    for value in ODD:
        for key in (*keys_of(view), "other"):
            read_of(view, {key: value})
        read_of(view, dict.fromkeys(keys_of(view), value))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_text_in_an_address_is_left_out(data):
    view = data.draw(st.sampled_from(NAMES))
    keys = st.sampled_from([*keys_of(view), "other"])
    read_of(view, data.draw(st.dictionaries(keys, st.text(max_size=20) | st.sampled_from(ODD))))


@pytest.mark.parametrize("view, name", ALL)
def test_an_address_has_the_words_of_the_page(view, name):
    """As `vizkit.ui.asking` draws them."""
    for control in controls(class_of(view)).values():
        if control.kind not in ("choice", "query") or control.inside:  # which has no element
            continue
        try:
            known = options(control, [shared(name)])
        except NotApplicable:
            continue
        for option in known:
            label = control.words.get(
                option, option if control.kind == "choice" or option == "patch" else f"[{option}]"
            )
            in_a_list = control.listed or len(known) > MOST_BUTTONS  # which takes no Markdown
            shown = label if in_a_list else plain(label)
            assert as_text(control, option) == shown
            assert [from_text(control, text) for text in (option, label, shown)] == [option] * 3


# ---- each rule can fail ----------------------------------------------------------------------------------------------
class Toy(View):
    how: ClassVar = How("It is read.", "x", "anything.", "nobody")

    level: int = number("Level", 0, 2, 1)

    def title(self, of):
        return "A toy"

    def show(self, of):
        yield Said("A toy is to be seen.")
        yield Numbers(lambda: {"pixels": of.made(ran, of.whole())})


def ran(trace):
    return trace.logits.numpy()


class Markup(Toy):
    def show(self, of):
        yield "**no block**"


class Program(Toy):
    def show(self, of):
        yield Line(("blind:all=50,64", "None", "nan %")[self.level])


class Asks(Toy):
    def show(self, of):
        yield Line("Every dot is a head: click one to mark it.")


class Powers(Toy):
    def show(self, of):
        figure = curves({"a": (np.array([1, 2]), np.array([1, 90]))}, "x", "y")
        yield Chart(figure.update_yaxes(type="log"), "Powers of ten")


class Crash(Toy):
    def show(self, of):
        yield Line("first")
        raise KeyError("second")


class Talks(Toy):
    def show(self, of):
        raise NotApplicable("There is no such thing. Try another.")
        yield


class Borrows(Toy):
    def show(self, of):
        yield Later(subject("windows"), (), lambda results: [])


class Infinite(Toy):
    def show(self, of):
        yield Numbers(lambda: {"level": np.array([1.0, np.inf])})


class Wanders(Toy):
    def show(self, of):
        yield Numbers(lambda: {f"level{self.level}": np.zeros(1)})


class Double(Toy):
    def show(self, of):
        yield Numbers(lambda: {"level": np.zeros(1)})
        yield Numbers(lambda: {"level": np.ones(1)})


class Unread(Toy):
    limits: object = None


class Ambiguous(Toy):
    side: Literal["left", "right"] = choice("Side", ("left", "right"), words={"left": "this", "right": "this"})


class Runs(Toy):
    def show(self, of):
        yield Numbers(lambda: {"level": of.made(again, self.level, of.loaded)})


def again(level, loaded):
    size = loaded.preprocessing.channels, *loaded.preprocessing.size_hw
    return loaded.model(torch.zeros(1, *size)).detach().numpy() + level


class Says(Runs):
    level: int = number("Level", 0, 2, 1, runs=True)


class Random(Toy):
    def show(self, of):
        yield Numbers(lambda: {"level": np.random.default_rng().random(3)})


class Named(Toy):
    image: bool = switch("Image")


@pytest.fixture(autouse=True)
def known(monkeypatch):
    """An address takes the name of a view from the table."""
    for cls in (Toy, *Toy.__subclasses__(), Says):
        where = f"{cls.__module__}:{cls.__qualname__}"
        monkeypatch.setitem(VIEWS, cls.__name__, Entry("Toy", "A toy.", where, name=cls.__name__, page="toy"))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("toy", [Toy, Says])
def test_a_good_toy_breaks_no_rule(rule, toy):
    found = seen(toy, subject("digits_vit"))
    assert len(found) == 3
    assert rule(found) == []


@pytest.mark.parametrize(
    "rule, toy",
    [
        (contract.not_blocks, Markup),
        (contract.not_plain, Program),
        (contract.of_controls, Asks),
        (contract.not_whole, Powers),
        (contract.not_refused, Crash),
        (contract.not_refused, Talks),
        (contract.of_another, Borrows),
        (contract.not_finite, Infinite),
        (contract.other_keys, Wanders),
        (contract.other_keys, Double),
        (contract.not_read_back, Unread),
        (contract.not_its_address, Ambiguous),
        (contract.runs_the_model, Runs),
    ],
)
def test_each_rule_can_fail(rule, toy):
    assert rule(seen(toy, subject("digits_vit")))


def test_the_other_rules_can_fail():
    first, again = seen(Toy, subject("digits_vit"))[0], seen(Random, subject("digits_vit"))[0]
    assert contract.not_the_same_twice(first, subject("digits_vit")) == []
    assert contract.not_the_same_twice(again, subject("digits_vit")) == ["level"]
    assert contract.taken_names(Toy) == set()
    assert contract.taken_names(Named) == {"image"}


def test_what_the_model_runs_is_counted():
    for _ in range(2):  # of another subject too, whose model has run before
        assert [one.calls > 0 for one in seen(Toy, subject("digits_vit"))] == [True, False, False]
    assert all(one.calls > 0 for one in seen(Runs, subject("digits_vit")))


def test_each_kind_of_program_text_is_found():
    assert [
        bool(contract.PROGRAM.search(text)) for text in ("Level None", "pixels:14x14:erase=1", "on none of 5", "[cls]")
    ] == [
        True,
        True,
        False,
        False,
    ]
    assert model("stranger").labels[0] == "nymph"
