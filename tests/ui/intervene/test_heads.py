"""The view Heads: shipped numbers at once, others when they are asked for, and the way to Switches."""


import pytest

from tests.ui.conftest import fine, opened, sent_to, texts
from vizkit.ui.pages.intervene import heads_measured
from vizkit.ui.session import background
from vizkit.ui.session.device import Device

VIT, BARE = "bundled:insects_vit", "random:vit_tiny_patch16_224"


def test_a_bundled_model_opens_with_its_numbers_and_leads_to_switches():
    test = opened("intervene", models=VIT, image="mayfly nymph", intervene_view="Heads")
    fine(test)
    assert "matters most" in texts(test)
    assert "200 test pictures of insects" in texts(test)
    assert "heads can go" in texts(test)
    assert len(test.main.get("image")) == 6
    (first,) = [button for button in test.button if str(button.key).startswith("heads_off_")]
    layer, head = str(first.key).split("_")[2:]
    first.click().run()
    fine(test)
    (content,) = sent_to(test, "vizkit_switches")
    assert content["off"] == [f"{layer}.{head}"]


def test_a_behaviour_and_a_head_by_their_address():
    test = opened("intervene", models=VIT, image="mayfly nymph", intervene_view="Heads", head="4.2",
                  heads_what="how far it looks")  # fmt: skip
    fine(test)
    assert "Layer 4, head 2" in texts(test)
    assert "How far it looks: the most in head" in texts(test)
    assert "registers" not in test.selectbox(key="heads_what").options


def test_another_model_is_measured_when_it_is_asked_for():
    test = opened("intervene", models=BARE, intervene_view="Heads")
    fine(test)
    assert "matters most" not in texts(test)
    assert test.button(key="heads_measure_mean").label == "Measure on 200 pictures"


def test_what_was_measured_before_stop_is_shown_and_gone_on_with(monkeypatch):
    begun = []
    monkeypatch.setattr("vizkit.ui.session.background.start", lambda name, work: begun.append((name, work)))
    test = opened("intervene", models=BARE, intervene_view="Heads", heads_what="how far it looks")
    test.button(key="heads_measure_behaviours").click().run()
    ((name, work),) = begun
    assert name == heads_measured.TASK

    class Enough(Exception):  # noqa: N818
        pass

    def report(self, doing: str, done: int, total: int) -> None:
        if done >= 10:  # after two of two hundred
            raise Enough

    monkeypatch.setattr(background.Task, "report", report)
    with pytest.raises(Enough):
        work(background.Task(Device()))
    test.run()
    fine(test)
    assert "Mean of 2 test pictures of insects" in texts(test)
    assert test.button(key="heads_measure_behaviours").label == "Go on after 2 pictures"
