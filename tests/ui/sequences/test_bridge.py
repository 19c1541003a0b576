"""The view From words to patches: both sides hold the models' own weights of the same layer."""

import numpy as np
import pytest

import vizkit
from tests.ui import test_views
from tests.ui.conftest import VIT, fine, texts
from vizkit.views.sequences.bridge import Bridge


def shown_of(layer: int):
    return vizkit.show(
        "words-to-patches", vizkit.load("bundled:digits_vit", device="cpu"), image="sample:digit 3", layer=layer
    )


@pytest.mark.usefixtures("random_models")
def test_the_page_has_words_left_the_image_right_and_what_changes():
    test = test_views.opened("sequences", "From words to patches", [VIT])
    fine(test)
    assert "the logits are the model’s own" in texts(test)
    assert "Patches: how an image is cut" in [button.label for button in test.button]
    (matrix,) = (each.proto.body for each in test.main.get("html") if "word-matrix" in each.proto.body)
    assert "november → november" in matrix


def test_numbers_of_both_sides_are_of_the_same_layer_and_the_sentence_names_their_largest():
    shown = [shown_of(layer) for layer in (1, 2)]
    for layer, one in enumerate(shown, 1):
        words, weights, patches = (one.numbers[name] for name in ("words", "word_weights", "patch_weights"))
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
        assert patches.sum() < 1, "the class token has a share of its own"
        query, key = np.unravel_index(weights.argmax(), weights.shape)
        row, column = np.unravel_index(patches.argmax(), patches.shape)
        assert (
            f"Layer {layer}: word {query + 1}, “{words[query]}”, looks most at word {key + 1}, “{words[key]}”, "
            f"{weights.max() * len(words):.1f}" in one.said
        )
        assert f"row {row + 1}, column {column + 1}, {patches.max() * (patches.size + 1):.1f} times" in one.said
    assert not np.allclose(shown[0].numbers["word_weights"], shown[1].numbers["word_weights"])


def test_a_layer_beyond_the_shorter_model_is_its_last():
    view, deep = Bridge(layer=99), shown_of(2)
    of = deep.subjects[0]
    assert next(block.text for block in view.show(of) if hasattr(block, "text")) == deep.said.splitlines()[0]
