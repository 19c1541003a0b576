"""Maps of a batch are those of each picture alone; a picture whose proof fails gets none."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import vizkit
from vizkit.analysis.attribution.explaining import explain
from vizkit.analysis.attribution.grad_cam import at_layer
from vizkit.analysis.attribution.methods import METHODS
from vizkit.analysis.attribution.rollout import rollout_masses
from vizkit.explanations.batched import Explainer
from vizkit.explanations.job import Seen
from vizkit.explanations.passes import FAILED, Maps
from vizkit.models import families
from vizkit.models.recording import recorder
from vizkit.scoring import subject_of
from vizkit.traces import NotApplicable

SOME = (*(name for name, method in METHODS.items() if method.needs != "model"), "input_times_gradient")
GOALS = [0, 4, 2]


@pytest.fixture(scope="module", params=["digits_vit", "digits_swin", "digits_cnn"])
def loaded(request):
    return vizkit.load(f"bundled:{request.param}")


@pytest.fixture(scope="module")
def pictures(loaded):
    draw = np.random.default_rng(2)
    return [draw.integers(0, 255, (*loaded.preprocessing.size_hw, 3), np.uint8) for _ in GOALS]


@pytest.fixture(scope="module")
def pixels(loaded, pictures):
    return torch.cat([vizkit.models.pixels_of(loaded, rgb) for rgb in pictures])


def goals(logits):
    return GOALS[: len(logits)]


def alone(method, loaded, rgb, seen, goal, against, layer=""):
    traces = [
        at_layer(families.trace(loaded, seen[None], target=label), layer)
        for label in (goal, against)
        if label is not None
    ]
    rival = traces[1] if against is not None else None
    try:
        return explain(method, traces[0], against=rival, subject=subject_of(loaded, rgb, goal, against)).heat
    except NotApplicable as reason:
        return str(reason)


@pytest.mark.product
@pytest.mark.parametrize("against", [None, 7])
def test_every_map_is_that_of_its_picture(loaded, pictures, pixels, against):
    explainer = Explainer(loaded, SOME, pixels[:1], against)
    found = explainer.of(pixels, goals)
    assert found.targets == GOALS
    assert {*found.heats} | {*explainer.without} == {*SOME}
    for at, (rgb, seen, goal) in enumerate(zip(pictures, pixels, GOALS, strict=True)):
        for method, heats in found.heats.items():
            single = alone(method, loaded, rgb, seen, goal, against)
            if isinstance(single, str):
                assert found.reasons[method][at] == single
            else:
                assert found.reasons[method][at] is None
                assert_close(heats[at], single, atol=2e-5 * float(single.abs().max()), rtol=1e-3)
        if "rollout" in found.heats:
            masses = rollout_masses(families.trace(loaded, seen[None])).special
            assert {name: float(mass[at]) for name, mass in found.special.items()} == pytest.approx(masses, abs=1e-6)


@pytest.mark.product
def test_activation_maps_at_another_layer(loaded, pictures, pixels):
    layer = families.trace(loaded, pixels[:1], target=1).layer_features[0].name
    found = Explainer(loaded, ["hires_cam"], pixels[:1], layer=layer).of(pixels, goals)
    for at, (rgb, seen, goal) in enumerate(zip(pictures, pixels, GOALS, strict=True)):
        single = alone("hires_cam", loaded, rgb, seen, goal, None, layer)
        if isinstance(single, str):
            assert found.reasons["hires_cam"][at] == single
        else:
            assert_close(found.heats["hires_cam"][at], single, atol=1e-6, rtol=1e-3)


def test_a_picture_whose_proof_fails_has_no_map(monkeypatch):
    loaded, true = vizkit.load("bundled:digits_vit"), recorder.attention_weights
    maps = Maps(loaded, ["generic_relevance"])
    draw = torch.Generator().manual_seed(1)
    pixels = torch.randn(3, loaded.preprocessing.channels, *loaded.preprocessing.size_hw, generator=draw)
    assert maps.of(Seen(pixels, [None] * 3, [*"abc"]))["no_map"].to_pylist() == [None] * 3

    def wrong(query, key, **options):
        weights = true(query, key, **options)
        return torch.cat([weights[:1], weights[1:2].flip(-1), weights[2:]])

    monkeypatch.setattr(recorder, "attention_weights", wrong)
    monkeypatch.setattr("vizkit.models.many.drawn", lambda _: (0, True))  # else all go singly, where nothing is wrong
    found = maps.of(Seen(pixels, [None] * 3, [*"abc"]))
    assert found["no_map"].to_pylist() == [None, FAILED, None]
    assert found["map_generic_relevance"].is_valid().to_pylist() == [True, False, True]
