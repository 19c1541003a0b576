"""The view Switches on its page: its link, and the other models that are shown."""

import pytest

from tests.ui.conftest import CNN, SWIN, VIT, fine, opened, sent_to, texts


def content_of(test):
    (content,) = sent_to(test, "vizkit_switches")
    return content


def test_a_link_with_edits_shows_them_and_stays():
    edits = "blind:all=3,4;heads:1.2=0"
    test = opened("intervene", models=VIT, image="digit 3", edits=edits)
    fine(test)
    assert content_of(test)["hidden"] == [2, 3]
    assert test.query_params["edits"] == edits
    assert "With 2 patches hidden and head 2 of layer 1 off, the answer" in texts(test)
    assert "blind:" not in texts(test)


@pytest.mark.rest
def test_all_models_answer_to_the_same_changes():
    edits = "pixels:8x8:erase=27;heads:2.1=0"
    test = opened("intervene", models=[VIT, SWIN, CNN], image="digit 3", edits=edits)
    fine(test)
    assert "The same changes in every model" in texts(test)
    assert "Not in this model: head 1 of layer 2 off" in texts(test)
