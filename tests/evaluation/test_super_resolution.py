"""What a reference is worth: the table, and what the bundled networks were measured at."""

import json

import numpy as np
import pytest
import torch

from benchmarks.bundled.super_resolution import by_level, gain_of
from vizkit.datasets.pairs.drawn import LEVELS, DrawnPairs
from vizkit.evaluation.measures import Interval
from vizkit.evaluation.super_resolution import quality_of
from vizkit.models.networks.super_resolution.ttsr import build
from vizkit.models.super_resolution.opening import BUNDLED

SIZES = {"widths": [3, 3, 3], "blocks": [1, 1, 1], "textures": [3, 3, 3]}


def test_equal_pictures_are_alike_and_others_are_not():
    draw = torch.Generator().manual_seed(0)
    first, second = torch.rand(2, 2, 3, 13, 17, generator=draw)
    assert quality_of(first, first).ssim == pytest.approx(1.0)
    assert quality_of(first, second).ssim < 0.5
    assert 0 < quality_of(first, second).psnr < 15


@pytest.mark.rest
def test_a_table_has_a_mean_for_every_level():
    heard = []
    table = by_level(
        build("ttsr_small", SIZES).eval(),
        build("sr_small", SIZES).eval(),
        24,
        tell=lambda done, total: heard.append((done, total)),
    )
    assert set(table) == {"bicubic", "without", *LEVELS}
    assert heard == [(20, 24), (24, 24)]
    pairs = [DrawnPairs("test", 24).pair(index) for index in range(24)]
    small, truth = (torch.stack([torch.tensor(pair[k]) for pair in pairs]).permute(0, 3, 1, 2) / 255 for k in (0, 2))
    bicubic = torch.nn.functional.interpolate(small, (96, 96), mode="bicubic", antialias=True)
    assert table["bicubic"].psnr == pytest.approx(quality_of(bicubic, truth).psnr, abs=1e-3)
    assert table["noise"].gain.value == pytest.approx(table["noise"].psnr - table["without"].psnr, abs=1e-3)


def test_the_bundled_network_uses_a_good_reference_and_refuses_a_useless_one():
    measured = json.loads((BUNDLED / "levels.json").read_text())
    decibels = {name: quality["psnr"] for name, quality in measured["levels"].items()}
    assert measured["pairs"] == 500
    assert decibels["same"] > decibels["without"] + 0.8
    assert decibels["same"] > decibels["bicubic"] + 2
    for useless in ("kind", "other", "shuffled", "noise", "picture"):
        gain = measured["levels"][useless]["gain"]
        assert -0.1 < gain["low"] < gain["high"] < 0
        assert gain["value"] == pytest.approx(decibels[useless] - decibels["without"], abs=1e-4)


def test_a_gain_is_of_the_same_pictures():
    """The pictures differ by tens of dB, the gain by .2: an interval of the pictures' own spread would hold zero."""
    without = np.array([20.0, 25.0, 30.0, 35.0, 40.0], np.float32)
    gain = gain_of(without + np.array([0.9, 1.0, 1.1, 1.0, 1.0], np.float32), without)
    assert gain.value == pytest.approx(1.0, abs=1e-5)
    assert 0.9 - 1e-5 <= gain.low < gain.high <= 1.1 + 1e-5
    assert gain_of(without, without) == Interval(0.0, 0.0, 0.0)
