"""The view Step by step: which steps there are in which layer, and that their numbers follow from one another."""

import base64

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.ui.conftest import fine, sent_to, texts
from tests.ui.sequences.conftest import opened

pytestmark = pytest.mark.usefixtures("random_models")

ATTENTION = ["Q, K, V", "Scores", "Mask", "Softmax", "Values", "Heads", "Add & Norm"]
EMBEDDING, FFN = ["Word", "× √d + position"], ["FFN", "Add & Norm"]


def steps_sent(**query):
    """(what the canvas was sent, the numbers of every step by their names)."""
    test = opened("Step by step", **query)
    fine(test)
    assert "the logits are the model’s own, within" in texts(test)
    (data,) = sent_to(test, "vizkit_strips")
    numbers = {
        f"{step['part']}: {step['title']}": {
            strip["name"]: np.frombuffer(base64.b64decode(strip["values"]), "<f4").astype(float)
            for strip in step["strips"]
        }
        for step in data["steps"]
    }
    return data, numbers


@pytest.mark.parametrize(
    "layer, titles",
    [
        ("encoder 1", [*EMBEDDING, *ATTENTION, *FFN]),
        ("encoder 2", [*ATTENTION, *FFN]),
        ("decoder 1", [*EMBEDDING, *ATTENTION, *ATTENTION, *FFN]),
        ("decoder 2", [*ATTENTION, *ATTENTION, *FFN, "Logits"]),
    ],
)
def test_every_layer_has_its_steps(layer, titles):
    data, _ = steps_sent(steps_layer=layer, steps_token="2", step="1")
    assert [step["title"] for step in data["steps"]] == titles
    assert data["words"][0].startswith("[BEGIN] → ") == layer.startswith("decoder")
    assert data["chosen"] == 1


def test_numbers_follow_from_one_another():
    data, steps = steps_sent(steps_layer="decoder 1", steps_token="3", steps_head="2")
    embedded = list(steps["Embedding: × √d + position"].values())
    assert_allclose(embedded[0] + embedded[1], embedded[2], atol=1e-5)
    masked = steps["Masked self-attention: Mask"]["s + M"]
    assert np.isinf(masked).tolist() == [at > 2 for at in range(len(data["words"]))]
    weights = steps["Masked self-attention: Softmax"]["w"]
    assert_allclose(weights, np.exp(masked) / np.exp(masked).sum(), atol=1e-6)
    *parts, mixed = steps["Cross-attention: Values"].values()
    assert_allclose(sum(parts), mixed, atol=1e-5)
    joined = steps["Cross-attention: Heads"]["[o₁ … o_h]"]
    frame = next(step for step in data["steps"] if step["title"] == "Heads")["strips"][0]["frame"]
    assert_allclose(joined[slice(*frame)], mixed, atol=1e-6)
    x, y, added, normed = steps["Feed-forward: Add & Norm"].values()
    assert_allclose(x + y, added, atol=1e-5)
    assert abs(normed.mean()) < 0.1


def test_a_word_of_the_canvas_becomes_the_token_and_a_step_stays_in_the_address():
    test = opened("Step by step", step="4")
    (data,) = sent_to(test, "vizkit_strips")
    assert data["at"] == 3
    test.session_state["step"] = 7
    test.session_state["steps_token"] = 4
    test.run()
    assert test.query_params["step"] == "7"
    (data,) = sent_to(test, "vizkit_strips")
    assert (data["at"], data["chosen"]) == (6, 3)


def test_a_link_beyond_the_last_step_opens_the_usual_one_and_the_last_word():
    (data,) = sent_to(opened("Step by step", step="99", steps_token="77"), "vizkit_strips")
    assert data["steps"][data["at"]]["title"] == "Softmax"
    assert data["chosen"] == len(data["words"]) - 1


@pytest.mark.parametrize("step, said", [("6", "looks most at"), ("1", "Decoder 1, step 1 of 18, Embedding: Word.")])
def test_the_sentence_is_of_the_step_on_show(step, said):
    assert ("looks most at" in texts(opened("Step by step", step=step))) == (said == "looks most at")
    assert said in texts(opened("Step by step", step=step))
