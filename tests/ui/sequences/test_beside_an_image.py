"""Step by step with an image beside the sentence: both sides hold the models' own weights of the same layer."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import vizkit
from tests.ui import test_views
from tests.ui.conftest import VIT, fine, sent_to, texts
from vizkit.analysis.remarks.sequences import looker, word_of
from vizkit.views.blocks import Columns, Line
from vizkit.views.sequences import BOTH
from vizkit.views.sequences.in_image import CROSS
from vizkit.views.sequences.steps import StepByStep
from vizkit.views.subject import Subject, no_model, no_picture


def shown_of(layer, token, head):
    loaded = vizkit.load("bundled:digits_vit")
    return vizkit.show("word-steps", loaded, image="sample:digit 3", layer=layer, token=token, head=head)


@pytest.mark.usefixtures("random_models")
def test_the_page_has_the_steps_left_and_the_image_right():
    test = test_views.opened("sequences", "Step by step", [VIT], steps_beside=BOTH)
    fine(test)
    assert "the logits are the model’s own" in texts(test)
    assert "Patches: how an image is cut" in [button.label for button in test.button]
    (strips,), (drawn,) = sent_to(test, "vizkit_strips"), sent_to(test, "vizkit_look")
    assert all("In a ViT: " in step["say"] for step in strips["steps"])
    assert drawn["label"].startswith("Attention in layer 1, head 2 of ViT · digits")


@pytest.mark.usefixtures("random_models")
def test_of_a_sentence_alone_no_image_is_drawn():
    test = test_views.opened("sequences", "Step by step", [VIT])
    fine(test)
    (strips,) = sent_to(test, "vizkit_strips")
    assert not any("In a ViT: " in step["say"] for step in strips["steps"])
    assert not sent_to(test, "vizkit_look")


def test_the_sentence_names_the_largest_of_the_token_and_of_the_patch():
    found = {}
    for layer, number, token, head in (("encoder 1", 1, 2, 1), ("encoder 2", 2, 2, 2), ("decoder 2", 2, 3, 2)):
        one = shown_of(layer, token, head)
        view = StepByStep(layer=layer, token=token, beside=BOTH)
        all_of = view.walked(one.subjects[0])[1]
        walk, side = all_of[0], view.side(all_of)
        words = (*walk.encoder, *walk.decoder)[view.index(walk)].attention.weights[head - 1, token - 1]
        patches = found[layer] = one.numbers["patch_weights"]
        assert patches.sum() < 1, "the class token has a share of its own"
        key, (row, column) = int(words.argmax()), np.unravel_index(patches.argmax(), patches.shape)
        (beside,) = (block for block in one.view.show(one.subjects[0]) if isinstance(block, Columns))
        assert beside.parts[1][0].ringed == ((row, column),), "it is marked in the image"
        assert (
            f"Layer {number}, head {head}: {looker(side, token - 1)} looks most at {word_of(side, key)}, "
            f"{float(words.max()) * int((words > 0).sum()):.1f}" in one.said
        ), "an equal share is among the words that are not masked"
        assert f"row {row + 1}, column {column + 1}, {patches.max() * (patches.size + 1):.1f} times" in one.said
        more = 1 - patches.sum() > patches.max()
        assert (f"[cls], {(1 - patches.sum()) * (patches.size + 1):.1f} times, and among patches" in one.said) == more
    assert not np.allclose(found["encoder 1"], found["encoder 2"])
    assert_array_equal(found["encoder 2"], found["decoder 2"])


def test_each_step_says_what_it_is_for_a_patch():
    view = StepByStep(layer="decoder 2", beside=BOTH)
    steps = view.steps(*view.walked(Subject(no_model, no_picture())))
    assert all("In a ViT: " in step.say for step in steps)
    assert {step.part for step in steps if CROSS in step.say} == {"Cross-attention"}


def test_without_a_model_of_images_a_sentence_says_what_to_choose():
    blocks = [*StepByStep(beside=BOTH).show(Subject(no_model, no_picture()))]
    beside = next(block.parts[1][0] for block in blocks if hasattr(block, "parts"))
    assert isinstance(beside, Line)
    assert beside.text.startswith("Choose a model in the sidebar")
