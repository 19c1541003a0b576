"""The page Super-resolution: what its canvas is sent, and what it does with what it is told."""

import base64

import numpy as np
import pytest

from tests.ui.conftest import fine, opened, sent_to, texts


def content_of(test):
    (content,) = sent_to(test, "vizkit_transfer")
    return content


def relevance_of(content):
    values = np.frombuffer(base64.b64decode(content["relevance"]), "<u2") / 65535 * 2 - 1
    return values.reshape(np.prod(content["grid"]), np.prod(content["key_grid"]))


def test_the_canvas_is_sent_the_relevance_of_all_places():
    test = opened("super_resolution", sr_place="4,6")
    fine(test)
    content = content_of(test)
    assert list(content["grid"]) == [24, 24]
    assert list(content["at"]) == [3, 5]
    relevance = relevance_of(content)
    assert np.allclose(relevance[np.arange(576), content["place"]], relevance.max(1), atol=1e-4)
    assert "The reference brings" in texts(test)


@pytest.mark.product
@pytest.mark.parametrize("reference", ["noise", "another kind", "china"])
def test_a_useless_reference_is_said_to_bring_nothing(reference):
    test = opened("super_resolution", sr_reference=reference)
    fine(test)
    assert "The reference changes next to nothing" in texts(test)


def test_an_error_map_needs_a_truth_and_lies_over_the_picture():
    test = opened("super_resolution", sr_over="error", sr_texture="mixture of all", sr_turn="90°")
    fine(test)
    content = content_of(test)
    assert list(content["over_size"]) == [96, 96]
    assert content["titles"][1] == "mixture of all places"


def test_a_long_picture_keeps_its_shape():
    test = opened("super_resolution", image="china", sr_reference="flower", sr_side="16 px")
    fine(test)
    rows, columns = content_of(test)["grid"]
    assert columns == 16
    assert 9 <= rows <= 12
