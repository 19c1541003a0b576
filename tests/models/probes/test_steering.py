"""Directions of classes by hand, and a batch of factors against single edits."""

import pytest
import torch
from torch.testing import assert_close

import vizkit
from tests.drawn import noisy_picture
from vizkit.models import pixels_of, trace
from vizkit.models.probes.interventions.steering import class_directions, steered
from vizkit.models.probes.interventions.stream import streams_of
from vizkit.traces import NotApplicable

IMAGES = [noisy_picture(28, 28, seed=i) for i in range(5)]


@pytest.mark.parametrize("name", ["bundled:digits_vit", "bundled:digits_swin"])
def test_a_direction_is_the_difference_of_means_and_is_added_in_one_batch(name):
    loaded = vizkit.load(name)
    pixels = torch.cat([pixels_of(loaded, image) for image in IMAGES])
    labels = torch.tensor([0, 1, 0, 2, 1])
    heard = []
    directions = class_directions(loaded, [(pixels[:3], labels[:3]), (pixels[3:], labels[3:])], heard.append)
    assert heard == [3, 5]
    stream = streams_of(loaded, pixels)[1].flatten(1, -2)
    special = 1 if name.endswith("vit") else 0
    rows = torch.cat([stream[:, :special], stream[:, special:].mean(1, keepdim=True)], 1)
    by_hand = rows[labels == 0].mean(0) - rows[labels != 0].mean(0)
    assert_close(directions[1, 0], by_hand, atol=1e-5, rtol=1e-5)
    logits = steered(loaded, pixels[:1], 1, directions[1, 0], (0.0, 2.5))
    assert_close(logits[0], trace(loaded, IMAGES[0]).logits, atol=1e-5, rtol=0)
    edited = trace(loaded, IMAGES[0], edits=["steer:2=0*2.5"], directions=directions)
    assert_close(logits[1], edited.logits, atol=1e-4, rtol=0)
    assert (logits[1] - logits[0]).abs().max() > 1e-3


def test_one_class_has_no_direction():
    loaded = vizkit.load("bundled:digits_vit")
    with pytest.raises(NotApplicable, match="two classes"):
        class_directions(loaded, [(pixels_of(loaded, IMAGES[0]), torch.tensor([3]))])
