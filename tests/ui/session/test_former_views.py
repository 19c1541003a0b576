"""Views of earlier versions: their addresses, names and records open what replaces them."""

from dataclasses import fields

import pytest

from tests.ui.conftest import fine, opened
from vizkit.from_json import ReportError
from vizkit.report.item import Item, from_json, to_json
from vizkit.ui.views import former_settings
from vizkit.views import FORMER, VIEWS, class_of, replaced
from vizkit.views.address import key_of
from vizkit.views.controls import controls, setting
from vizkit.views.entry import Former

FORMERLY = [(former, now) for now in VIEWS.values() for former in now.formerly]
ADDRESSES = [(former, now) for former, now in FORMERLY if former.title]  # others had one that leads elsewhere
IDS = [f"{former.page or now.page}/{former.title or former.name}" for former, now in FORMERLY]


@pytest.mark.product("now")
@pytest.mark.parametrize(
    "former, now", ADDRESSES, ids=[f"{former.page or now.page}/{former.title}" for former, now in ADDRESSES]
)
def test_an_old_address_opens_what_replaces_it(former, now):
    stem = former.page or now.page
    test = opened(stem, **{f"{stem}_view": former.title})
    fine(test)
    several = sum(each.page == now.page for each in VIEWS.values()) > 1
    if several:
        assert test.session_state[f"{now.page}_view"] == now.title
    own = controls(class_of(now.name))
    for field, value in former.settings.items():
        key = key_of(now, field, own[field])
        if own[field].inside:  # a canvas has it, and the address
            assert test.query_params[key] in (str(value), [str(value)])
        else:
            assert test.session_state[key] == value


@pytest.mark.parametrize("former, now", FORMERLY, ids=IDS)
def test_what_it_maps_exists(former, now):
    cls = class_of(now.name)
    assert {*former.settings, *former.fields.values()} <= {field.name for field in fields(cls)}
    for field, value in former.settings.items():
        assert setting(cls, field, value) == value
    assert not former.name or former.name not in VIEWS


def test_each_is_replaced_once():
    places = [(former.page or now.page, former.title) for former, now in ADDRESSES]
    names = [former.name for former, _ in FORMERLY if former.name]
    assert len(places) == len({*places})
    assert len(names) == len({*names}) == len(FORMER)
    assert not {*places} & {(now.page, now.title) for now in VIEWS.values()}


@pytest.mark.parametrize("name", FORMER)
def test_an_old_record_opens(name):
    """Whatever else it held."""
    former, now = FORMER[name]
    today = to_json(Item(class_of(now.name)(), "bundled:digits_vit", "digit 3", ""))
    record = today | {"kind": f"view {name}", "shows": {"gone": 1}}
    item = from_json(record)
    assert item.kind == f"view {now.name}"
    for field, value in former.settings.items():
        assert getattr(item.shows, field) == value
    with pytest.raises(ReportError):
        from_json(record | {"kind": f"view {now.name}"})  # a record of today has no field that the view lacks


def test_fields_keep_their_values(monkeypatch):
    """Under their new names; what has none is left out."""
    now, own = VIEWS["rollout"], controls(class_of("rollout"))
    former = Former("Old", "swin", "old", {"upto": "depth"}, {"head": "2"})
    monkeypatch.setitem(FORMER, "old", (former, now))
    assert replaced("old", {"upto": 3, "other": 4}) == ("rollout", {"depth": 3, "head": "2"})
    assert replaced("rollout", {"depth": 2}) == ("rollout", {"depth": 2})
    address = former_settings(now, former._replace(settings={}), {"swin_upto": ["3"], "swin_other": ["4"]})
    assert address == {key_of(now, "depth", own["depth"]): ["3"]}
