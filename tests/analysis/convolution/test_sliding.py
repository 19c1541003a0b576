"""What a sliding kernel gives: sizes by the formula, numbers by hand, both against PyTorch."""

from itertools import product

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from vizkit.analysis.convolution.activations import values_and_slopes
from vizkit.analysis.convolution.kernels import KERNELS
from vizkit.analysis.convolution.sliding import Steps, output, products, reduced, window


def test_the_formula_is_pytorchs_size():
    image = torch.zeros(1, 1, 17, 23)
    for steps in (Steps(*each) for each in product((1, 2, 3, 5, 7), (1, 2, 3), (0, 1, 3), (1, 2))):
        options = (steps.stride, steps.padding, steps.dilation)
        outputs = [F.conv2d(image, torch.zeros(1, 1, steps.f, steps.f), None, *options)]
        if steps.padding <= steps.f // 2:
            outputs.append(F.max_pool2d(image, steps.f, *options))
        assert {tuple(out.shape[2:]) for out in outputs} == {(steps.output_size(17), steps.output_size(23))}, steps


@pytest.mark.parametrize("steps", [Steps(3), Steps(5, 3, 2), Steps(3, 2, 3, 2), Steps(7, 1, 1)], ids=str)
def test_the_products_of_every_place_sum_to_pytorchs_output(steps):
    torch.manual_seed(0)
    image = torch.rand(3, 19, 29, dtype=torch.float64)
    kernel = torch.randn(3, steps.f, steps.f, dtype=torch.float64)
    expected = F.conv2d(image[None], kernel[None], None, steps.stride, steps.padding, steps.dilation)[0, 0] + 0.7
    out = output(image, kernel, steps, bias=0.7)
    assert_close(out, expected, rtol=0, atol=1e-5)
    for at in product(range(out.shape[0]), range(out.shape[1])):
        assert float(products(image, kernel, steps, at).sum()) + 0.7 == pytest.approx(float(out[at]), abs=1e-5)


def test_a_window_by_hand_and_its_pools():
    image = torch.arange(12.0).view(1, 3, 4)
    assert window(image, Steps(2, 2), (0, 1)).tolist() == [[[2, 3], [6, 7]]]
    assert window(image, Steps(2, 1, 1, 2), (0, 0)).tolist() == [[[0, 0], [0, 5]]]  # three of four are padding
    mean = torch.full((1, 2, 2), 0.25)
    assert output(image, mean, Steps(2, 2)).tolist() == [[2.5, 4.5]]
    assert output(image, mean, Steps(2, 2), "max").tolist() == [[5, 7]]
    assert output(-image - 1, mean, Steps(3, 2, 1), "max").tolist() == [[-1, -2], [-5, -6]]  # padding never wins
    with pytest.raises(ValueError, match="does not fit"):
        output(image, torch.zeros(1, 5, 5), Steps(5))


@pytest.mark.parametrize("f", [3, 5, 7])
def test_kernels_do_what_they_are_called(f):
    flat = torch.full((1, f, f), 5.0, dtype=torch.float64)
    ramp = torch.arange(float(f), dtype=torch.float64).expand(1, f, f)  # brighter to the right
    given = {name: torch.from_numpy(make(f))[None] for name, make in KERNELS.items()}
    on_flat = {name: float((kernel * flat).sum()) for name, kernel in given.items()}
    for name in ("edges", "vertical edges", "horizontal edges"):
        assert on_flat.pop(name) == pytest.approx(0)
    assert on_flat == pytest.approx(dict.fromkeys(on_flat, 5.0))  # pictures again, as bright as before
    assert float((given["vertical edges"] * ramp).sum()) > 0
    assert float((given["horizontal edges"] * ramp).sum()) == pytest.approx(0)
    assert float((given["horizontal edges"] * ramp.transpose(1, 2)).sum()) > 0


def test_three_by_three_as_in_the_books():
    assert KERNELS["edges"](3).tolist() == [[-1, -1, -1], [-1, 8, -1], [-1, -1, -1]]
    assert KERNELS["vertical edges"](3).tolist() == [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]  # Sobel
    assert (16 * KERNELS["Gaussian blur"](3)).tolist() == [[1, 2, 1], [2, 4, 2], [1, 2, 1]]
    assert KERNELS["emboss"](3).tolist() == [[-2, -1, 0], [-1, 1, 1], [0, 1, 2]]


def test_a_picture_is_reduced_to_means_of_its_middle():
    rgb = np.zeros((4, 8, 3), np.uint8)
    rgb[:, :2] = 200  # left of the square in the middle
    rgb[:2, 2:4] = 80
    assert reduced(rgb, 2)[..., 0].tolist() == [[80, 0], [0, 0]]


def test_activations_by_their_known_numbers():
    x = torch.linspace(-6, 6, 12_001, dtype=torch.float64)
    slopes = {name: values_and_slopes(name, x) for name in ("sigmoid", "tanh", "GELU", "ReLU", "LeakyReLU", "SiLU")}
    assert float(slopes["sigmoid"][1].max()) == pytest.approx(0.25)
    assert float(slopes["tanh"][1].max()) == pytest.approx(1)
    lowest = int(slopes["GELU"][0].argmin())
    assert (float(x[lowest]), float(slopes["GELU"][0][lowest])) == pytest.approx((-0.75, -0.17), abs=2e-3)
    assert set(slopes["ReLU"][1].tolist()) == {0, 1}
    assert set(slopes["LeakyReLU"][1].tolist()) == {0.1, 1}
    assert_close(slopes["SiLU"][0], x * slopes["sigmoid"][0])
