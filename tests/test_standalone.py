"""Traces as pages: what is packed is the trace up to the steps that are said, sizes hold, nothing foreign gets in."""

import base64
import json
import re
import zlib
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from PIL import Image
from torch.testing import assert_close

import vizkit
from tests.conftest import random_model
from tests.drawn import noisy_picture
from vizkit.datasets import samples
from vizkit.datasets.photographs import picture as photograph
from vizkit.image import ImageError
from vizkit.models import Keep
from vizkit.models import trace as plain_trace
from vizkit.standalone import Card, fragment
from vizkit.standalone.packing import STEPS, packed
from vizkit.traces import TraceError

PICTURE = noisy_picture(90, 130)


def values_of(content):
    """(head, row, key) as host.js reads them."""
    largest = np.frombuffer(base64.b64decode(content["largest"]), "<f4")
    levels = np.frombuffer(zlib.decompress(base64.b64decode(content["levels"])), np.uint8)
    shares = levels.reshape(len(largest), -1) / content["steps"]
    return (shares * largest[:, None]).reshape(content["count"], -1, shares.shape[1])


@pytest.fixture(scope="module", params=["bundled:digits_vit", "bundled:digits_swin"])
def recorded(request):
    return vizkit.trace(vizkit.load(request.param), PICTURE)


def test_every_weight_is_within_half_a_step_of_the_largest_of_its_row(recorded):
    made = packed(recorded, 10_000_000)
    assert made.steps == STEPS[0]
    learned = [layer for layer in recorded.attention if layer.learned]
    for layer, content in zip(learned, made.layers, strict=True):
        weights = layer.weights.numpy().transpose(1, 0, 2, 3)
        exact = weights.reshape(len(weights), -1, weights.shape[-1])
        near = values_of(content["heads"])
        assert (np.abs(near - exact) <= exact.max(-1, keepdims=True) * (0.5 / made.steps) + 1e-6).all()
        assert_allclose(values_of(content["mean"])[0], exact.mean(0), atol=exact.max() / 500)


def test_less_room_means_fewer_steps_then_no_heads_then_nothing(recorded):
    sizes = {}
    for limit in (10_000_000, 100_000, 80_000, 60_000, 40_000, 1_000):
        made = packed(recorded, limit)
        sizes[limit] = made and made.steps
        assert made is None or made.size <= limit
    steps = list(sizes.values())
    assert steps[0] == 255
    assert steps[-1] is None
    numbers = [-1 if step is None else step for step in steps]
    assert numbers == sorted(numbers, reverse=True)
    assert len(set(numbers)) > 3, numbers


def test_a_trace_is_the_same_with_its_picture(recorded):
    loaded = vizkit.load(recorded.model)
    plain = plain_trace(loaded, PICTURE)
    assert_close(recorded.logits, plain.logits)
    assert_close(recorded.attention[0].weights, plain.attention[0].weights)
    assert recorded.check == plain.check
    assert recorded.labels[0] == (loaded.label(int(plain.logits.argmax())), float(plain.logits.softmax(0).max()))
    assert recorded.seen_box_xyxy == pytest.approx((20, 0, 110, 90), abs=3)  # the square in the middle


def test_a_page_is_one_file_that_asks_nobody(recorded, tmp_path):
    recorded.save_html(tmp_path / "trace.html")
    text = (tmp_path / "trace.html").read_text(encoding="utf-8")
    assert [word for word in ("http", "url(", "import(", "fetch(", "<link", "<img") if word in text] == []
    book = json.loads(re.search(r"application/json' id='[^']+'>(.*?)</script>", text)[1])
    (model,) = book["models"]
    assert model["name"] == recorded.model
    assert model["passed"]
    assert [path.name for path in tmp_path.iterdir()] == ["trace.html"]


def test_a_notebook_shows_two_outputs_apart(recorded):
    first, second = recorded._repr_html_(), recorded._repr_html_()
    names = [re.search(r"<div id='(vizkit-\w+)'", text)[1] for text in (first, second)]
    assert names[0] != names[1]


def test_names_cannot_leave_the_text_they_stand_in(recorded):
    hostile = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    card = replace(recorded, model=hostile, labels=((hostile, 1.0),)).card()
    text = fragment(card)
    assert text.count("<script") == 2
    assert "<img" not in text
    assert "</script><script>alert" not in text


@pytest.mark.rest
def test_vit_base_stays_below_three_million_characters():
    loaded = random_model("vit_base_patch16_224")
    made = vizkit.trace(loaded, photograph("china"))
    assert packed(made, 2_900_000).steps >= 7
    assert 1_000_000 < len(fragment(made.card())) < 3_000_000


def test_what_is_too_large_is_said(recorded, tmp_path):
    with pytest.raises(TraceError, match=r"takes over 0\.1 MB: keep some rows or layers only"):
        vizkit.save_html(tmp_path / "trace.html", *[recorded] * 4, limit_mb=0.1)
    assert [*tmp_path.iterdir()] == []


def test_a_trace_whose_check_failed_is_not_drawn(recorded):
    broken = replace(recorded, check=replace(recorded.check, output_error=1.0))
    with pytest.raises(TraceError, match="The check failed"):
        fragment(broken.card())
    assert fragment(broken.card(), refuse=False).startswith("<p>The check failed")


def test_random_weights_are_said(recorded):
    assert "Its weights are random" in fragment(Card(recorded, PICTURE, (0.0, 0.0, 130.0, 90.0), trained=False))
    assert "Its weights are random" not in recorded._repr_html_()


def test_chosen_rows_and_a_network_without_attention_have_pages_too():
    rows = vizkit.trace(vizkit.load("bundled:digits_vit"), PICTURE, keep=Keep(rows=(0, 5)))
    assert packed(rows, 10_000_000).layers[0]["queries"] == 2
    features = packed(vizkit.trace(vizkit.load("bundled:digits_cnn"), PICTURE), 10_000_000)
    assert {layer["kind"] for layer in features.layers} == {"features"}


# ---- what is given ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("function", [vizkit.trace, vizkit.explain, lambda *given: vizkit.show("rollout", *given)])
@pytest.mark.parametrize(
    "model, image, sentence",
    [
        ("bundled:digits_vit", "sample:digit 3", "A model has to be what vizkit.load or vizkit.wrap gives."),
        (None, "nowhere/cat.png", "'cat.png': There is no file at this path"),
        (None, "sample:digit 33", "No image that comes with vizkit is called 'digit 33'; the nearest is digit 3"),
        (None, np.zeros((8, 8, 3)), "The image has to be 8-bit RGB"),
        (None, np.zeros((8, 8), np.uint8), "The image has to be 8-bit RGB"),
        (None, 3, "The image has to be 8-bit RGB"),
    ],
)
def test_what_is_no_model_and_no_image_is_one_sentence(function, model, image, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        function(model or vizkit.load("bundled:digits_vit"), image)


def test_an_image_is_given_by_its_path_or_by_its_name(tmp_path):
    loaded, rgb = vizkit.load("bundled:digits_vit"), samples.picture("digit 3")
    Image.fromarray(rgb).save(tmp_path / "3.png")
    (tmp_path / "broken.png").write_bytes(b"no image")
    traces = [vizkit.trace(loaded, each) for each in (rgb, tmp_path / "3.png", "sample:digit 3")]
    assert all(torch.equal(each.logits, traces[0].logits) for each in traces)
    assert all((each.picture == rgb).all() for each in traces)
    assert (vizkit.open_image("sample:digit 3") == rgb).all()
    assert torch.equal(vizkit.explain(loaded, "sample:digit 3").heat, vizkit.explain(loaded, rgb).heat)
    with pytest.raises(ImageError, match=r"'broken\.png': "):
        vizkit.trace(loaded, tmp_path / "broken.png")
