"""What sessions share is limited by its bytes, made once, and let go of in the order in which it was asked for."""

import gc
import threading
from dataclasses import dataclass, replace

import numpy as np
import pytest
import streamlit as st
import torch
from torch import nn

import vizkit
from tests.devices import NAME, fetching, pretended
from tests.ui.conftest import opened
from vizkit.device import DEVICE
from vizkit.models import Loaded
from vizkit.traces import Trace, kept_on
from vizkit.ui.session import models, remembered
from vizkit.ui.session.remembered import ENTRY_BYTES, Shelf, bytes_of

MIB = 2**20


def array(mib):
    return np.zeros(int(mib * MIB), np.uint8)


@pytest.fixture
def shelf(monkeypatch):
    """One of 10 MiB in the place of the server's own."""
    small = Shelf(10 * MIB)
    monkeypatch.setattr(remembered, "shelf", lambda: small)
    return small


def test_big_things_push_out_what_was_not_asked_for_the_longest(shelf):
    for name in "abc":
        shelf.get(name, lambda: array(3))
    shelf.get("a", lambda: pytest.fail("it is kept"))
    shelf.get("d", lambda: array(3))
    assert [name in shelf for name in "abcd"] == [True, False, True, True]
    shelf.get("e", lambda: array(8))
    assert [name in shelf for name in "abcde"] == [False, False, False, False, True]


def test_the_budget_is_one_for_everything_and_never_exceeded(shelf):
    for i in range(200):
        shelf.get(("thing", i), lambda i=i: array(0.1 * (i % 40)))
        assert shelf.bytes <= shelf.limit_bytes
    kept = [shelf._kept[key][1] for key in shelf._kept]
    assert sum(kept) == shelf.bytes > 0.5 * shelf.limit_bytes


def test_memory_goes_back_to_the_system_after_many_small_values(shelf, monkeypatch):
    told = []
    monkeypatch.setattr(remembered, "allocator", lambda name, _: told.append(name))
    for i in range(100):
        shelf.put(i, array(3))
    assert told == ["malloc_trim"] * (300 // (remembered.TRIMMED_BYTES // MIB))


def test_what_is_larger_than_the_budget_is_given_but_not_kept(shelf):
    shelf.get("small", lambda: array(1))
    assert shelf.get("large", lambda: array(11)).nbytes == 11 * MIB
    assert "large" not in shelf
    assert "small" in shelf


def test_a_result_that_is_put_counts_and_is_found_until_it_makes_room(shelf):
    for name in "ab":
        shelf.put(name, array(4))
    assert shelf.find("a").nbytes == 4 * MIB
    assert shelf.find("c") is None
    shelf.put("c", array(4))
    assert [shelf.find(name) is None for name in "abc"] == [False, True, False]


def test_many_small_things_have_no_number_at_which_they_go(shelf):
    for i in range(2000):
        shelf.get(i, lambda i=i: i)
    assert all(i in shelf for i in range(2000))


def test_two_sessions_that_ask_for_the_same_make_it_once(shelf):
    made, inside, go = [], threading.Event(), threading.Event()

    def make():
        made.append(1)
        inside.set()
        assert go.wait(300)
        return "trace"

    found = []
    ask = [threading.Thread(target=lambda: found.append(shelf.get("key", make))) for _ in range(8)]
    ask[0].start()
    assert inside.wait(300)
    for each in ask[1:]:
        each.start()
    assert shelf.get("another", lambda: 1) == 1  # who asks for something else does not wait
    go.set()
    for each in ask:
        each.join(300)
    assert found == ["trace"] * 8
    assert len(made) == 1


def test_who_waits_for_another_lays_the_device_down(shelf):
    """One holds the device and wants a value that another makes, who needs the device for it: both go on."""
    making, wanted = threading.Event(), threading.Event()

    def make():
        making.set()
        assert wanted.wait(300)
        with DEVICE:
            return "made"

    other = threading.Thread(target=lambda: shelf.get("key", make), daemon=True)
    got = []

    def waits():
        with DEVICE, DEVICE:  # as often as it likes
            other.start()
            assert making.wait(300)
            threading.Timer(0.1, wanted.set).start()
            got.append(shelf.get("key", lambda: "made twice"))

    first = threading.Thread(target=waits, daemon=True)
    first.start()
    first.join(300)
    assert got == ["made"]
    assert DEVICE.acquire(timeout=300)
    DEVICE.release()


def test_what_failed_is_made_again(shelf):
    def fail():
        raise ValueError("no")

    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            shelf.get("key", fail)
    assert shelf.get("key", lambda: 3) == 3
    assert not shelf._turns


def test_who_makes_something_may_ask_for_other_things(shelf):
    assert shelf.get("map", lambda: shelf.get("trace", lambda: 2) + 1) == 3


@dataclass
class Thing:
    first: object
    second: object = None


def test_bytes_of_what_a_thing_is_made_of():
    assert bytes_of(array(2)) == ENTRY_BYTES + 2 * MIB
    assert bytes_of(torch.zeros(MIB)) == ENTRY_BYTES + 4 * MIB
    linear = nn.Linear(1024, 1024, bias=False)
    linear.register_buffer("table", torch.zeros(MIB))
    assert bytes_of(Thing(linear)) == ENTRY_BYTES + 8 * MIB + bytes_of(None) - ENTRY_BYTES
    assert bytes_of({"maps": [(array(1), torch.zeros(MIB))]}) >= 5 * MIB
    assert bytes_of("x" * MIB) >= MIB


def test_a_view_keeps_the_whole_and_the_same_array_counts_once():
    whole, tensor = array(4), torch.zeros(MIB)
    assert bytes_of(whole[:10]) == ENTRY_BYTES + 4 * MIB
    assert bytes_of(tensor[:10]) == ENTRY_BYTES + 4 * MIB
    assert bytes_of([tensor, tensor.view(2, -1), tensor[5:]]) < 4.1 * MIB
    ring = [whole]
    ring.append(ring)
    assert bytes_of(ring) < 4.1 * MIB


def test_a_trace_on_a_device_counts_where_it_lies_and_is_not_fetched_for_it(digits, photo):
    layers = vizkit.trace(digits, photo).attention
    with pretended():
        away = [kept_on(torch.device(NAME), replace(layer, weights=layer.weights.to(NAME))) for layer in layers]
        with fetching() as fetched:
            assert sum(layer.weights.nbytes for layer in layers) < bytes_of(away) < 1.5 * bytes_of([*layers])
            assert not fetched


def test_names_and_arguments_make_the_key(shelf):
    calls = []

    @remembered.remembered
    def first(name: str, size: int = 2, *, _array: object = None) -> int:
        calls.append(name)
        return size

    @remembered.remembered
    def second(name: str) -> str:
        return name

    assert (first("a"), first("a", 2), first(name="a", _array=np.ones(3)), first("a", 3)) == (2, 2, 2, 3)
    assert second("a") == "a"
    assert calls == ["a", "a"]
    first.clear()
    assert (first("a"), len(calls)) == (2, 3)
    second("a")


def test_only_what_belongs_to_a_run_is_forgotten_when_its_weights_change(shelf, tmp_path):
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"1")
    models._weights_seen().clear()
    models.forget_old_weights("run:a", weights)
    keys = [("vizkit.ui.session.models._own", source, None, None) for source in ("run:a", "run:b")]
    for key in keys:
        shelf.get(key, object)
    models.forget_old_weights("run:a", weights)
    assert all(key in shelf for key in keys)
    weights.write_bytes(b"22")
    models.forget_old_weights("run:a", weights)
    assert [key in shelf for key in keys] == [False, True]
    models._weights_seen().clear()


@pytest.mark.rest
@pytest.mark.parametrize(
    "page, query",
    [("explore", {}), ("relevance", {}), ("rollout", {}), ("compare", {})],
)
def test_what_waits_to_be_saved_holds_no_weights_and_can_still_be_saved(page, query, monkeypatch):
    """The server keeps what a button would save as long as the page is open: thirty pages would hold thirty models."""
    waiting = []
    monkeypatch.setattr("vizkit.ui.session.background.start", lambda name, work: None)  # a thread at work holds its own
    remembered.shelf().forget(lambda key: True)
    others = held("test_vit3")  # of tests that ran before
    monkeypatch.setattr(st, "download_button", lambda label, make, *_, **__: waiting.append(make))
    test = opened(page, models="random:test_vit3", image="china", **query)
    assert waiting
    assert {type(each) for each in new(others)} == {Loaded, Trace}
    del test
    remembered.shelf().forget(lambda key: True)
    gc.collect()
    assert not new(others)
    for make in waiting:
        assert make() if callable(make) else make


def held(model):
    """The models and traces of this name that are in memory. Not by `isinstance`: some objects warn when asked."""
    there = [each for each in gc.get_objects() if type(each) in (Loaded, Trace)]
    return [each for each in there if model in (each.model if type(each) is Trace else each.name)]


def new(others):
    return [each for each in held("test_vit3") if not any(each is other for other in others)]


@pytest.mark.parametrize("turn", ["one", "the other"])
def test_no_test_finds_what_another_has_computed(turn, cache):
    key = ("of no model", "what a test has computed")
    assert key not in remembered.shelf()
    assert not cache.exists()
    remembered.shelf().put(key, turn)
    cache.mkdir(parents=True)
