"""The walk over a view: at its defaults, at the options of its controls one by one, with other models, after its work.

Gives sections of lines by their titles; all but the first say what is other than in it.
"""

from difflib import SequenceMatcher
from functools import partial

import pytest
import streamlit as st

from tests.ui import test_views
from tests.ui.conftest import CNN, SWIN
from tests.ui.inventory.facts import facts, sent_files, steady
from tests.ui.session.test_links import PRIVATE, TYPED, models_of, others, widgets
from vizkit.device import DEVICE
from vizkit.ui.session import background
from vizkit.ui.session import models as opened_models
from vizkit.ui.session.needs import NEEDS
from vizkit.ui.views import package_of
from vizkit.ui.widgets.save import WIDTH

KINDS = (SWIN, CNN)
OTHERS = (*KINDS, "bundled:insects_deit")
DEFAULTS, WORKED = "defaults", "after its work"
OPTIONS = 8  # of one control that are tried
HUGE = 1e15  # the end of a number without one


def sections(stem, view):
    """(title, lines) of a view: at its defaults, with other models, at all options, after its work."""
    models = models_of(view)
    with sent_files() as files:
        test = test_views.opened(stem, view.title, models)
        yield DEFAULTS, facts(test, files, contents=True)
        usual = facts(test, files)
        yield from with_others(OTHERS, stem, view, usual, files)
        for key in controls(stem, test):
            yield from of_control(partial(test_views.opened, stem, view.title, models), key, usual, files)
        if (worked := after_work(stem, view, models, files)) is not None:
            yield WORKED, changes(usual, worked)


def with_others(models, stem, view, usual, files):
    """As it opens with each of the models, of those that it is not usually given here and that fit."""
    for name in models:
        if fits(name, view):
            yield f"with {name}", changes(usual, facts(test_views.opened(stem, view.title, [name]), files))


def fits(name, view):
    read = view.reads != "nothing" and "models" in view.reads
    return name not in models_of(view) and read and (not view.needs or NEEDS[view.needs].has(opened_models.model(name)))


def controls(stem, test):
    """The keys of the controls that are tried."""
    return [str(widget.key) for widget in widgets(test) if not widget.disabled and tried(stem, widget)]


def tried(stem, widget):
    if widget.key in (f"{stem}_view", *PRIVATE) or str(widget.key).startswith(WIDTH):
        return False
    return not isinstance(widget.value, str) or hasattr(widget, "options") or str(widget.key) in TYPED


def of_control(opened, key, usual, files):
    """One control at its options, one after another."""
    test = opened()
    widget = found(test, key)
    values = [each for each in others(test, widget) if not isinstance(each, int | float) or abs(each) < HUGE]
    half = OPTIONS // 2
    values = values if len(values) <= OPTIONS else [*values[:half], *values[-half:]]
    for value in values:
        widget = next((each for each in widgets(test) if each.key == key), None)
        if widget is None or widget.disabled:  # gone with its own last value
            test = opened()
            widget = found(test, key)
        widget.set_value(value)
        test.run()
        yield steady(f"{key} = {value}"), changes(usual, facts(test, files))


def found(test, key):
    return next(each for each in widgets(test) if each.key == key)


def after_work(stem, view, models, files):
    """The page when what it works for in the background is there, by itself or after a button; None where it does no
    such work. Buttons with callbacks of their own are not pressed: they start processes."""
    began = []

    def at_once(name, work):
        task = background.Task(DEVICE, seen=float("inf"))
        background.run(task, work)
        st.session_state[f"_task_{name}"] = task
        began.append(name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(background, "start", at_once)
        test = test_views.opened(stem, view.title, models).run()
        for button in test.main.get("button"):
            metadata = test._session_state._state.get_widget_metadata(button.id)
            if getattr(metadata, "callback", None) is at_once and not button.disabled:
                button.click()
                test.run()
                break
        return facts(test.run(), files) if began else None


def changes(usual, other):
    """What is gone (-) and what has come (+), in the order of the page; of much that is gone how it begins."""
    lines = []
    for _, a, b, c, d in SequenceMatcher(None, usual, other, autojunk=False).get_opcodes():
        if usual[a:b] != other[c:d]:
            gone = usual[a:b] if b - a < 4 else [usual[a], f"  … and {b - a - 1} lines more"]
            lines += [*(f"- {line}" for line in gone), *(f"+ {line}" for line in other[c:d])]
    return lines


def titles(stem):
    return [view.title for view in package_of(stem).VIEWS]
