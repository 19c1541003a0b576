"""The network: shapes, the twin without a reference, what attention finds through it."""

import numpy as np
import pytest
import torch
from PIL import Image

from tests.drawn import seeded
from vizkit.models.networks.super_resolution.parts import bicubic
from vizkit.models.networks.super_resolution.ttsr import build

TINY = {"widths": (7, 5, 3), "blocks": (1, 1, 1), "textures": (7, 5, 3)}


def network(name="ttsr_small", **sizes):
    with seeded():
        return build(name, {**TINY, **sizes}).eval()


def test_a_picture_becomes_four_times_as_large_whatever_the_reference():
    small, reference = torch.rand(2, 3, 5, 7), torch.rand(2, 3, 44, 52)
    model = network()
    assert model(small, reference).shape == (2, 3, 20, 28)
    with pytest.raises(ValueError, match="second image"):
        model(small)


def test_the_twin_knows_no_reference_and_has_fewer_weights():
    twin, small = network("sr_small"), torch.rand(1, 3, 5, 7)
    assert torch.equal(twin(small), twin(small, torch.rand(1, 3, 44, 52)))
    assert sum(p.numel() for p in twin.parameters()) < sum(p.numel() for p in network().parameters())


def test_a_blurred_reference_that_equals_the_picture_is_matched_place_by_place():
    reference = torch.rand(1, 3, 44, 52)
    search = network().search(bicubic(reference, (11, 13)), reference)
    assert torch.equal(search.matched.place[0], torch.arange(11 * 13))
    assert torch.allclose(search.matched.relevance, torch.ones(()), atol=1e-5)


def test_refused_texture_changes_nothing():
    model, small = network(), torch.rand(1, 3, 5, 7)
    with torch.no_grad():
        for transfer in model.transfers:
            transfer.slope.fill_(100.0)
            transfer.middle.fill_(2.0)  # no relevance is above 1
        results = [model(small, torch.rand(1, 3, 44, 52)) for _ in range(2)]
    assert torch.allclose(*results, atol=1e-6)


def test_bicubic_is_pillows():
    pixels = torch.rand(11, 13)
    image = Image.fromarray(pixels.numpy())
    for size in ((44, 52), (5, 7)):
        own = bicubic(pixels[None, None], size)[0, 0]
        pillows = torch.tensor(np.asarray(image.resize(size[::-1], Image.Resampling.BICUBIC)))
        assert torch.allclose(own, pillows, atol=1e-5)
