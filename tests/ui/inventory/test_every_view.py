"""Every view as a page draws it: one drawing is asked for everything.

It says what it must, and is as recorded (tests/ui/inventory), with other models too; it is clicked, then every widget
is given another value than it has, and whoever opens the address that came of it sees the same.
"""

import pytest

from tests.ui import test_views
from tests.ui.inventory import record, walk
from tests.ui.inventory.facts import facts, sent_files
from tests.ui.session.test_clicks import canvases, clicked
from tests.ui.session.test_links import models_of, set_otherwise, shown, state
from vizkit.report import making

pytestmark = pytest.mark.usefixtures("no_runs")


@pytest.fixture(autouse=True)
def drawn_once(monkeypatch):
    """All files that a view offers are of one drawing."""
    drawn = {}
    draw = making.made

    def made(item, inputs, width_mm=None):
        assert width_mm is None
        key = repr(item)
        drawn[key] = drawn.get(key) or draw(item, inputs)
        return drawn[key]

    monkeypatch.setattr(making, "made", made)


@pytest.fixture(autouse=True)
def one_record(request):
    """The views of a data set are of one pass over it."""
    if request.node.callspec.params["stem"] == "data_set":
        request.getfixturevalue("one_pass")


@pytest.mark.parametrize("stem, view", test_views.ALL.values(), ids=test_views.ALL)
def test_a_view(stem, view):
    models = models_of(view)
    with sent_files() as files:
        test = test_views.opened(stem, view.title, models)
        assert [*test_views.missing(stem, view), *test_views.undrawn(test, stem, view, {})] == []
        sections = {walk.DEFAULTS: facts(test, files, contents=True)}
        sections |= walk.with_others(walk.KINDS, stem, view, facts(test, files), files)
    difference = record.difference(record.read(stem).get(view.title, {}), sections, whole=False)
    assert not difference, f"{stem}: {view.title} is not as recorded:\n{difference}"
    usual = state(test), shown(test)
    if any([clicked(test, proto, data) for proto, data in canvases(test)]):
        test.session_state["_picture"] = test_views.sample(test.session_state["image"])  # as the sidebar would
        test.run()
        assert (state(test), shown(test)) != usual
        test = by_link(stem, view, test, models)
    assert [*set_otherwise(stem, test)] == []
    by_link(stem, view, test, models)


def by_link(stem, view, test, models):
    """What whoever opens the address sees, which is the same."""

    def opened():
        return test_views.opened(stem, view.title, models, test.session_state["image"], **test.query_params)

    again = opened()
    if state(again) != state(test):
        test.run()  # Streamlit carries a value over to a widget whose range has changed, but only in the run after that
        again = opened()
    assert state(again) == state(test)
    assert shown(again) == shown(test)
    return again


@pytest.mark.rest
@pytest.mark.parametrize("stem, view", test_views.ALL.values(), ids=test_views.ALL)
def test_an_address_of_nonsense_opens_a_view_as_it_begins(stem, view):
    models = models_of(view)
    for address in test_views.odd()[view.name]:
        assert [*test_views.undrawn(test_views.opened(stem, view.title, models, **address), stem, view, address)] == []
