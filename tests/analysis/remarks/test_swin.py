"""Windows counted by hand: 4 × 4 tokens in windows of 2 × 2."""

import torch

from vizkit.analysis.remarks import swin
from vizkit.analysis.swin.shifted_windows import cut, layout
from vizkit.traces import Attention, Tokens

TOKENS = Tokens("grid", (), (4, 4), stride=8.0)


def test_pairs_that_windows_save():
    """4 windows of 4² pairs are 64 of 16² = 256."""
    assert swin.pairs_saved(layout((4, 4), (2, 2)), 2) == (
        "Window attention saves 75 % of the pairs in stage 2: 64 instead of 256."
    )
    assert swin.pairs_saved(layout((4, 4), (4, 4)), 1) is None
    assert swin.pairs_saved(layout((4, 4), (3, 3)), 1) == (
        "With padding window attention takes 27 % more pairs in stage 1: 324 instead of 256."
    )


def test_weight_that_crosses_former_windows():
    """Each window holds one token of each of four former ones, so all but the token itself crosses: ¾ of even weights,
    which stand here without the mask."""
    windows = layout((4, 4), (2, 2), (1, 1))
    ids = cut(windows.ids, windows.window)
    even = Attention("even", torch.full((4, 1, 4, 4), 0.25), TOKENS, TOKENS, ids, ids)
    said = swin.crossing(even, windows)
    assert said == "After the shift 75 % of the weight of all tokens crosses the windows of the block before."
    itself = Attention("self", torch.eye(4).expand(4, 1, 4, 4), TOKENS, TOKENS, ids, ids)
    assert swin.crossing(itself, windows) is None
    regular = layout((4, 4), (2, 2))
    ids = cut(regular.ids, regular.window)
    assert swin.crossing(Attention("r", even.weights, TOKENS, TOKENS, ids, ids), regular) is None


def test_what_a_merging_does_to_the_numbers():
    names = ["1 top left", "2 bottom left", "3 top right", "4 bottom right"]
    said = swin.merges(64, 128, torch.tensor([2.0, 4.0, 2.0, 2.0]), names)
    assert said == (
        "Four tokens of 64 numbers become one of 128; neighbour 2 bottom left contributes most: 40 % of the four "
        "lengths together, of which an equal share is 25 %."
    )
    assert swin.merges(64, 128, torch.zeros(4), names) == "Four tokens of 64 numbers become one of 128."


def test_what_the_bias_moves():
    assert swin.bias_moves(torch.tensor([0.1, 0.4]), 3) == (
        "The relative bias moves 40 % of the attention of head 2 of block 3 to other keys, the most of its 2 heads."
    )
    assert swin.bias_moves(torch.tensor([0.04]), 1) is None


def test_what_is_right_over_many():
    assert swin.without_over(10, 4, 12, "without shift") == (
        "Without shift the answer is right for 4 instead of 10 of 12 images of known class."
    )


def test_windows_that_are_not_square():
    """Two windows of 2 × 4 tokens: 2 · 8² = 128 of 256 pairs."""
    said = swin.pairs_saved(layout((2, 8), (2, 4)), 1)
    assert said == "Window attention saves 50 % of the pairs in stage 1: 128 instead of 256."
    assert said is not None


def test_padding_crosses_nothing():
    """Three tokens in a column and padding, windows of two: before {0, 1} {2, –}, after the shift {1, 2} {–, 0}. 1
    attends to 2, 2 half to 1, 0 to itself: on average half of it crosses. What padding attends to does not count."""
    column = Tokens("column", (), (3, 1), stride=8.0)
    windows = layout((3, 1), (2, 1), (1, 0), pad_first=True)
    ids = cut(windows.ids, windows.window)
    assert ids.tolist() == [[1, 2], [-1, 0]]
    weights = torch.tensor([[[0.0, 1.0], [0.5, 0.5]], [[0.0, 1.0], [0.0, 1.0]]])
    heads = weights[:, None].expand(2, 3, 2, 2)
    said = swin.crossing(Attention("column", heads, column, column, ids, ids), windows)
    assert said is not None


def test_of_some_rows_nothing_is_said():
    windows = layout((4, 4), (2, 2), (1, 1))
    ids = cut(windows.ids, windows.window)
    half = Attention("half", torch.full((4, 1, 2, 4), 0.25), TOKENS, TOKENS, ids[:, :2], ids)
    assert swin.crossing(half, windows) is None


def test_thresholds_and_the_numbers_behind_the_words():
    moves = swin.bias_moves(torch.tensor([0.25]), 3)
    assert moves == "The relative bias moves 25 % of the attention of the one head of block 3 to other keys."
    assert moves is not None
