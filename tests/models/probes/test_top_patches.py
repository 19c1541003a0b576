"""What a channel answers to most, on pictures with one bright dot each."""

from dataclasses import replace

import numpy as np
import torch
from torch import nn

from vizkit.image import Preprocessing
from vizkit.models.probes.convolution.layers_seen import Convolved
from vizkit.models.probes.convolution.reach import Reach
from vizkit.models.probes.convolution.receptive_field import Seen
from vizkit.models.probes.convolution.top_patches import after, patch, patches, peaks, strongest_places
from vizkit.models.sources.loaded import Loaded


class Sum(nn.Module):
    """One channel answers to brightness, one to darkness."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 2, 3, bias=False)
        with torch.no_grad():
            self.conv.weight[0], self.conv.weight[1] = 1.0, -1.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x).mean((2, 3))


def test_the_strongest_places_are_the_dots_in_the_order_of_their_brightness():
    pictures = [np.zeros((9, 11, 3), np.uint8) for _ in range(3)]
    for picture, (row, column, level) in zip(pictures, ((4, 5, 100), (7, 2, 250), (1, 9, 180)), strict=True):
        picture[row - 1 : row + 2, column - 1 : column + 2] = level
    preprocessing = Preprocessing((9, 11), (0.5,) * 3, (0.5,) * 3, crop_pct=1.0, crop_mode="squash")
    loaded, done = Loaded("toy", Sum().eval(), torch.device("cpu"), preprocessing, outputs=2), []
    answers = strongest_places(loaded, iter(pictures), 0, keep=2, progress=done.append)
    assert done == [0, 1, 2]
    assert answers.images[0].tolist() == [1, 2]
    assert list(zip(answers.rows[0].tolist(), answers.columns[0].tolist(), strict=True)) == [(6, 1), (0, 8)]
    assert (np.diff(answers.values, axis=1) <= 0).all()
    assert patch(answers, 0, 0, (1, 6, 4, 9)).min() == 250
    beyond = patch(answers, 0, 1, (9, -1, 13, 2))  # over the top and the right edge
    assert beyond.shape == (3, 4, 3)
    assert (beyond[0] == 128).all()
    assert (beyond[:, 2:] == 128).all()
    assert (beyond[1:, :2] == 180).all()


def test_places_of_a_single_picture_lie_apart():
    maps = torch.zeros(1, 17, 17)
    maps[0, 4, 4], maps[0, 4, 5], maps[0, 12, 12], maps[0, 12, 14] = 9.0, 8.0, 5.0, 4.0
    values, indices = peaks(maps, 3)
    assert values[0, :2].tolist() == [9, 5]  # 8 and 4 lie within two cells of a higher one
    assert [divmod(index, 17) for index in indices[0, :2].tolist()] == [(4, 4), (12, 12)]
    assert float(values[0, 2]) == 0
    values, _ = peaks(torch.eye(3)[None], 8)
    assert values.shape == (1, 8)
    assert values[0].isfinite().sum() < 8


def test_several_places_of_a_picture_belong_to_it():
    picture = np.zeros((9, 11, 3), np.uint8)
    bright = picture.copy()
    bright[1:4, 1:4], bright[5:8, 7:10] = 200, 250
    preprocessing = Preprocessing((9, 11), (0.5,) * 3, (0.5,) * 3, crop_pct=1.0, crop_mode="squash")
    loaded = Loaded("toy", Sum().eval(), torch.device("cpu"), preprocessing, outputs=2)
    answers = strongest_places(loaded, [picture, bright], 0, keep=3, of_each=2)
    assert answers.images[0, :2].tolist() == [1, 1]
    assert list(zip(answers.rows[0, :2].tolist(), answers.columns[0, :2].tolist(), strict=True)) == [(5, 7), (1, 1)]
    field = Seen((7, 9), *(Reach(3, 1, 0),) * 2)
    seen = patches(answers, [0], field)[0]
    assert [int(patch.min()) for patch in seen[:2]] == [250, 200]


def test_an_activation_that_follows_is_what_is_meant():
    convolution, activation = torch.tensor([[[-1.0]]]), torch.tensor([[[0.0]]])
    layer = Convolved("c", (1, 1, 1), ("convolution",), after={"convolution": convolution})
    assert after(layer) is convolution
    assert after(replace(layer, after=layer.after | {"activation": activation})) is activation
