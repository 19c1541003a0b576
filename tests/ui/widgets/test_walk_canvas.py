"""What the walk-through's canvas is sent: the model's own numbers, from which the trace's weights come out again."""

import base64
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.analysis.test_walkthrough import LOADERS
from tests.ui.conftest import CNN, SWIN, VIT, fine, opened, sent_to, texts
from vizkit.analysis.attention.attention_map import layers
from vizkit.models import FAMILIES, family_of
from vizkit.models.probes.parts import attention_parts
from vizkit.ui.pages.attention import walkthrough
from vizkit.ui.pages.attention.walk_canvas import head_of, row_for_browser


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def numbers(content: dict, name: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(content[name]), "<f4").astype(float)


def weights_of(content: dict) -> tuple[np.ndarray, np.ndarray]:
    """(the weights, the output of the head), as the browser computes them."""
    query, keys = numbers(content, "query"), np.frombuffer(base64.b64decode(content["key_ids"]), "<i4")
    scores = numbers(content, "key").reshape(len(keys), -1) @ query * content["scale"]
    powers = np.exp(scores + (numbers(content, "bias") if content["bias"] else 0))
    weights = powers / powers.sum()
    return weights, weights @ numbers(content, "value").reshape(len(keys), -1)


def case(which: str, window: int = 0):
    loaded = LOADERS[which]()
    pixels = torch.randn(1, 3, *loaded.preprocessing.size_hw)
    trace = FAMILIES[family_of(loaded.model)].trace(loaded, pixels)
    return attention_parts(loaded, pixels, 1, window=window), trace


@pytest.mark.parametrize("which", ["vit", "deit", "dinov2", "swin", "swin v2"])
def test_the_canvas_gets_the_traces_numbers(which: str):
    parts, trace = case(which, window=1)
    position, head = int((parts.query_ids >= 0).nonzero()[-1]), parts.weights.shape[0] - 1
    content = row_for_browser(parts, head_of(parts, head), position)
    recorded = layers(trace)[1]
    weights, mixed = weights_of(content)
    np.testing.assert_allclose(weights, recorded.weights[parts.window, head, position], atol=1e-6)
    np.testing.assert_allclose(weights, numbers(content, "weights"), atol=1e-6)
    np.testing.assert_allclose(mixed, numbers(content, "mixed"), atol=1e-5)
    joined, width = numbers(content, "joined"), len(mixed)
    np.testing.assert_allclose(joined[head * width : (head + 1) * width], mixed, atol=1e-5)
    np.testing.assert_allclose(
        joined @ parts.out_weight.T.numpy() + parts.out_bias.numpy(), numbers(content, "projected"), atol=1e-5
    )
    np.testing.assert_allclose(
        numbers(content, "before") + numbers(content, "branch"), numbers(content, "after"), atol=1e-5
    )
    assert content["between"] == (which in ("dinov2", "swin v2"))  # a layer scale; a norm after the layer
    assert max(walkthrough.differences(trace, parts, head, position)) < 1e-5


def test_wrong_numbers_are_said_to_be_wrong():
    parts, trace = case("vit")
    assert walkthrough.proof(trace, parts, head_of(parts, 0), 3).startswith(":green")
    other = replace(parts, query=parts.query * 1.5)
    assert walkthrough.proof(trace, other, head_of(other, 0), 3).startswith(":red")
    assert walkthrough.proof(trace, replace(parts, projected=parts.projected * 1.5), head_of(parts, 0), 3).startswith(
        ":red"
    )


def test_an_experiment_ends_at_its_head():
    parts, trace = case("swin", window=4)
    unscaled, single = (row_for_browser(parts, head_of(parts, 1, kind), 0) for kind in ("unscaled", "single"))
    for content in (unscaled, single):
        assert not {"joined", "projected", "after"} & content.keys()
        weights, mixed = weights_of(content)
        np.testing.assert_allclose(weights, numbers(content, "weights"), atol=1e-6)
        np.testing.assert_allclose(mixed, numbers(content, "mixed"), atol=1e-5)
    assert unscaled["scale"] == 1
    assert (len(numbers(unscaled, "query")), len(numbers(single, "query"))) == (11, 22)
    assert walkthrough.proof(trace, parts, head_of(parts, 0, "single"), 0).startswith(":orange")


@pytest.mark.parametrize("model", [VIT, SWIN, "random:deit_tiny_distilled_patch16_224"])
def test_the_page_walks_through_every_transformer_and_follows_its_switches(model: str):
    test = opened("attention", models=model, image="digit 3", layer="2")
    fine(test)
    (content,) = sent_to(test, "vizkit_walk")
    assert "the weights are those of the trace to within" in texts(test)
    test.number_input(key="walk_head").set_value(2).run()
    (second,) = sent_to(test, "vizkit_walk")
    assert (content["head"], second["head"]) == (0, 1)
    assert content["query"] != second["query"]
    test.toggle(key="unscaled").set_value(True).run()
    fine(test)
    assert "an experiment" in texts(test).lower()
    assert sent_to(test, "vizkit_walk")[0]["unscaled"]
    test.toggle(key="single_head").set_value(True).run()
    fine(test)
    assert sent_to(test, "vizkit_walk")[0]["experiment"] == "single"


def test_a_network_without_attention_is_replaced_and_that_is_said():
    test = opened("attention", models=CNN, image="digit 3")
    assert not test.exception
    assert "None of your models is a transformer; shown: ViT · digits." in texts(test)
    assert sent_to(test, "vizkit_walk")
