"""Where a model decides by the picture which token comes where, its places are measured on that very picture."""

import numpy as np
import pytest
import torch
from torch import nn

import vizkit
from tests.models.recording.test_editing import Fused
from vizkit.models import pixels_of, trace
from vizkit.models.many import Many

SIDE = 8  # patches
DARK, LIGHT = (np.random.default_rng(0).integers(low, low + 100, (32, 32, 3), dtype=np.uint8) for low in (0, 150))


class Deciding(nn.Module):
    """One layer looks at all tokens, and another one at those that are left, in the order that was decided."""

    def __init__(self, how):
        super().__init__()
        torch.manual_seed(0)
        self.how, self.embed = how, nn.Conv2d(3, 12, 4, 4)
        self.layers, self.head = nn.ModuleList(Fused() for _ in range(2)), nn.Linear(12, 5)

    def forward(self, pixels):
        bright = pixels.mean((1, 2, 3))
        if self.how == "turned" and bright.mean() > 0:
            pixels = pixels.flip(-1)
        elif self.how == "turned each":
            pixels = torch.where((bright > 0)[:, None, None, None], pixels.flip(-1), pixels)
        elif self.how == "turned by a number":
            share = torch.sign(bright).clamp(0)[:, None, None, None]
            pixels = share * pixels.flip(-1) + (1 - share) * pixels
        x = self.embed(pixels).flatten(2).mT
        x = x + self.layers[0](x)
        worth = x.norm(dim=-1)
        if self.how == "sorted":
            x = x.gather(1, worth.argsort(1)[..., None].expand_as(x))
        elif self.how == "sorted by a list":
            x = torch.stack([each[order] for each, order in zip(x, worth.argsort(1).tolist(), strict=True)])
        elif self.how == "best first":
            best = worth.topk(8).indices
            rest = (torch.ones_like(worth).scatter(1, best, 0.0) > 0).nonzero()[:, 1].view(len(x), -1)
            x = x.gather(1, torch.cat([best, rest], 1)[..., None].expand_as(x))
        x = x + self.layers[1](x)
        return self.head(x.mean(1))


def wrapped(how):
    return vizkit.wrap(
        Deciding(how), size_hw=(32, 32), mean=(0.5,) * 3, std=(0.5,) * 3, head="softmax", grid=(SIDE, SIDE)
    )


@pytest.mark.parametrize("how", ["turned", "turned each", "turned by a number"])
def test_a_picture_that_is_turned_is_refused_and_another_is_not(how):
    loaded = wrapped(how)
    dark, light = (trace(loaded, picture).check for picture in (DARK, LIGHT))
    assert dark.failure is None
    assert dark.places == "places measured in 2 of 2 layers"
    assert "away from where the trace places it" in str(light.refused)


@pytest.mark.parametrize("how", ["sorted", "sorted by a list", "best first"])
def test_an_order_that_follows_from_the_picture_is_refused(how):
    assert "away from where the trace places it" in str(trace(wrapped(how), DARK).check.refused)


def test_of_an_edited_pass_nothing_is_said_of_places():
    check = trace(wrapped("turned"), LIGHT, edits=["heads:1.1=0"]).check
    assert check.failure is None
    assert check.places == "places measured in no layer"


def test_a_model_that_decides_nothing_is_measured_once_and_says_where():
    loaded = wrapped("")
    for picture in (DARK, LIGHT):
        check = trace(loaded, picture).check
        assert (check.failure, check.places_found) == (None, 2)
        assert check.places == "places measured in 2 of 2 layers on another image"


def test_pictures_that_are_turned_have_an_infinite_error_among_many():
    loaded = wrapped("turned each")
    pixels = torch.stack([pixels_of(loaded, picture)[0] for picture in (DARK, LIGHT, DARK)])
    assert Many(loaded).traces(pixels).proof_error.isinf().tolist() == [False, True, False]
