"""The view Heads: shipped numbers at once, others when they are asked for, and the way to Switches."""

from tests.ui.conftest import fine, opened, sent_to, texts


def test_a_bundled_model_opens_with_its_numbers_and_leads_to_switches():
    test = opened("intervene", models="bundled:insects_vit", image="mayfly nymph", intervene_view="Heads")
    fine(test)
    assert "matters most" in texts(test)
    assert "200 test pictures of insects" in texts(test)
    (first, *_) = [button for button in test.button if str(button.key).startswith("heads_off_")]
    layer, head = str(first.key).split("_")[2:]
    first.click().run()
    fine(test)
    (content,) = sent_to(test, "vizkit_switches")
    assert content["off"] == [f"{layer}.{head}"]


def test_another_model_is_measured_when_it_is_asked_for():
    test = opened("intervene", models="random:vit_tiny_patch16_224", intervene_view="Heads")
    fine(test)
    assert "matters most" not in texts(test)
    assert test.button(key="heads_measure").label == "Measure on 32 pictures"
