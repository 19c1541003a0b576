"""A network that enlarges, with random weights. Do not change it: all tests of the folder share it."""

import pytest

from tests.drawn import seeded
from vizkit.models.networks.super_resolution.ttsr import build
from vizkit.models.super_resolution import Enlarger

SIZES = {"widths": [7, 5, 3], "blocks": [2, 1, 1], "textures": [7, 5, 3]}


@pytest.fixture(scope="session")
def tiny():
    with seeded():
        return Enlarger("tiny", build("ttsr_small", SIZES).eval().requires_grad_(False), "mit")
