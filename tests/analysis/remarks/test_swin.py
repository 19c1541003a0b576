"""Windows counted by hand: 4 × 4 tokens in windows of 2 × 2."""

import pytest
import torch

from tests.analysis.remarks import words_of
from vizkit.analysis.remarks import swin
from vizkit.analysis.swin.shifted_windows import cut, layout
from vizkit.traces import Attention, Tokens

TOKENS = Tokens("grid", (), (4, 4), stride=8.0)


def test_pairs_that_windows_save():
    """4 windows of 4² pairs are 64 of 16² = 256."""
    assert words_of(swin.pairs_saved(layout((4, 4), (2, 2)), 2)) == (
        "Window attention saves 75 % of the pairs in stage 2: 64 instead of 256."
    )
    assert swin.pairs_saved(layout((4, 4), (4, 4)), 1) is None


def test_weight_that_crosses_former_windows():
    """Each window holds one token of each of four former ones, so all but the token itself crosses: ¾ of even weights,
    which stand here without the mask."""
    windows = layout((4, 4), (2, 2), (1, 1))
    ids = cut(windows.ids, windows.window)
    even = Attention("even", torch.full((4, 1, 4, 4), 0.25), TOKENS, TOKENS, ids, ids)
    said = swin.crossing(even, windows)
    assert words_of(said) == "After the shift 75 % of the weight of all tokens crosses the windows of the block before."
    itself = Attention("self", torch.eye(4).expand(4, 1, 4, 4), TOKENS, TOKENS, ids, ids)
    assert swin.crossing(itself, windows) is None
    regular = layout((4, 4), (2, 2))
    ids = cut(regular.ids, regular.window)
    assert swin.crossing(Attention("r", even.weights, TOKENS, TOKENS, ids, ids), regular) is None


def test_the_largest_of_four_parts():
    names = ["1 top left", "2 bottom left", "3 top right", "4 bottom right"]
    assert words_of(swin.largest_part(torch.tensor([2.0, 4.0, 2.0, 2.0]), names)) == (
        "Neighbour 2 bottom left contributes most: 40 % of the four lengths together."
    )
    assert swin.largest_part(torch.tensor([2.0, 3.0, 2.0, 2.0]), names) is None
    assert swin.largest_part(torch.zeros(4), names) is None


@pytest.mark.parametrize(
    ("full", "share", "holding", "words"),
    [
        ("2.2", 1.0, 0.3, "The whole image can reach this token after block 2.2, but 30 % of the image holds 90 % "
                          "of its rollout."),
        (None, 0.5, 0.48, "50 % of the image can reach this token."),
        (None, 0.5, 0.4, "50 % of the image can reach this token, but 40 % of the image holds 90 % of its rollout."),
    ],
)  # fmt: skip
def test_reach(full: str | None, share: float, holding: float, words: str):
    assert swin.reach(full, share, holding, 0.9).words == words


def test_what_the_bias_moves():
    assert words_of(swin.bias_moves(torch.tensor([0.1, 0.4]), 3)) == (
        "The relative bias moves the attention of layer 3 to other keys, in head 2 of 2 heads most: 40 %."
    )
    assert swin.bias_moves(torch.tensor([0.04]), 1) is None


def test_who_looks_farther():
    assert words_of(swin.looks_farther(10.0, 15.0)) == (
        "In its first layer the ViT attends 15 pixels far on average, the Swin 10."
    )
    assert words_of(swin.looks_farther(30.0, 15.0)) == (
        "In its first layer the Swin attends 30 pixels far on average, the ViT 15."
    )
    assert swin.looks_farther(10.0, 14.9) is None
